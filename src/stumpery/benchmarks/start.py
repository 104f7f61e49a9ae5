"""Start-up time: command-line help, and the first decision of a new process."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter

from stumpery.benchmarks.runner import Benchmark, Measure

FIRST_ANSWER = """
import stumpery as st
policy = st.UCB(actions=["a", "b"])
policy.learn(policy.decide(), reward=1.0)
"""
RIVER_FIRST_ANSWER = """
from river import bandit
policy = bandit.UCB(delta=1, seed=0)
policy.update(policy.pull([0, 1]), 1.0)
"""

FIRST_CONTEXTUAL_ANSWER = """
import numpy as np
import stumpery as st
policy = st.policies.{}(actions=["a", "b"])
policy.learn(policy.decide(np.array([0.0, 1.0, 1.0])), reward=1.0)
"""
CONTEXTUAL = ("RewardForest", "BanditForest", "LinUCB", "LinearThompson", "Banditron", "NeuralBandit")
MAX_COLD_S, MAX_WARM_S = 12.0, 1.2


def benchmarks() -> Iterator[Benchmark]:
    """Help of the command line, and first decisions of a new process; cold means without compiled kernels."""
    yield Benchmark(
        name="start/help",
        unit="s",
        ours=process("-m", "stumpery", "--help"),
        peer=0.5,
        peer_name="target",
    )
    yield Benchmark(
        name="start/first-decision",
        unit="s",
        ours=process("-c", FIRST_ANSWER),
        peer=process("-c", RIVER_FIRST_ANSWER),
        peer_name="river UCB",
        needs="river",
    )
    for policy in CONTEXTUAL:
        script = FIRST_CONTEXTUAL_ANSWER.format(policy)
        yield Benchmark(
            name=f"start/cold/{policy}",
            unit="s",
            ours=cold("-c", script),
            peer=MAX_COLD_S,
            peer_name="target",
            is_slow=True,
        )
        yield Benchmark(
            name=f"start/warm/{policy}",
            unit="s",
            ours=process("-c", script),
            peer=MAX_WARM_S,
            peer_name="target",
        )


def cold(*arguments: str) -> Measure:
    """The wall time of a new Python that finds nothing compiled."""

    def run() -> float:
        with tempfile.TemporaryDirectory() as folder:
            return process(*arguments, STUMPERY_CACHE=folder)()

    return run


def process(*arguments: str, **environment: str) -> Measure:
    """The wall time of a new Python."""

    def run() -> float:
        start = perf_counter()
        subprocess.run(
            [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ | environment
        )
        return perf_counter() - start

    return run
