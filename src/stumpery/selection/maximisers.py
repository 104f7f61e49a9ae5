"""Feasible sets other than all of one size: a maximiser finds the feasible set with the largest sum of scores.

A maximiser is any function from a dict of scores, one for each available action, to the actions it takes. If it also
has a method `is_feasible(actions)`, a policy asks it about every set. These two can be saved with a policy.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stumpery.options import check_number, shown
from stumpery.types import Action

Maximiser = Callable[[Mapping[Action, float]], Iterable[Action]]
N_CELLS = 1000


@dataclass(frozen=True, kw_only=True)
class Knapsack:
    """Sets whose costs do not exceed a budget.

    Found by dynamic programming over a grid of costs: exact where costs and budget are whole numbers and the budget is
    at most 1000; otherwise costs count as the next higher thousandth of the budget, so that the set is feasible always
    and the best one but for that rounding.

    >>> sorted(Knapsack(costs={"a": 3, "b": 2, "c": 2}, budget=4)({"a": 0.9, "b": 0.5, "c": 0.6}))
    ['b', 'c']
    """

    costs: Mapping[Action, float]
    budget: float

    def __post_init__(self) -> None:
        check_number("budget", self.budget, 0.0, above=True)
        check_mapping("costs", self.costs, "cost")
        for action, cost in self.costs.items():
            check_number(f"the cost of {shown(action)}", cost, 0.0, above=True)

    def __call__(self, scores: Mapping[Action, float]) -> list[Action]:
        """The affordable set with the largest sum of scores; scores of 0 and less are left out."""
        whole = self.budget <= N_CELLS and all(float(cost).is_integer() for cost in (self.budget, *self.costs.values()))
        n_cells = int(self.budget) if whole else N_CELLS
        wanted = [action for action, score in scores.items() if self.cost(action) <= self.budget and score > 0.0]
        shares = {
            action: self.cost(action) if whole else self.cost(action) / self.budget * n_cells for action in wanted
        }
        steps = {action: math.ceil(share) for action, share in shares.items()}
        best = np.zeros(n_cells + 1)
        taken = np.zeros((len(wanted), n_cells + 1), dtype=np.bool_)
        for row, action in enumerate(wanted):
            step = steps[action]
            with_it = best[: n_cells + 1 - step] + scores[action]
            taken[row, step:] = with_it > best[step:]
            best[step:] = np.maximum(best[step:], with_it)
        left, found = n_cells, []
        for row in reversed(range(len(wanted))):
            if taken[row, left]:
                found.append(wanted[row])
                left -= steps[wanted[row]]
        return found[::-1]

    def is_feasible(self, actions: Iterable[Action]) -> bool:
        """Whether the budget pays for all of them."""
        return sum(self.cost(action) for action in actions) <= self.budget * (1.0 + 1e-12)

    def cost(self, action: Action) -> float:
        """What an action costs; a ValueError says that nobody told."""
        if action not in self.costs:
            raise ValueError(f"costs has no cost for action {shown(action)}")
        return self.costs[action]


@dataclass(frozen=True, kw_only=True)
class OnePerGroup:
    """Sets with exactly one action of each group that has one available.

    >>> OnePerGroup(groups={"a": "text", "b": "text", "c": "picture"})({"a": 0.2, "b": 0.5, "c": 0.1})
    ['b', 'c']
    """

    groups: Mapping[Action, Action]  # the group of each action

    def __post_init__(self) -> None:
        check_mapping("groups", self.groups, "group")
        for action, group in self.groups.items():
            if not isinstance(group, Action | np.generic):
                raise ValueError(f"the group of {shown(action)} is {shown(group)}; it must be a string or a number")

    def __call__(self, scores: Mapping[Action, float]) -> list[Action]:
        """The best of each group; of equals the earlier."""
        best: dict[Action, Action] = {}
        for action, score in scores.items():
            group = self.group(action)
            if group not in best or score > scores[best[group]]:
                best[group] = action
        return list(best.values())

    def is_feasible(self, actions: Iterable[Action]) -> bool:
        """Whether no group is there twice."""
        groups = [self.group(action) for action in actions]
        return len(set(groups)) == len(groups)

    def group(self, action: Action) -> Action:
        """The group of an action; a ValueError says that nobody told."""
        if action not in self.groups:
            raise ValueError(f"groups has no group for action {shown(action)}")
        return self.groups[action]


@dataclass(frozen=True)
class Unsaved:
    """Stands for a function of the user's, which no file can hold."""

    def __call__(self, scores: Mapping[Action, float]) -> list[Action]:
        """Say what is to be done."""
        raise ValueError(
            "the maximiser was a function, which no file holds; give it anew: "
            "policy.clone({'maximiser': ...}, include_attributes=True)"
        )


def check_maximiser(maximiser: Any) -> None:
    """A function; what it gives is checked each time."""
    if not callable(maximiser):
        raise ValueError(f"maximiser is {shown(maximiser)}; it must be a function from scores to actions")


def check_mapping(name: str, value: Any, of: str) -> None:
    """A dict with an entry at least."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name} is {shown(value)}; it must be a dict from action to {of}")


KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Knapsack, OnePerGroup, Unsaved)}


def recipe(maximiser: Any) -> dict[str, Any] | None:
    """A maximiser as plain values; a dict of actions as pairs, because JSON has no keys but text."""
    if maximiser is None:
        return None
    name = type(maximiser).__name__
    if KINDS.get(name) is not type(maximiser):
        return {"kind": Unsaved.__name__}
    options = {
        key: [list(pair) for pair in value.items()] if isinstance(value, Mapping) else value
        for key, value in asdict(maximiser).items()
    }
    return {"kind": name, **options}


def from_recipe(options: dict[str, Any]) -> Any:
    """The maximiser of a recipe."""
    plain = {key: dict(value) if isinstance(value, list) else value for key, value in options.items() if key != "kind"}
    return KINDS[options["kind"]](**plain)
