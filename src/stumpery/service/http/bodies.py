"""Bodies of requests: bytes are counted while they are read, and JSON is checked by its type."""

import re
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from stumpery.service.errors import RefusedRequest, RequestTooLarge

Body = TypeVar("Body")
_DECODERS: dict[Any, Any] = {}


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request, of at most `limit` bytes."""
    length = request.headers.get("content-length", "0")
    if re.fullmatch(r"\d{1,18}", length) is None or int(length) > limit:
        raise RequestTooLarge(f"the body is larger than the limit of {limit} bytes")
    parts: list[bytes] = []
    n_bytes = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        n_bytes += len(part)
        if n_bytes > limit:
            raise RequestTooLarge(f"the body is larger than the limit of {limit} bytes")
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


def decoded_body(content: bytes, kind: type[Body]) -> Body:
    """JSON as a value of a type; a RefusedRequest says where it does not fit."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        value: Body = decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedRequest(f"the body is not valid: {error}") from None
    return value
