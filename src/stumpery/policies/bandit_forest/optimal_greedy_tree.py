"""The greedy tree that full knowledge would build: what the Bandit Tree should find."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stumpery.options import check_whole
from stumpery.types import Floats

Path = tuple[tuple[int, int], ...]  # (variable, value), from the root on


@dataclass(frozen=True)
class GreedyTree:
    """A node: the variable that it splits on and its two subtrees, or the action of a leaf."""

    reward: float  # expected in this part of the distribution, all its probability counted
    action: int | None = None
    variable: int | None = None
    children: tuple["GreedyTree", ...] = ()  # for the values 0 and 1

    def decide(self, context: Sequence[int]) -> int:
        """The action for one row of bits."""
        tree = self
        while tree.variable is not None:
            tree = tree.children[int(context[tree.variable])]
        return int(tree.action or 0)


def optimal_greedy_tree(
    *,
    contexts: ArrayLike,
    probabilities: ArrayLike,
    rewards: ArrayLike,
    max_depth: int,
    candidates: Callable[[Path], Sequence[int]] | None = None,
) -> GreedyTree:
    """Algorithm 5 of Feraud et al. 2016 on a distribution that can be listed.

    Each row of `contexts` is a combination of bits, with its probability and every action's mean reward. `candidates`
    gives the variables that may be used below a path, the paper's f; without it all are. A tie goes to the first.

    >>> tree = optimal_greedy_tree(
    ...     contexts=[[0, 0], [0, 1], [1, 0], [1, 1]],
    ...     probabilities=[0.25] * 4,
    ...     rewards=[[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 1.0]],
    ...     max_depth=1,
    ... )
    >>> tree.variable, tree.reward, tree.decide([1, 0])
    (0, 0.875, 1)
    """
    check_whole("max_depth", max_depth, 0)
    bits, mass, means = np.asarray(contexts), np.asarray(probabilities, float), np.asarray(rewards, float)
    if (bits.ndim, mass.ndim, means.ndim) != (2, 1, 2) or not len(bits) == len(mass) == len(means) > 0:
        raise ValueError(
            f"contexts, probabilities and rewards have shapes {bits.shape}, {mass.shape} and {means.shape}; "
            "each needs one row for every combination of bits"
        )
    if not np.isin(bits, (0, 1)).all():
        raise ValueError("contexts must hold zeros and ones only")
    if (mass < 0).any() or not np.isclose(mass.sum(), 1.0):
        raise ValueError(f"probabilities sum up to {mass.sum():g}; they must be 0 or more and sum up to 1")
    if not means.size or not np.isfinite(means).all():
        raise ValueError(f"rewards have shape {means.shape}; they must be finite numbers, a column for each action")
    allowed = candidates or (lambda path: range(bits.shape[1]))

    def grow(path: Path, inside: Any) -> GreedyTree:
        paid = mass[inside] @ means[inside]  # of each action, in this part
        used = {variable for variable, _ in path}
        open_variables = [each for each in allowed(path) if each not in used]
        for each in open_variables:
            check_whole("a candidate", each, 0, bits.shape[1] - 1)
        if len(path) == max_depth or not open_variables or not mass[inside].any():
            return GreedyTree(reward=float(paid.max()), action=int(paid.argmax()))
        values = variable_rewards(bits[inside], mass[inside], means[inside])[open_variables]
        best = open_variables[int(values.argmax())]
        children = tuple(grow((*path, (best, value)), inside & (bits[:, best] == value)) for value in (0, 1))
        return GreedyTree(reward=sum(child.reward for child in children), variable=best, children=children)

    return grow((), np.ones(len(bits), dtype=np.bool_))


def variable_rewards(contexts: ArrayLike, probabilities: ArrayLike, rewards: ArrayLike) -> Floats:
    """What playing the best action for each value of a variable earns, for every variable: mu^i of the paper."""
    bits, paid = np.asarray(contexts), np.asarray(probabilities)[:, None] * np.asarray(rewards)
    when_set = bits.T @ paid  # (variables, actions)
    earned: Floats = when_set.max(axis=1) + ((1 - bits).T @ paid).max(axis=1)
    return earned
