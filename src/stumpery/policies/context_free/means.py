"""Context-free bandits: the mean reward of every action, and an explorer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.options import is_number
from stumpery.policies.context_free import means_kernels
from stumpery.policies.exploration import explorer_kernels, explorers
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.policy import Policy
from stumpery.policies.records import ChosenActions
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import MAX_EVENT_COUNT, check_within
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Context, Decision, Explanation, Floats, Integers


@dataclass(kw_only=True, eq=False)
class MeansPolicy(Policy):
    """Context-free bandit: the mean reward of every action, with any explorer.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        explorer: How scores become probabilities; see `stumpery.explorers`. Greedy by default.
        initial: Score of an action before its first reward, in units of rewards. With None, the default, every action
            is tried once before any is repeated; with a low number an action may never be tried.

    >>> from stumpery.policies.exploration import explorers
    >>> policy = MeansPolicy(actions=["a", "b"], explorer=explorers.inverse_gap(scale=20))
    >>> decision = policy.decide()
    >>> decision.probability
    0.5
    >>> policy.learn(decision, reward=1.0)
    """

    explorer: Explorer = field(default_factory=explorers.greedy)
    initial: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.explorer, Explorer):
            raise InvalidInput(
                f"explorer is {self.explorer!r}; it must come from stumpery.policies.exploration.explorers"
            )
        if self.initial is not None:
            if not is_number(self.initial):
                raise InvalidInput(
                    f"initial is {self.initial!r}; it must be a finite number, or None to try every action"
                )
            self.initial = float(self.initial)
        super().__post_init__()
        self._rule = self.explorer.rule()
        self._clock = np.zeros(1)  # rewards learned
        self._arms = moments.new_moments(len(self.actions))
        self._update_statistics()

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's number and mean of rewards with a 95 % interval, its value and its probability now."""
        time = self._clock[0] + 1.0
        statistics = self._statistics.copy()
        explorer_kernels.fill_probabilities(self._rule, statistics, self._all, time)
        values, probabilities = statistics[rules.ACTION_VALUE], statistics[rules.ACTION_PROBABILITY]
        order = np.argsort(-values, kind="stable")
        shown = [self._explained(index, float(values[index]), float(probabilities[index])) for index in order.tolist()]
        said = f"After {int(time) - 1} rewards {_standing(shown[0], 'leads')}"
        if len(shown) > 1:
            said += f", {_standing(shown[1], 'follows')}"
        if decision is not None:
            chosen, probability, _ = self._checked_decision(decision)
            said = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}. {said}"
        return Explanation(said + ".", tuple(shown))

    def _explained(self, index: int, value: float, probability: float) -> dict[str, Any]:
        n, mean, _ = self._arms[index].tolist()
        half_width = math.sqrt(math.log(2 / 0.05) / (2 * n)) if n else math.inf  # Hoeffding, 95 %
        return {
            "action": self.actions[index],
            "n": int(n),
            "mean": self._reward(mean) if n else math.nan,
            "from": self._reward(max(0.0, mean - half_width)),
            "to": self._reward(min(1.0, mean + half_width)),
            "value": self._reward(value),
            "probability": probability,
        }

    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        return means_kernels.decide(self._rng, self._rule, self._statistics, available, self._clock)

    def _probabilities(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Floats:
        statistics = self._statistics.copy()
        explorer_kernels.fill_probabilities(self._rule, statistics, available, self._clock[0] + 1.0)
        return np.tile(statistics[rules.ACTION_PROBABILITY], (n, 1))

    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        means_kernels.learn(self._arms, self._statistics, self._clock, action, reward)

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        chosen = ChosenActions.empty(n)
        means_kernels.decide_all(self._rng, self._rule, self._statistics, available, self._clock, *chosen)
        return chosen

    def _learn_many(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> None:
        means_kernels.learn_all(self._arms, self._statistics, self._clock, actions, rewards)

    def _play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        chosen = ChosenActions.empty(len(rewards))
        means_kernels.play(self._rng, self._rule, self._arms, self._statistics, self._clock, rewards, *chosen)
        return chosen

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"rng": self._rng, "clock": self._clock, "arms": self._arms}

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        return {**options, "explorer": self.explorer.options()} if "explorer" in options else options

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        return {**options, "explorer": Explorer(**options["explorer"])} if "explorer" in options else options

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        scores: Floats = self._statistics[rules.ACTION_SCORE]
        return scores

    def _grow(self, n: int) -> None:
        self._arms = np.vstack([self._arms, moments.new_moments(n)])
        self._update_statistics()

    def _shrink(self, keep: Sequence[int]) -> None:
        self._arms = self._arms[keep]
        self._update_statistics()

    def _validate_state(self) -> None:
        super()._validate_state()
        moments.validate_rewards(self._arms)
        check_within(self._clock, self._arms[:, moments.COUNT].sum(), MAX_EVENT_COUNT, "the number of rewards")
        self._update_statistics()

    def _update_statistics(self) -> None:
        """Compute the action statistics from the moments."""
        self._statistics = rules.new_action_statistics(len(self.actions))
        tried = self._arms[:, moments.COUNT] > 0
        self._statistics[rules.ACTION_SCORE] = np.where(tried, self._arms[:, moments.MEAN], self._initial_score())
        self._statistics[rules.ACTION_UNCERTAINTY, tried] = 1.0 / np.sqrt(self._arms[tried, moments.COUNT])

    def _initial_score(self) -> float:
        return math.inf if self.initial is None else float(self._unit(self.initial))


def _standing(row: dict[str, Any], verb: str) -> str:
    if math.isfinite(row["value"]):
        return f"{row['action']!r} {verb} with {row['value']:.4g}"
    return f"{row['action']!r} has not been tried yet"
