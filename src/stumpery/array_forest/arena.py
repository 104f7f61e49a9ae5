"""Arena of a forest: owns its arrays, their pinned form for kernels, scratch buffers, and growth between calls.

A kernel processes rows until memory is full and says how many it has processed; the arena then grows and calls it again
with the rest. A forest makes a subclass that says how it grows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from stumpery.array_forest.workspaces import WorkspacePool
from stumpery.compiling.pointers import pinned
from stumpery.types import Floats

S = TypeVar("S")
W = TypeVar("W")


class Arena(ABC, Generic[S, W]):
    """The state of a forest and the scratch buffers of its kernels.

    Args:
        state: a NamedTuple of arrays.
        new_workspace: makes a workspace, a NamedTuple of scratch buffers, for a state and the sizes given to `run`.
        fits: says whether a workspace is for a state and these sizes.
    """

    def __init__(self, state: S, new_workspace: Callable[..., W], fits: Callable[..., bool]) -> None:
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
        """Replace the state by one that has room for an event with these values."""

    def run(self, rows: Floats, process: Callable[[Any, Any, int], int], *sizes: int) -> None:
        """Process all rows, growing in between.

        `process(state, workspace, start)` calls the kernel for the rows from `start` on and returns how many it has
        processed; state and workspace come pinned. The workspace fits the state and these `sizes`.
        """
        start = 0
        while start < len(rows):
            if self._pinned is None:
                self._pinned = pinned(self._state)
            workspace = self._workspaces.take(partial(self._suits, sizes), partial(self._make_workspace, sizes))
            start += process(self._pinned, workspace[1], start)
            self._workspaces.give_back(workspace)
            if start < len(rows):
                self.grow(rows[start])

    def _suits(self, sizes: tuple[int, ...], workspace: W) -> bool:
        return self._fits(workspace, self._state, *sizes)

    def _make_workspace(self, sizes: tuple[int, ...]) -> W:
        return self._new_workspace(self._state, *sizes)
