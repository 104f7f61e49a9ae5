"""Errors of the service: each is one sentence and has an HTTP status."""

from stumpery.errors import InvalidInput, StumperyError


class RefusedRequest(InvalidInput):
    """A request that is refused: nothing has changed."""

    status = 400


class UnknownName(RefusedRequest):
    """There is no policy, decision or action of this name."""

    status = 404


class RequestConflict(RefusedRequest):
    """An id is used again with another content, or a name is there already."""

    status = 409


class RequestTooLarge(RefusedRequest):
    """A body is larger than the limit."""

    status = 413


class TooManyRequests(RefusedRequest):
    """A limit on rates, open decisions or waiting requests is reached; to be tried again later."""

    status = 429


class AccessDenied(RefusedRequest):
    """A key is missing or has not the right."""

    status = 401


class ServiceUnavailable(StumperyError):  # noqa: N818
    """The log cannot be written or is being opened; nothing was recorded, to be tried again later."""

    status = 503


def status_of(error: Exception) -> int:
    """The HTTP status of an error; 400 for input that a policy refuses."""
    return int(getattr(error, "status", 400 if isinstance(error, InvalidInput) else 500))
