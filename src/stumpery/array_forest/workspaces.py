"""Workspaces kept between calls: allocating scratch buffers costs more than a decision."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from stumpery.array_forest.forest_kernels import ForestMemory
from stumpery.compiling.pointers import pinned

T = TypeVar("T")


def pinned_memory(state: Any, workspace: Any) -> Any:
    """A state and a workspace as one argument of a kernel."""
    return pinned(ForestMemory(state, workspace))


class WorkspacePool(Generic[T]):
    """One workspace that is kept, and others for calls that other threads make meanwhile.

    A pool is for one state: whoever replaces the state begins a new pool.
    """

    def __init__(self) -> None:
        self._free: list[T] = []

    def take(self, make: Callable[[], T]) -> T:
        """A workspace that no other call uses."""
        try:
            return self._free.pop()  # atomic: two threads never get the same
        except IndexError:
            return make()

    def give_back(self, workspace: T) -> None:
        """Keep a workspace for the next call, if none is kept yet."""
        if not self._free:
            self._free.append(workspace)
