"""Arena of a forest: owns its arrays, their pinned form for kernels, scratch buffers, and growth between calls.

A kernel processes rows until memory is full and says how many it has processed; the arena then grows and calls it again
with the rest. A forest makes a subclass that says how it grows. Workspaces are kept between calls: allocating scratch
buffers costs more than a decision.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from stumpery.compiling.pointers import pinned
from stumpery.types import Floats

S = TypeVar("S")
W = TypeVar("W")


class WorkspacePool:
    """One workspace that is kept, and others for calls that other threads make meanwhile."""

    def __init__(self) -> None:
        self._free: list[tuple[Any, Any]] = []

    def take(self, fits: Callable[[Any], bool], make: Callable[[], Any]) -> tuple[Any, Any]:
        """A workspace that no other call uses, and its pinned form for kernels."""
        try:
            workspace = self._free.pop()  # atomic: two threads never get the same
        except IndexError:
            workspace = None, None
        if workspace[0] is None or not fits(workspace[0]):
            made = make()
            workspace = made, pinned(made)
        return workspace

    def give_back(self, workspace: tuple[Any, Any]) -> None:
        """Keep a workspace for the next call, if none is kept yet."""
        if not self._free:
            self._free.append(workspace)


class Arena(ABC, Generic[S, W]):
    """The state of a forest and the scratch buffers of its kernels.

    Args:
        state: a NamedTuple of arrays.
        new_workspace: makes a workspace, a NamedTuple of scratch buffers, for a state.
        fits: says whether a workspace is for a state.
    """

    def __init__(self, state: S, new_workspace: Callable[[S], W], fits: Callable[[W, S], bool]) -> None:
        self.state = state
        self._new_workspace, self._fits = new_workspace, fits
        self._workspaces = WorkspacePool()

    @property
    def state(self) -> S:
        """The arrays; they change as kernels run."""
        return self._state

    @state.setter
    def state(self, state: S) -> None:
        self._state, self._pinned = state, None  # what was pinned would keep its arrays in memory

    @abstractmethod
    def grow(self, row: Floats) -> None:
        """Replace the state by one with capacity for an event with these values."""

    def run(self, rows: Floats, process: Callable[[Any, Any, int], int]) -> None:
        """Process all rows, growing the arrays in between.

        `process(state, workspace, start)` calls the kernel for the rows from `start` on and returns how many it has
        processed; state and workspace come pinned.
        """
        start = 0
        while start < len(rows):
            if self._pinned is None:
                self._pinned = pinned(self._state)
            workspace = self._workspaces.take(self._suits, self._make_workspace)
            start += process(self._pinned, workspace[1], start)
            self._workspaces.give_back(workspace)
            if start < len(rows):
                self.grow(rows[start])

    def _suits(self, workspace: W) -> bool:
        return self._fits(workspace, self._state)

    def _make_workspace(self) -> W:
        return self._new_workspace(self._state)
