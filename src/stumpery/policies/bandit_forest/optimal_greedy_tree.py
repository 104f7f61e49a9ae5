"""The optimal greedy tree of a known distribution, to which a Bandit Tree converges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stumpery.errors import InvalidInput
from stumpery.options import check_whole
from stumpery.types import Floats

Path = tuple[tuple[int, int], ...]  # (variable, value), from the root on


@dataclass(frozen=True)
class GreedyTree:
    """A node of the optimal greedy tree: the variable that it splits on and its two subtrees, or a leaf's action."""

    reward: float  # expected reward times the probability of reaching the node
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
    """Build the optimal greedy tree of a finite distribution of contexts (Feraud et al. 2016, Algorithm 5).

    Each row of `contexts` is a combination of bits, with its probability and every action's mean reward. `candidates`
    returns the variables that may be used below a path, the paper's f; by default all. A tie goes to the first.

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
        raise InvalidInput(
            f"contexts, probabilities and rewards have shapes {bits.shape}, {mass.shape} and {means.shape}; "
            "each needs one row for every combination of bits"
        )
    if not np.isin(bits, (0, 1)).all():
        raise InvalidInput("contexts must hold zeros and ones only")
    if (mass < 0).any() or not np.isclose(mass.sum(), 1.0):
        raise InvalidInput(f"probabilities sum up to {mass.sum():g}; they must be 0 or more and sum up to 1")
    if not means.size or not np.isfinite(means).all():
        raise InvalidInput(f"rewards have shape {means.shape}; they must be finite numbers, a column for each action")
    allowed = candidates or (lambda path: range(bits.shape[1]))

    def grow(path: Path, inside: Any) -> GreedyTree:
        earned = mass[inside] @ means[inside]  # by each action, in this part
        used = {variable for variable, _ in path}
        open_variables = [variable for variable in allowed(path) if variable not in used]
        for variable in open_variables:
            check_whole("a candidate", variable, 0, bits.shape[1] - 1)
        if len(path) == max_depth or not open_variables or not mass[inside].any():
            return GreedyTree(reward=float(earned.max()), action=int(earned.argmax()))
        values = variable_rewards(bits[inside], mass[inside], means[inside])[open_variables]
        best = open_variables[int(values.argmax())]
        children = tuple(grow((*path, (best, value)), inside & (bits[:, best] == value)) for value in (0, 1))
        return GreedyTree(reward=sum(child.reward for child in children), variable=best, children=children)

    return grow((), np.ones(len(bits), dtype=np.bool_))


def variable_rewards(contexts: ArrayLike, probabilities: ArrayLike, rewards: ArrayLike) -> Floats:
    """The expected reward of the best action for each value of a variable, for every variable: mu^i of the paper."""
    bits, mass = np.asarray(contexts), np.asarray(probabilities)[:, None] * np.asarray(rewards)
    when_set = bits.T @ mass  # (variables, actions)
    earned: Floats = when_set.max(axis=1) + ((1 - bits).T @ mass).max(axis=1)
    return earned
