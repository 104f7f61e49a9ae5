"""Deferred interrupts: Ctrl-C takes effect after a block whose interruption would lose data."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer Ctrl-C (SIGINT) to the end of a block; only the main thread receives it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: deferred.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if deferred:
        handler(*deferred[0])
