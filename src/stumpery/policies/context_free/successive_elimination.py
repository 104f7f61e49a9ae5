"""Successive elimination: best-arm identification by dropping the actions that are significantly worse."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import check_number, check_one_of
from stumpery.policies.context_free import successive_elimination_kernels as kernels
from stumpery.policies.policy import Policy
from stumpery.policies.records import ChosenActions
from stumpery.saving.validation import MAX_EVENT_COUNT, check
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Context, Decision, Explanation, Floats


@dataclass(kw_only=True, eq=False)
class SuccessiveElimination(Policy):
    """Successive elimination: play the remaining actions in turn and drop the significantly worse, until one is left.

    With probability 1 - delta the last one is within `epsilon` of the best. It is ACTION SELECTION of Feraud et al.
    2016 (Algorithm 3, equation 2), after Even-Dar et al. 2006. An action that is added later has to pass the same test.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        epsilon: Gap of mean rewards (share of the reward range) that may be ignored, from 0 to 1.
        delta: Probability of an error that is allowed, above 0 and at most 1.
        explore: "in turn" is the paper's round robin, and the probability of a decision is 1; "drawn" draws among the
            remaining actions, so that other policies can learn from the log.

    >>> policy = SuccessiveElimination(actions=["a", "b", "c"], epsilon=0.2, delta=0.1)
    >>> for _ in range(600):
    ...     decision = policy.decide()
    ...     policy.learn(decision, reward=1.0 if decision.action == "b" else 0.0)
    >>> policy.remaining
    ('b',)
    """

    epsilon: float = 0.0
    delta: float = 0.05
    explore: str = "in turn"

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0.0, 1.0)
        check_number("delta", self.delta, 0.0, 1.0, above=True)
        check_one_of("explore", self.explore, ("in turn", "drawn"))
        self.epsilon, self.delta = float(self.epsilon), float(self.delta)
        super().__post_init__()
        self._kernel_options = np.array([self.epsilon, self.delta, self.explore == "in turn"], dtype=np.float64)
        self._arms = moments.new_moments(len(self.actions))
        self._remaining = np.ones(len(self.actions), dtype=np.bool_)
        self._clock = np.zeros(2)

    @property
    def remaining(self) -> tuple[Any, ...]:
        """The actions that are not eliminated."""
        return tuple(action for action, remains in zip(self.actions, self._remaining, strict=True) if remains)

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's number and mean of rewards and whether it remains, and the gap that eliminates now."""
        plays = kernels.fewest_plays(self._arms, self._remaining)
        said = f"{len(self.remaining)} of {len(self.actions)} actions remain"
        if len(self.remaining) > 1 and plays > 0:
            gap = kernels.elimination_bound(len(self.actions), plays, self.delta) - self.epsilon
            said += f"; one is eliminated when its mean is {gap * (self._high - self._low):.4g} below the best"
        if decision is not None:
            chosen, probability, _ = self._checked_decision(decision)
            said = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}. {said}"
        order = np.lexsort([-self._arms[:, moments.MEAN], ~self._remaining])
        return Explanation(said + ".", tuple(self._explained(index) for index in order.tolist()))

    def _explained(self, index: int) -> dict[str, Any]:
        n, mean, _ = self._arms[index].tolist()
        return {
            "action": self.actions[index],
            "n": int(n),
            "mean": self._reward(mean) if n else math.nan,
            "remains": bool(self._remaining[index]),
        }

    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        return kernels.decide(self._rng, self._remaining, self._clock, self._kernel_options, available)

    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        kernels.learn(self._arms, self._remaining, self._clock, self._kernel_options, action, reward)

    def _play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        chosen = ChosenActions.empty(len(rewards))
        kernels.play(self._rng, self._arms, self._remaining, self._clock, self._kernel_options, rewards, *chosen)
        return chosen

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"rng": self._rng, "clock": self._clock, "arms": self._arms, "remaining": self._remaining}

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        scores: Floats = self._arms[:, moments.MEAN] + self._remaining  # those that remain first
        return scores

    def _grow(self, n: int) -> None:
        self._arms = np.vstack([self._arms, moments.new_moments(n)])
        self._remaining = np.append(self._remaining, np.ones(n, dtype=np.bool_))
        self._clock[kernels.CLOCK_CHECKED_PLAYS] = 0.0

    def _shrink(self, keep: Sequence[int]) -> None:
        self._arms, self._remaining = self._arms[keep], self._remaining[keep]
        if not self._remaining.any():  # the last one was removed: all others remain again
            self._remaining[:] = True
        n_before_turn = sum(index < self._clock[kernels.CLOCK_TURN] for index in keep)
        self._clock[kernels.CLOCK_TURN] = n_before_turn % len(keep)
        self._clock[kernels.CLOCK_CHECKED_PLAYS] = 0.0

    def _validate_state(self) -> None:
        super()._validate_state()
        turn, checked = self._clock.tolist()
        moments.validate_rewards(self._arms)
        check(self._remaining.any(), "no action remains")
        check(turn in range(len(self.actions)), f"the action whose turn it is, {turn:g}, does not exist")
        check(0 <= checked <= MAX_EVENT_COUNT, f"the number of rewards at the last check is {checked:g}")
