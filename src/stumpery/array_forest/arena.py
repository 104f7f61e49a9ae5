"""Arena of a forest: owns its arrays, their pinned form for kernels, scratch buffers, and growth between calls.

A kernel processes rows until memory is full and says how many it has processed; the arena then grows and calls it again
with the rest. A forest makes a subclass that says how it grows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from stumpery.array_forest.workspaces import WorkspacePool, pinned_memory
from stumpery.types import Floats

S = TypeVar("S")
W = TypeVar("W")


class Arena(ABC, Generic[S, W]):
    """The state of a forest and the scratch buffers of its kernels.

    Args:
        state: a NamedTuple of arrays.
        new_workspace: makes a workspace, a NamedTuple of scratch buffers, for a state.
    """

    def __init__(self, state: S, new_workspace: Callable[[S], W]) -> None:
        self._new_workspace = new_workspace
        self.state = state

    @property
    def state(self) -> S:
        """The arrays; they change as kernels run."""
        return self._state

    @state.setter
    def state(self, state: S) -> None:
        self._state = state
        self._memories: WorkspacePool[Any] = WorkspacePool()  # what was pinned would keep its arrays in memory

    @abstractmethod
    def grow(self, row: Floats) -> None:
        """Replace the state by one that has room for an event with these values."""

    def run(self, rows: Floats, process: Callable[[Any, int], int]) -> None:
        """Process all rows, growing in between.

        `process(memory, start)` calls the kernel for the rows from `start` on and returns how many it has processed;
        the memory is the state and a workspace, pinned.
        """
        start = 0
        while start < len(rows):
            memory = self._memories.take(self._new_memory)
            start += process(memory, start)
            self._memories.give_back(memory)
            if start < len(rows):
                self.grow(rows[start])

    def _new_memory(self) -> Any:
        return pinned_memory(self._state, self._new_workspace(self._state))
