"""Arena of a forest: owns its arrays, their pinned form for kernels, scratch buffers, and growth between calls.

A kernel processes rows until memory is full and says how many it has processed; the arena then grows and calls it again
with the rest. A forest makes a subclass that says how it grows. Workspaces are kept between calls: allocating scratch
buffers costs more than a decision.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from stumpery.array_forest.forest_kernels import ForestMemory, State, Workspace
from stumpery.compiling.pointers import pinned
from stumpery.types import Floats


class WorkspacePool(Generic[Workspace]):
    """One workspace that is kept, and others for calls that other threads make meanwhile.

    A pool is for one state: whoever replaces the state begins a new pool.
    """

    def __init__(self) -> None:
        self._free: list[Workspace] = []

    def take(self, make: Callable[[], Workspace]) -> Workspace:
        """A workspace that no other call uses."""
        try:
            return self._free.pop()  # atomic: two threads never get the same
        except IndexError:
            return make()

    def give_back(self, workspace: Workspace) -> None:
        """Keep a workspace for the next call, if none is kept yet."""
        if not self._free:
            self._free.append(workspace)


class Arena(ABC, Generic[State, Workspace]):
    """The state of a forest and the scratch buffers of its kernels.

    Args:
        state: a NamedTuple of arrays.
        new_workspace: makes a workspace, a NamedTuple of scratch buffers, for a state.
    """

    def __init__(self, state: State, new_workspace: Callable[[State], Workspace]) -> None:
        self._new_workspace = new_workspace
        self.state = state

    @property
    def state(self) -> State:
        """The arrays; they change as kernels run."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self._pool: WorkspacePool[Any] = WorkspacePool()  # what was pinned would keep its arrays in memory

    @abstractmethod
    def grow(self, row: Floats) -> None:
        """Replace the state by one with capacity for an event with these values."""

    def run(self, rows: Floats, process: Callable[[ForestMemory[State, Workspace], int], int]) -> None:
        """Process all rows, growing the arrays in between.

        `process(memory, start)` calls the kernel for the rows from `start` on and returns how many it has processed;
        the memory is the state and a workspace, pinned.
        """
        start = 0
        while start < len(rows):
            buffers = self._pool.take(self._new_buffers)
            start += process(buffers[0], start)
            self._pool.give_back(buffers)
            if start < len(rows):
                self.grow(rows[start])

    def _new_buffers(self) -> tuple[Any, ...]:
        """What the pool keeps for a call: the pinned memory first; a subclass may add what else a call needs."""
        return (self._new_memory(),)

    def _new_memory(self) -> ForestMemory[State, Workspace]:
        """The state and a workspace, pinned as one argument of a kernel."""
        return pinned(ForestMemory(self._state, self._new_workspace(self._state)))
