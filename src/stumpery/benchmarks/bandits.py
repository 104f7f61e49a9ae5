"""Speed of bandits without context: called from Python, and in the compiled loop."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.policies import UCB, EpsilonGreedy, Policy, ThompsonSampling

BANDIT_ACTIONS = range(10)
MEANS = np.linspace(0.1, 0.7, 10)
N_PYTHON = 30_000
N_COMPILED = 1_000_000


def benchmarks() -> Iterator[Benchmark]:
    """One decision at a time against river; the compiled loop against river and a target."""
    pairs: list[tuple[str, type[Policy], str]] = [
        ("epsilon-greedy", EpsilonGreedy, "EpsilonGreedy"),
        ("ucb", UCB, "UCB"),
        ("thompson", ThompsonSampling, "ThompsonSampling"),
    ]
    for name, ours, theirs in pairs:
        yield Benchmark(
            name=f"bandits/{name}/python",
            unit="events/s",
            ours=one_by_one(ours),
            peer=river_one_by_one(theirs),
            peer_name=f"river {theirs}",
            needs="river",
        )
        yield Benchmark(
            name=f"bandits/{name}/compiled",
            unit="events/s",
            ours=compiled(ours),
            peer=river_one_by_one(theirs),
            peer_name=f"river {theirs}",
            needs="river",
        )
    yield Benchmark(
        name="bandits/epsilon-greedy/compiled/target",
        unit="events/s",
        ours=compiled(EpsilonGreedy),
        peer=10e6,
        peer_name="target",
    )


@cache
def rewards(n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Known rewards, the same for all."""
    return (np.random.default_rng(0).random((n, len(MEANS))) < MEANS).astype(np.float64)


def one_by_one(kind: type[Policy]) -> Measure:
    """`decide` and `learn` from Python."""

    def run() -> float:
        policy, table = kind(actions=BANDIT_ACTIONS), rewards(N_PYTHON).tolist()
        start = perf_counter()
        for row in table:
            decision = policy.decide()
            policy.learn(decision, row[decision.action])
        return len(table) / (perf_counter() - start)

    return run


def river_one_by_one(kind: str) -> Measure:
    """The same by river's `pull` and `update`."""

    def run() -> float:
        from river import bandit, proba

        options: dict[str, dict[str, Any]] = {
            "EpsilonGreedy": {"epsilon": 0.1, "seed": 0},
            "UCB": {"delta": 1, "seed": 0},
            "ThompsonSampling": {"reward_obj": proba.Beta(), "seed": 0},
        }
        policy, table = getattr(bandit, kind)(**options[kind]), rewards(N_PYTHON).tolist()
        arms = list(BANDIT_ACTIONS)
        start = perf_counter()
        for row in table:
            arm = policy.pull(arms)
            policy.update(arm, row[arm])
        return len(table) / (perf_counter() - start)

    return run


def compiled(kind: type[Policy]) -> Measure:
    """`play` over known rewards, one thread."""

    def run() -> float:
        policy, table = kind(actions=BANDIT_ACTIONS), rewards(N_COMPILED)
        policy.play(None, table[:100])
        start = perf_counter()
        policy.play(None, table)
        return N_COMPILED / (perf_counter() - start)

    return run
