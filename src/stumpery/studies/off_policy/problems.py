"""Logs whose truth is known: finite populations of contexts with the mean reward of every action.

A log's events are drawn from the population with replacement, so they are independent and the value of any policy is an
exact mean over the population. One problem is a `TreeProblem` with a new tree in every repetition, the other Covertype
turned into a bandit: the right class pays 1.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from stumpery.frames import make_frame, open_frame
from stumpery.logs import Log, from_frame
from stumpery.policies import Policy, RandomPolicy, RewardForest, explorers
from stumpery.streams import ClassificationBandit, TreeProblem
from stumpery.streams.transforms import take
from stumpery.studies.contextual.datasets import covertype_columns
from stumpery.types import Floats, Integers

UNIFORM, EPSILON_GREEDY, LEARNING = "uniform", "epsilon-greedy", "learning"
REGIMES = (UNIFORM, EPSILON_GREEDY, LEARNING)
LOGGING_EPSILON, TARGET_EPSILON = 0.2, 0.1
N_TRAINING, N_FEW, N_POPULATION = 1000, 300, 20_000
TREES = TreeProblem(n_columns=6, n_names=0, depth=3, n_actions=4)


class Population(NamedTuple):
    """Contexts, and the mean reward of every action in each."""

    contexts: Any
    expected: Floats
    rewards: Floats

    def at(self, rows: Integers) -> "Population":
        """Some of the events."""
        return Population(take(self.contexts, rows), self.expected[rows], self.rewards[rows])


class LoggingProblem(NamedTuple):
    """A population, events to train on, and the target policy with its true value."""

    population: Population
    training: Population
    target: Policy
    truth: float


class KnownLog(NamedTuple):
    """A log and what is known of it; `logged_value` is None where the logging policy learned."""

    log: Log
    truth: float
    logged_value: float | None
    least_probability: float
    target: Policy


def tree_events(seed: int) -> Population:
    """Events of a random tree."""
    batch = next(TREES.batches(seed=seed, size=N_TRAINING + N_POPULATION))
    assert batch.expected is not None  # noqa: S101 - a TreeProblem knows its means
    columns = {f"x{index}": column for index, column in enumerate(batch.contexts.T)}
    return Population(make_frame(columns), batch.expected, batch.rewards)


def covertype_events(seed: int) -> Population:
    """Rows of Covertype in random order."""
    batch = next(_covertype().batches(seed=seed, size=N_TRAINING + N_POPULATION))
    return Population(batch.contexts, batch.rewards, batch.rewards)


PROBLEMS: dict[str, Callable[[int], Population]] = {"trees": tree_events, "Covertype": covertype_events}


@cache
def _covertype() -> ClassificationBandit:
    return covertype_columns()


@lru_cache(maxsize=2)
def problem(name: str, events_seed: int, policy_seed: int) -> LoggingProblem:
    """The population of a repetition, its target policy and its truth."""
    events = PROBLEMS[name](events_seed)
    training = events.at(np.arange(N_TRAINING))
    population = events.at(np.arange(N_TRAINING, N_TRAINING + N_POPULATION))
    target = trained(training, policy_seed, TARGET_EPSILON)
    return LoggingProblem(population, training, target, value(target, population))


def known_log(name: str, regime: str, n: int, events_seed: int, policy_seed: int) -> KnownLog:
    """A log of `n` events in a regime."""
    population, training, target, truth = problem(name, events_seed, policy_seed)
    rng = np.random.default_rng([events_seed, n, REGIMES.index(regime)])
    events = population.at(rng.integers(0, N_POPULATION, n))
    n_actions = events.expected.shape[1]
    rewards = (rng.random(events.expected.shape) < events.expected).astype(np.float64)
    logger = logging_policy(regime, training, policy_seed)
    if regime == LEARNING:
        actions, probabilities = logger.play(events.contexts, rewards)
    else:
        decided = logger.decide_many(events.contexts)
        actions, probabilities = np.array([int(action) for action in decided.actions]), decided.probabilities
    contexts = open_frame("contexts", events.contexts, "a frame")
    columns = {column: contexts[column].to_list() for column in contexts.columns}
    columns |= {"action": actions.tolist(), "probability": probabilities, "reward": rewards[np.arange(n), actions]}
    log = from_frame(columns, action="action", reward="reward", probability="probability", actions=range(n_actions))
    least = (1.0 if regime == UNIFORM else LOGGING_EPSILON) / n_actions
    return KnownLog(log, truth, None if regime == LEARNING else value(logger, population), least, target)


def value(policy: Policy, population: Population) -> float:
    """The mean reward of a frozen policy over a population."""
    probabilities = policy.probabilities_many(population.contexts)
    return float((probabilities * population.expected).sum(axis=1).mean())


def trained(events: Population, seed: int, epsilon: float) -> Policy:
    """A small forest that has learned some events."""
    forest = RewardForest(
        actions=range(events.expected.shape[1]),
        seed=seed,
        n_trees=8,
        explorer=explorers.greedy(epsilon=epsilon, floor=epsilon),
    )
    forest.play(events.contexts, events.rewards)
    return forest


def logging_policy(regime: str, training: Population, seed: int) -> Policy:
    """The policy that logs; none of them knows all that the target knows."""
    if regime == UNIFORM:
        return RandomPolicy(actions=range(training.expected.shape[1]), seed=seed + 1)
    return trained(training.at(np.arange(1 if regime == LEARNING else N_FEW)), seed + 1, LOGGING_EPSILON)
