"""Actions of a policy: by name and index, added and removed singly or in bulk, available or not."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.models import Model
from stumpery.options import listed, shown
from stumpery.policies.arguments import checked_actions
from stumpery.saving.saveable import Arrays, Options
from stumpery.types import Action

MAX_REMOVED = 10_000  # names of removed actions that a policy keeps, the latest
REMOVED = "_removed"  # their name among saved options


@dataclass(kw_only=True, eq=False)
class ChangingActions(Model):
    """A model whose actions may be added and removed."""

    actions: Sequence[Action]

    def __post_init__(self) -> None:
        self.actions = checked_actions(self.actions)
        self._removed: dict[Action, None] = {}  # in the order of their removal
        self._index_actions()

    def add_action(self, action: Action) -> None:
        """Add an action to those offered."""
        self.add_actions([action])

    def add_actions(self, actions: Sequence[Action]) -> None:
        """Add many actions at once, or none if one of them is invalid; much faster than one after the other."""
        names = _checked_some(actions)
        if again := [name for name in names if name in self._index]:
            raise InvalidInput(f"action {shown(again[0])} is there already; actions must differ")
        if not names:
            return
        before = self.actions
        self._set_option("actions", (*before, *names))
        try:
            self._grow(len(names))
        except (ValueError, MemoryError):  # beyond max_bytes
            self._set_option("actions", before)
            raise
        for name in names:
            self._removed.pop(name, None)
        self._index_actions()

    def remove_action(self, action: Action) -> None:
        """Remove an action and what was learned of it; rewards of its earlier decisions are refused from now on."""
        self._position(action)
        self.remove_actions([action])

    def remove_actions(self, actions: Sequence[Action]) -> None:
        """Remove many actions at once, or none if one of them is invalid; much faster than one after the other."""
        names = _checked_some(actions)
        removed = {self._position(name) for name in names}
        if len(removed) == len(self.actions):
            what = f"{names[0]!r} is the only action" if len(names) == 1 else f"{listed(names)} are all actions"
            raise InvalidInput(f"{what} left; a policy needs at least one")
        if not removed:
            return
        keep = [index for index in range(len(self.actions)) if index not in removed]
        before = self.actions
        self._set_option("actions", tuple(before[index] for index in keep))
        self._shrink(keep)
        self._removed |= dict.fromkeys(names)
        for name in list(self._removed)[: max(len(self._removed) - MAX_REMOVED, 0)]:
            del self._removed[name]
        self._index_actions()

    def position(self, action: Action) -> int:
        """The index of an action; a ValueError if it is not one of the policy's."""
        return self._position(action)

    # Hooks: `self.actions` are those of after the change.

    @abstractmethod
    def _grow(self, n: int) -> None:
        """Extend the arrays by n actions, the last, or raise and change nothing."""

    @abstractmethod
    def _shrink(self, keep: Sequence[int]) -> None:
        """Keep in the arrays only these of the actions before, by index, in order."""

    # What a policy needs of its actions.

    def _index_actions(self) -> None:
        """Index the actions by name, after they have changed."""
        self._index = {action: index for index, action in enumerate(self.actions)}
        self._all = np.ones(len(self.actions), dtype=np.bool_)

    def _position(self, action: Action) -> int:
        try:
            return self._index[action]
        except (KeyError, TypeError):
            raise InvalidInput(f"action is {shown(action)}; it must be one of {listed(self.actions)}") from None

    def _was_removed(self, action: Any) -> bool:
        """Whether an action is one of the latest that were removed."""
        try:
            return action in self._removed
        except TypeError:  # no name at all
            return False

    def _available_mask(self, available: Iterable[Action]) -> NDArray[np.bool_]:
        """Which actions are available, by index."""
        if isinstance(available, str) or not isinstance(available, Iterable):
            raise InvalidInput(f"available is {shown(available)}; it must be a list of actions")
        mask = np.zeros(len(self.actions), dtype=np.bool_)
        for action in available:
            mask[self._position(action)] = True
        if not mask.any():
            raise InvalidInput("available is empty; at least one action is needed")
        return mask

    def _available_masks(self, available: Any, n: int) -> NDArray[np.bool_]:
        """Which actions are available for n rows: one mask for all, or one for each, (n, actions)."""
        if isinstance(available, np.ndarray) and available.ndim == 2:
            masks = self._checked_matrix(available)
        else:
            each = list(available) if isinstance(available, Iterable) and not isinstance(available, str) else available
            if not (isinstance(each, list) and each and all(_is_list(row) for row in each)):
                return self._available_mask(each)
            masks = np.array([self._row_mask(index, row) for index, row in enumerate(each)])
        if len(masks) != n:
            raise InvalidInput(f"available has {len(masks)} rows for {n} contexts: one of each is needed")
        return masks

    def _checked_matrix(self, available: NDArray[Any]) -> NDArray[np.bool_]:
        shape = available.shape
        if available.dtype != np.bool_ or shape[1] != len(self.actions):
            raise InvalidInput(
                f"available is a matrix of {available.dtype} and shape {shape}; it must be of booleans, "
                f"with a column for each of {len(self.actions)} actions"
            )
        if (empty := np.flatnonzero(~available.any(axis=1))).size:
            raise InvalidInput(f"available is empty in row {empty[0]}; at least one action is needed")
        return np.require(available, np.bool_, ["C", "W"])  # one type to the compiler

    def _row_mask(self, index: int, available: Iterable[Action]) -> NDArray[np.bool_]:
        try:
            return self._available_mask(available)
        except InvalidInput as error:
            raise InvalidInput(f"row {index}: {error}") from None

    # Files.

    def _options(self) -> Options:
        removed = {REMOVED: list(self._removed)} if self._removed else {}
        return {**super()._options(), "actions": list(self.actions), **removed}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._restore_removed(learned)
        super()._restore(arrays, learned)

    def _restore_removed(self, learned: Options) -> None:
        """Take the names of removed actions out of what was learned, in place."""
        if REMOVED not in learned:
            return
        names = checked_actions(learned.pop(REMOVED))
        if len(names) > MAX_REMOVED or any(name in self._index for name in names):
            raise CorruptFile("its removed actions are too many, or among its actions")
        self._removed = dict.fromkeys(names)


def _checked_some(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Names of actions, perhaps none."""
    is_empty = isinstance(actions, list | tuple | range | np.ndarray) and len(actions) == 0
    return () if is_empty else checked_actions(actions)


def _is_list(row: Any) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | bytes)
