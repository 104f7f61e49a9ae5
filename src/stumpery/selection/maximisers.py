"""Maximisers (knapsack, one action per group): they find the feasible set of actions with the largest sum of scores.

A maximiser is any function from a dict of scores, one for each available action, to the chosen actions. If it also
has a method `is_feasible(actions)`, every set is checked by it. Those of this module are saved with a policy.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import check_number, shown
from stumpery.types import Action

Maximiser = Callable[[Mapping[Action, float]], Iterable[Action]]
N_COST_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class Knapsack:
    """Knapsack: the set with the largest sum of scores whose costs do not exceed a budget.

    It is found by dynamic programming over a grid of costs: exact if costs and budget are whole numbers and the budget
    is at most 1000; otherwise costs are rounded up to a thousandth of the budget, so that the set is always feasible,
    and optimal but for that rounding.

    Args:
        costs: The cost of every action, above 0.
        budget: The largest sum of costs, above 0.

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
        """The affordable set with the largest sum of scores; actions with scores of 0 or less are left out."""
        is_whole = self.budget <= N_COST_STEPS and all(
            float(cost).is_integer() for cost in (self.budget, *self.costs.values())
        )
        n_cells = int(self.budget) if is_whole else N_COST_STEPS
        candidates = [action for action, score in scores.items() if self.cost(action) <= self.budget and score > 0.0]
        shares = {
            action: self.cost(action) if is_whole else self.cost(action) / self.budget * n_cells
            for action in candidates
        }
        steps = {action: math.ceil(share) for action, share in shares.items()}
        best = np.zeros(n_cells + 1)
        taken = np.zeros((len(candidates), n_cells + 1), dtype=np.bool_)
        for row, action in enumerate(candidates):
            step = steps[action]
            with_it = best[: n_cells + 1 - step] + scores[action]
            taken[row, step:] = with_it > best[step:]
            best[step:] = np.maximum(best[step:], with_it)
        left, chosen = n_cells, []
        for row in reversed(range(len(candidates))):
            if taken[row, left]:
                chosen.append(candidates[row])
                left -= steps[candidates[row]]
        return chosen[::-1]

    def is_feasible(self, actions: Iterable[Action]) -> bool:
        """Whether the costs of these actions do not exceed the budget."""
        return sum(self.cost(action) for action in actions) <= self.budget * (1.0 + 1e-12)

    def cost(self, action: Action) -> float:
        """The cost of an action; a ValueError if there is none."""
        if action not in self.costs:
            raise InvalidInput(f"costs has no cost for action {shown(action)}")
        return self.costs[action]


@dataclass(frozen=True, kw_only=True)
class OnePerGroup:
    """One action per group: the best available action of each group.

    Args:
        groups: The group of every action, a string or a number.

    >>> OnePerGroup(groups={"a": "text", "b": "text", "c": "picture"})({"a": 0.2, "b": 0.5, "c": 0.1})
    ['b', 'c']
    """

    groups: Mapping[Action, Action]

    def __post_init__(self) -> None:
        check_mapping("groups", self.groups, "group")
        for action, group in self.groups.items():
            if not isinstance(group, Action | np.generic):
                raise InvalidInput(f"the group of {shown(action)} is {shown(group)}; it must be a string or a number")

    def __call__(self, scores: Mapping[Action, float]) -> list[Action]:
        """The best action of each group; ties go to the earlier."""
        best: dict[Action, Action] = {}
        for action, score in scores.items():
            group = self.group(action)
            if group not in best or score > scores[best[group]]:
                best[group] = action
        return list(best.values())

    def is_feasible(self, actions: Iterable[Action]) -> bool:
        """Whether no two actions are of one group."""
        groups = [self.group(action) for action in actions]
        return len(set(groups)) == len(groups)

    def group(self, action: Action) -> Action:
        """The group of an action; a ValueError if there is none."""
        if action not in self.groups:
            raise InvalidInput(f"groups has no group for action {shown(action)}")
        return self.groups[action]


@dataclass(frozen=True)
class UnsavedMaximiser:
    """Placeholder in a loaded policy for a function, which cannot be saved."""

    def __call__(self, scores: Mapping[Action, float]) -> list[Action]:
        """Raise a ValueError with the call that passes the maximiser again."""
        raise InvalidInput(
            "the maximiser was a function, which is not saved; pass it again: "
            "policy.clone({'maximiser': ...}, include_attributes=True)"
        )


def check_maximiser(maximiser: Any) -> None:
    """Refuse a maximiser that cannot be called."""
    if not callable(maximiser):
        raise InvalidInput(f"maximiser is {shown(maximiser)}; it must be a function from scores to actions")


def check_mapping(name: str, value: Any, of: str) -> None:
    """Refuse anything but a dict with entries."""
    if not isinstance(value, Mapping) or not value:
        raise InvalidInput(f"{name} is {shown(value)}; it must be a dict from action to {of}")


MAXIMISERS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Knapsack, OnePerGroup, UnsavedMaximiser)}


def maximiser_options(maximiser: Any) -> dict[str, Any] | None:
    """A maximiser as JSON values; dicts become pairs, because JSON keys are strings."""
    if maximiser is None:
        return None
    name = type(maximiser).__name__
    if MAXIMISERS.get(name) is not type(maximiser):
        return {"kind": UnsavedMaximiser.__name__}
    options = {
        key: [list(pair) for pair in value.items()] if isinstance(value, Mapping) else value
        for key, value in asdict(maximiser).items()
    }
    return {"kind": name, **options}


def maximiser_from_options(options: dict[str, Any]) -> Any:
    """The maximiser of saved options."""
    plain = {key: dict(value) if isinstance(value, list) else value for key, value in options.items() if key != "kind"}
    return MAXIMISERS[options["kind"]](**plain)
