"""Slow, obvious twins of the context-free policies: from a history of (action, reward) pairs, by the definitions."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

History = Sequence[tuple[int, float]]
Probabilities = list[float]


def rewards_of(history: History, action: int) -> list[float]:
    return [reward for played, reward in history if played == action]


def values(history: History, n_actions: int, initial: float, rho: float = 0.0) -> list[float]:
    """Q0 until pulled, then the mean plus sqrt(rho log t / n); t counts the coming round."""
    time = len(history) + 1
    found = []
    for action in range(n_actions):
        rewards = rewards_of(history, action)
        bonus = math.sqrt(rho * math.log(time) / len(rewards)) if rewards else 0.0
        found.append(sum(rewards) / len(rewards) + bonus if rewards else initial)
    return found


def greedy(values: Sequence[float], available: Iterable[int]) -> Probabilities:
    """All of the probability on the highest value; ties share it."""
    candidates = list(available)
    best = max(values[action] for action in candidates)
    winners = [action for action in candidates if math.isclose(values[action], best, rel_tol=1e-12)]
    return [1 / len(winners) if action in winners else 0.0 for action in range(len(values))]


def inverse_gap(values: Sequence[float], available: Iterable[int], sharpness: float) -> Probabilities:
    """1 / (K + sharpness * gap) each, and to the best what is left; an infinite gap leaves nothing."""
    candidates = list(available)
    winners = [action for action, probability in enumerate(greedy(values, candidates)) if probability > 0]
    best = values[winners[0]]
    probabilities = [0.0] * len(values)
    for action in set(candidates) - set(winners):
        gap = best - values[action]
        probabilities[action] = 0.0 if math.isinf(gap) else 1 / (len(candidates) + sharpness * gap)
    for action in winners:
        probabilities[action] = (1 - sum(probabilities[other] for other in candidates if other not in winners)) / len(
            winners
        )
    return probabilities


def with_epsilon(probabilities: Probabilities, available: Iterable[int], epsilon: float) -> Probabilities:
    """With probability epsilon any available action, else as before."""
    candidates = list(available)
    return [
        (1 - epsilon) * probability + (epsilon / len(candidates) if action in candidates else 0.0)
        for action, probability in enumerate(probabilities)
    ]


def epsilon_at(epsilon: float, decay: float, floor: float, time: float) -> float:
    return max(epsilon / time**decay, floor)


def beta_draws(
    counts: Sequence[float], means: Sequence[float], prior: tuple[float, float], n: int, seed: int
) -> NDArray[np.float64]:
    """Rows of draws from every Beta posterior: a mean m of c rewards is c m successes and c (1 - m) failures."""
    c, m = np.array(counts), np.array(means)
    return np.random.default_rng(seed).beta(prior[0] + c * m, prior[1] + c * (1 - m), size=(n, len(c)))


def normal_draws(
    counts: Sequence[float], means: Sequence[float], prior: tuple[float, float], sd: float, n: int, seed: int
) -> NDArray[np.float64]:
    """Rows of draws from every normal posterior; the prior counts as that many rewards of 1 and of 0."""
    c, m = np.array(counts), np.array(means)
    weight = c + sum(prior)
    return np.random.default_rng(seed).normal((prior[0] + c * m) / weight, sd / np.sqrt(weight), size=(n, len(c)))


def thompson(draws: NDArray[np.float64]) -> Probabilities:
    """How often each action has the largest draw."""
    return (np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)).tolist()


def bound(n_actions: int, plays: int, delta: float) -> float:
    """The right-hand side of equation (2)."""
    return 2 * math.sqrt(1 / (2 * plays) * math.log(4 * n_actions * plays**2 / delta))


class SuccessiveElimination:
    """Algorithm 3 with equation (2): round robin over A; t_k is the smallest count over A, tested when it rises."""

    def __init__(self, actions: Sequence[Any], epsilon: float, delta: float) -> None:
        self.actions = list(actions)
        self.remaining = list(actions)
        self.rewards: dict[Any, list[float]] = {action: [] for action in actions}
        self.epsilon, self.delta = epsilon, delta
        self.turn = self.actions[0]
        self.tested = 0

    def decide(self) -> Any:
        """The first remaining action from the turn on; the turn goes to the next of all actions."""
        place = self.actions.index(self.turn)
        in_order = self.actions[place:] + self.actions[:place]
        chosen = next(action for action in in_order if action in self.remaining)
        self.turn = self._after(chosen)
        return chosen

    def learn(self, action: Any, reward: float) -> None:
        self.rewards[action].append(reward)
        plays = min(len(self.rewards[action]) for action in self.remaining)
        if action in self.remaining and plays > self.tested:
            self.tested = plays
            self._test(plays)

    def add(self, action: Any) -> None:
        self.actions.append(action)
        self.remaining.append(action)
        self.rewards[action] = []
        self.tested = 0

    def remove(self, action: Any) -> None:
        if self.turn == action:
            self.turn = self._after(action)
        self.actions.remove(action)
        self.remaining = [other for other in self.remaining if other != action] or list(self.actions)
        self.tested = 0

    def _after(self, action: Any) -> Any:
        return self.actions[(self.actions.index(action) + 1) % len(self.actions)]

    def _test(self, plays: int) -> None:
        means = {action: sum(self.rewards[action]) / len(self.rewards[action]) for action in self.remaining}
        best = max(self.remaining, key=lambda action: means[action])
        needed = bound(len(self.actions), plays, self.delta)
        self.remaining = [
            action for action in self.remaining if action == best or means[best] - means[action] + self.epsilon < needed
        ]
