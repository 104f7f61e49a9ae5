"""API keys: hashed at rest, compared in constant time, each with its rights and its rate."""

import secrets
import time
from hashlib import sha256
from hmac import compare_digest

from stumpery.errors import InvalidInput
from stumpery.service.errors import AccessDenied, TooManyRequests
from stumpery.service.settings import KeySettings, Right, SiteSettings

LOOPBACK = ("127.0.0.1", "::1", "localhost")
KEY_BYTES = 32


class ForbiddenRight(AccessDenied):
    """A key that has not the right for a request."""

    status = 403


class RateLimit:
    """A token bucket: so many requests a second, and as many at once.

    Args:
        rate: Requests a second; None is no limit.
    """

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self._tokens = max(rate or 0.0, 1.0)
        self._at = time.monotonic()

    def take(self) -> None:
        """Take one request, or raise TooManyRequests."""
        if self.rate is None:
            return
        now = time.monotonic()
        self._tokens = min(max(self.rate, 1.0), self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens < 1.0:
            raise TooManyRequests(f"this key may send {self.rate:g} requests a second; try again later")
        self._tokens -= 1.0

    def charge(self, n: int) -> None:
        """Count n further requests, of a body with many: the next ones wait until they are paid for."""
        if self.rate is not None:
            self._tokens -= n


class Keys:
    """The keys of a site; without any, every request has all rights.

    Args:
        settings: The keys, hashed.
    """

    def __init__(self, settings: tuple[KeySettings, ...]) -> None:
        self._keys = [(bytes.fromhex(key.sha256), key, RateLimit(key.rate)) for key in settings]

    def check(self, header: str | None, right: Right) -> RateLimit | None:
        """Refuse a request whose Authorization header has no key with this right; returns the key's rate."""
        if not self._keys:
            return None
        kind, _, given = (header or "").partition(" ")
        if kind.lower() != "bearer" or not given:
            raise AccessDenied("this needs a key, as the header Authorization: Bearer KEY")
        digest = sha256(given.strip().encode()).digest()
        found = [(key, limit) for own, key, limit in self._keys if compare_digest(own, digest)]
        if not found:
            raise AccessDenied("this key is not known")
        key, limit = found[0]
        if right not in key.rights:
            raise ForbiddenRight(f"the key {key.name!r} has not the right {right!r}")
        limit.take()
        return limit


def new_key() -> tuple[str, str]:
    """A new key, and its SHA-256 for the settings."""
    key = secrets.token_urlsafe(KEY_BYTES)
    return key, sha256(key.encode()).hexdigest()


def check_exposure(settings: SiteSettings) -> None:
    """Refuse to listen beyond this machine without keys."""
    if settings.host not in LOOPBACK and not settings.keys:
        raise InvalidInput(
            f"host is {settings.host!r}, which others can reach: the site needs keys (stumpery service key)"
        )
