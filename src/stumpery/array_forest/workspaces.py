"""Room to think, kept from one call to the next: to make it anew takes longer than a decision."""

from collections.abc import Callable
from typing import Any

from stumpery.compiling.pointers import pinned


class WorkspacePool:
    """One room that is kept, and others for calls that other threads make meanwhile."""

    def __init__(self) -> None:
        self._free: list[tuple[Any, Any]] = []

    def take(self, fits: Callable[[Any], bool], make: Callable[[], Any]) -> tuple[Any, Any]:
        """A room that nobody else has, and the same as kernels get it."""
        try:
            room = self._free.pop()  # not by two threads at once
        except IndexError:
            room = None, None
        if room[0] is None or not fits(room[0]):
            work = make()
            room = work, pinned(work)
        return room

    def give_back(self, room: tuple[Any, Any]) -> None:
        """Keep a room for the next call, if none is kept yet."""
        if not self._free:
            self._free.append(room)
