"""Combinatorial Thompson sampling: bandits that choose sets of actions (Durand and Gagné 2014, Algorithm 1)."""

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.locks import merging
from stumpery.models import Model
from stumpery.options import check_number, check_whole, is_number, listed, shown
from stumpery.random import new_generator
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import MAX_EVENT_COUNT, check, check_random_state, check_total, check_within
from stumpery.selection import choosers_kernels as kernels
from stumpery.selection import maximisers
from stumpery.selection.arguments import checked_names
from stumpery.types import Action, Context, Explanation, Floats

N_DRAWS = 500  # by which an explanation estimates probabilities


class SetDecision(NamedTuple):
    """A set of actions that a policy chose together; its probability has no closed form.

    Args:
        actions: The actions of the set.
        context: The context that came with the call, not used by the policy.

    >>> SetDecision(("text", "picture"))
    SetDecision(actions=('text', 'picture'), context=None)
    """

    actions: tuple[Action, ...]
    context: Context = None


@dataclass(kw_only=True, eq=False)
class CombinatorialThompson(Model):
    """Combinatorial Thompson sampling: draw every action's mean from its posterior, take the best feasible set.

    One reward from 0 to 1 is seen for the whole set and counts for each action in it. It is Algorithm 1 of Durand and
    Gagné 2014. Memory is 16 bytes per action.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        size: Number of actions in a set; either this or `maximiser` must be given.
        maximiser: The feasible sets: a function from a dict of scores to the chosen actions, for example `Knapsack` or
            `OnePerGroup`. A function of your own is not saved.
        prior: Successes and failures that every action starts with, above 0; (1, 1) is uniform.
        seed: Seed of all random draws; the same seed gives the same decisions.

    >>> policy = CombinatorialThompson(actions=["a", "b", "c", "d"], size=2, seed=1)
    >>> for _ in range(300):
    ...     decision = policy.decide()
    ...     policy.learn(decision, reward=float("a" in decision.actions and "c" in decision.actions))
    >>> sorted(policy.decide().actions)
    ['a', 'c']
    """

    actions: Sequence[Action]
    size: int | None = None
    maximiser: maximisers.Maximiser | None = None
    prior: tuple[float, float] = (1.0, 1.0)
    seed: int = 0

    _unsaved: ClassVar[tuple[str, ...]] = ("maximiser",)

    def __post_init__(self) -> None:
        self.actions = checked_names("actions", self.actions)
        if (self.size is None) == (self.maximiser is None):
            raise InvalidInput("give either size or maximiser, which defines the feasible sets")
        if self.size is not None:
            check_whole("size", self.size, 1, len(self.actions))
            self.size = int(self.size)
        else:
            maximisers.check_maximiser(self.maximiser)
        self.prior = checked_prior(self.prior)
        self._rng = new_generator(self.seed)
        self.seed = int(self.seed)
        self._sums = np.zeros((len(self.actions), kernels.N_ARM_FIELDS))

    def decide(self, context: Context = None, *, available: Iterable[Action] | None = None) -> SetDecision:
        """Choose a feasible set, by default of all actions, else of those `available`."""
        offered = self._offered(available)
        rng = self._rng.copy()
        chosen = self._best(self._draw(rng), offered)
        self._rng[:] = rng
        return SetDecision(chosen, context)

    def learn(self, decision: SetDecision | Iterable[Action], reward: float) -> None:
        """Learn the reward of a set: at once, late, out of order, or from a log, where a list of actions is enough."""
        rows = self._taken(decision)
        value = float(reward) if isinstance(reward, bool | np.bool_) or is_number(reward) else math.nan
        if not 0.0 <= value <= 1.0:
            raise InvalidInput(f"reward is {shown(reward)}; it must be a number from 0 to 1")
        self._sums[rows] += (1.0, value)

    @merging
    def merge(self, other: Self) -> None:
        """Add the counts of another policy with the same actions and prior."""
        if not isinstance(other, CombinatorialThompson):
            raise InvalidInput(
                f"CombinatorialThompson merges with another CombinatorialThompson, not with {type(other).__name__!r}"
            )
        if set(other.actions) != set(self.actions) or other.prior != self.prior:
            raise InvalidInput("two policies merge only if they have the same actions and the same prior")
        sums = self._sums + other._sums[[list(other.actions).index(action) for action in self.actions]]
        check_total(sums[:, kernels.ARM_PLAYS].max(), MAX_EVENT_COUNT, "a policy")
        self._sums = sums

    def explain(self, decision: SetDecision | Iterable[Action] | None = None) -> Explanation:
        """Every action's posterior, and its probability estimated by 500 draws."""
        taken = [] if decision is None else self._named(self._taken(decision))
        counts = dict.fromkeys(self.actions, 0)
        rng, offered = self._rng.copy(), list(self.actions)
        for _ in range(N_DRAWS):
            for action in self._best(self._draw(rng), offered):
                counts[action] += 1
        alpha, beta = self._posterior()
        mean, total = alpha / (alpha + beta), alpha + beta
        uncertainty = np.sqrt(mean * (1.0 - mean) / (total + 1.0))
        order = np.argsort(-mean, kind="stable").tolist()
        rows = tuple(
            {
                "action": self.actions[arm],
                "n": int(self._sums[arm, kernels.ARM_PLAYS]),
                "mean": float(mean[arm]),
                "uncertainty": float(uncertainty[arm]),
                "probability": counts[self.actions[arm]] / N_DRAWS,
                "alpha": float(alpha[arm]),
                "beta": float(beta[arm]),
            }
            for arm in order
        )
        said = f"{rows[0]['action']!r} has the highest mean, {rows[0]['mean']:.4g} over all its sets."
        if taken:
            said = f"{listed(taken)} were chosen together. {said}"
        return Explanation(said, rows)

    def add_action(self, action: Action) -> None:
        """Add an action to those offered."""
        self._set_option("actions", checked_names("actions", [*self.actions, action]))
        self._sums = np.vstack([self._sums, np.zeros(kernels.N_ARM_FIELDS)])

    def remove_action(self, action: Action) -> None:
        """Remove an action and what was learned of it."""
        (row,) = self._rows("action", [action])
        if len(self.actions) == (self.size or 1):
            raise InvalidInput(f"there are {len(self.actions)} actions; no set would be feasible without {action!r}")
        self._set_option("actions", tuple(name for name in self.actions if name != action))
        self._sums = np.delete(self._sums, row, axis=0)

    def _options(self) -> Options:
        """Of a maximiser that is a function only that it was one."""
        options = {**super()._options(), "actions": list(self.actions), "prior": list(self.prior)}
        return {**options, "maximiser": maximisers.maximiser_options(self.maximiser)}

    def _arrays(self) -> Arrays:
        return {"rng": self._rng, "sums": self._sums}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        maximiser = options["maximiser"]
        own = maximisers.maximiser_from_options(maximiser) if isinstance(maximiser, dict) else maximiser
        return {**options, "maximiser": own}

    def _validate_state(self) -> None:
        plays, reward = self._sums.T
        check_random_state(self._rng)
        check_within(plays, 0.0, MAX_EVENT_COUNT, "the number of plays")
        check(((reward >= 0) & (reward <= plays)).all(), "an action has more rewards than plays, or negative ones")

    def _posterior(self) -> tuple[Floats, Floats]:
        plays, reward = self._sums.T
        return self.prior[0] + reward, self.prior[1] + plays - reward

    def _draw(self, rng: NDArray[np.uint64]) -> Floats:
        scores = np.empty(len(self.actions))
        kernels.draw_scores(rng, self._sums, *self.prior, scores)
        return scores

    def _best(self, scores: Floats, offered: list[Action]) -> tuple[Action, ...]:
        """The feasible set of offered actions with the largest sum of scores, checked."""
        if self.maximiser is None:
            hidden = [arm for arm, action in enumerate(self.actions) if action not in offered]
            scores[hidden] = -np.inf
            return tuple(self.actions[arm] for arm in kernels.top_arms(scores, self.size or 1).tolist())
        drawn = dict(zip(self.actions, scores.tolist(), strict=True))
        given = self.maximiser({action: drawn[action] for action in offered})
        chosen = self._named(self._rows("the maximiser's set", given))
        if not chosen:
            raise InvalidInput("the maximiser gave an empty set; at least one action is needed")
        absent = [action for action in chosen if action not in offered]
        if absent:
            raise InvalidInput(f"the maximiser gave {listed(absent)}, which is not available")
        is_feasible = getattr(self.maximiser, "is_feasible", None)
        if is_feasible is not None and not is_feasible(chosen):
            raise InvalidInput(f"the maximiser gave {listed(chosen)}, which is not feasible by its own is_feasible")
        return chosen

    def _offered(self, available: Iterable[Action] | None) -> list[Action]:
        rows = range(len(self.actions)) if available is None else sorted(set(self._known("available", available)))
        offered = list(self._named(rows))
        if not offered:
            raise InvalidInput("available is empty; at least one action is needed")
        if self.size is not None and len(offered) < self.size:
            raise InvalidInput(f"size is {self.size}, but only {len(offered)} actions are available")
        return offered

    def _known(self, name: str, actions: Any) -> list[int]:
        """The rows of actions, in their order; of a set in the policy's order."""
        if isinstance(actions, str | bytes) or not isinstance(actions, Iterable):
            raise InvalidInput(f"{name} is {shown(actions)}; it must be a list of actions")
        rows = []
        for action in actions:
            if not isinstance(action, Action | np.generic) or action not in self.actions:
                raise InvalidInput(f"{name} holds {shown(action)}; actions are {listed(self.actions)}")
            rows.append(self.actions.index(action))
        return sorted(rows) if isinstance(actions, Set) else rows

    def _rows(self, name: str, actions: Any) -> list[int]:
        """The rows of actions, each once."""
        rows = self._known(name, actions)
        if len(set(rows)) != len(rows):
            raise InvalidInput(f"{name} is {shown(self._named(rows))}; actions must differ")
        return rows

    def _taken(self, decision: Any) -> list[int]:
        """The rows of the actions of a decision, at least one."""
        rows = self._rows("decision", decision.actions if isinstance(decision, SetDecision) else decision)
        if not rows:
            raise InvalidInput("decision is empty; it must hold at least one action")
        return rows

    def _named(self, rows: Iterable[int]) -> tuple[Action, ...]:
        return tuple(self.actions[row] for row in rows)


def checked_prior(prior: Any) -> tuple[float, float]:
    """The shapes of a Beta prior; a ValueError if they are not two numbers above 0."""
    try:
        alpha, beta = prior
    except (TypeError, ValueError):
        raise InvalidInput(f"prior is {shown(prior)}; it must be two numbers above 0") from None
    for number in (alpha, beta):
        check_number("a number of prior", number, 0.0, above=True)
    return float(alpha), float(beta)
