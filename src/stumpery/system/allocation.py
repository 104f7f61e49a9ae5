"""Memory limits while a file is loaded: a small file must not make a model take gigabytes.

A model that is made of options says beforehand how many bytes it will take. While a file is loaded, all that is taken
is summed up, and too much is refused before it is allocated. At other times nothing is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from stumpery.errors import CorruptFile

_LEFT: ContextVar[list[int] | None] = ContextVar("bytes that may still be allocated", default=None)


@contextmanager
def limited(n_bytes: int) -> Iterator[None]:
    """Let models made within this block take so many bytes in all."""
    token = _LEFT.set([n_bytes])
    try:
        yield
    finally:
        _LEFT.reset(token)


@contextmanager
def provisional() -> Iterator[None]:
    """Give back at the end what is reserved within this block: the saved arrays take the place of these."""
    left = _LEFT.get()
    before = 0 if left is None else left[0]
    yield
    if left is not None:
        left[0] = before


def reserve(n_bytes: int) -> None:
    """Say that so many bytes are about to be allocated; a CorruptFile says that a file may not ask for it."""
    left = _LEFT.get()
    if left is None:
        return
    if n_bytes > left[0]:
        raise CorruptFile(
            f"its options and arrays ask for {n_bytes:,} bytes more, which is out of proportion to the size of the "
            "file; load(path, max_bytes=...) allows more"
        )
    left[0] -= n_bytes
