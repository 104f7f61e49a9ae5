"""Workspaces kept between calls: allocating scratch buffers costs more than a decision."""

from collections.abc import Callable
from typing import Any

from stumpery.compiling.pointers import pinned


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
