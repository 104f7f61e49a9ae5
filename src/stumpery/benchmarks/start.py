"""How long a user waits for the first answer."""

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from stumpery.benchmarks.runner import Figure, Measure

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


def figures() -> Iterator[Figure]:
    """The command line's help, and a new process's first decision."""
    yield Figure(
        name="start/help",
        unit="s",
        ours=process("-m", "stumpery", "--help"),
        peer=0.5,
        peer_name="target",
    )
    yield Figure(
        name="start/first-decision",
        unit="s",
        ours=process("-c", FIRST_ANSWER),
        peer=process("-c", RIVER_FIRST_ANSWER),
        peer_name="river UCB",
        needs="river",
    )


def process(*arguments: str) -> Measure:
    """The wall time of a new Python."""

    def run() -> float:
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - start

    return run
