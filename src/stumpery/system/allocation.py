"""Memory limits while a file is loaded: a small file must not make a model allocate gigabytes.

A model reserves bytes before it allocates arrays whose size depends on options. While a file is loaded, reservations
are summed, and too much is refused before it is allocated. At other times nothing is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from stumpery.errors import CapacityError

_REMAINING: ContextVar[list[int] | None] = ContextVar("remaining bytes", default=None)


@contextmanager
def limited(n_bytes: int) -> Iterator[None]:
    """Limit the bytes that models constructed within this block may reserve in all."""
    token = _REMAINING.set([n_bytes])
    try:
        yield
    finally:
        _REMAINING.reset(token)


@contextmanager
def provisional() -> Iterator[None]:
    """Release at the end what is reserved within this block, as saved arrays replace the allocated ones."""
    remaining = _REMAINING.get()
    before = 0 if remaining is None else remaining[0]
    yield
    if remaining is not None:
        remaining[0] = before


def reserve(n_bytes: int) -> None:
    """Reserve bytes before allocating them; raises CapacityError while a file is loaded and its limit is exceeded."""
    remaining = _REMAINING.get()
    if remaining is None:
        return
    if n_bytes > remaining[0]:
        raise CapacityError(
            f"its options and arrays ask for {n_bytes:,} bytes more, which is out of proportion to the size of the "
            "file; load(path, max_bytes=...) allows more"
        )
    remaining[0] -= n_bytes
