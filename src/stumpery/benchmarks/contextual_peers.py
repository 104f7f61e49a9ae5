"""Contextual policies of peer libraries on the same rows, called from Python, rows in the format of each."""

import random
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from stumpery.benchmarks import covertype
from stumpery.benchmarks.covertype import ACTIONS
from stumpery.benchmarks.runner import Measure
from stumpery.streams import Catalogue
from stumpery.system.extras import need
from stumpery.types import Batch

VW_OPTIONS = f"--cb_explore {len(ACTIONS)} --squarecb -q ::"
VW_ADF_OPTIONS = "--cb_explore_adf --squarecb -q UA"
MABWISER_BATCH = 100
N_RIVER_EVENTS = 1_000


def vowpal_wabbit(rows: Callable[[int], Batch], n: int) -> Measure:
    """Vowpal Wabbit: predict from a line of text, draw, and learn from the labelled line."""

    def run() -> float:
        model = need("vowpalwabbit", "bench").Workspace(f"{VW_OPTIONS} --quiet")
        lines, rewards, draw = text_lines(rows, n), rows(n).rewards.tolist(), random.Random(0)  # noqa: S311 - no secret
        actions = range(len(ACTIONS))
        start = perf_counter()
        for line, row in zip(lines, rewards, strict=True):
            probabilities = model.predict(line)
            (action,) = draw.choices(actions, probabilities)
            model.learn(f"{action + 1}:{1.0 - row[action]}:{probabilities[action]} {line}")
        speed = n / (perf_counter() - start)
        model.finish()
        return speed

    return run


def vowpal_wabbit_adf(stream: Catalogue, n: int) -> tuple[float, float]:
    """Vowpal Wabbit with action features: events per second, and the mean probability of a reward."""
    model = need("vowpalwabbit", "bench").Workspace(f"{VW_ADF_OPTIONS} --quiet")
    contexts, rewards, expected = next(stream.batches(seed=0, size=n))
    assert expected is not None  # noqa: S101 - a catalogue knows
    articles = [
        f"|A id={article} {features['topic'].replace(' ', '_')} price:{features['price']}"
        for article, features in stream.features.items()
    ]
    readers = [
        f"shared |U {row['segment']} age:{row['age'] / 80} decade={row['age'] // 10} hour={row['hour']}"
        for row in contexts.to_dicts()
    ]
    draw, earned = random.Random(0), 0.0  # noqa: S311 - no secret
    start = perf_counter()
    for event, reader in enumerate(readers):
        probabilities = model.predict([reader, *articles])
        (chosen,) = draw.choices(stream.actions, probabilities)
        label = f"0:{1.0 - rewards[event, chosen]}:{probabilities[chosen]} {articles[chosen]}"
        model.learn([reader, *articles[:chosen], label, *articles[chosen + 1 :]])
        earned += expected[event, chosen]
    speed = n / (perf_counter() - start)
    model.finish()
    return speed, earned / n


@cache
def text_lines(rows: Callable[[int], Batch], n: int) -> list[str]:
    """Rows in Vowpal Wabbit's own format: bits that are set, numbers with their values, names as they are."""
    contexts = rows(n).contexts
    if isinstance(contexts, np.ndarray):
        return ["| " + " ".join(f"b{bit}" for bit in np.flatnonzero(row)) for row in contexts]
    return [
        "| "
        + " ".join(
            f"{key}={value.replace(' ', '_')}" if isinstance(value, str) else f"{key}:{value}"
            for key, value in row.items()
        )
        for row in contexts.to_dicts()
    ]


def mabwiser_linucb(n: int) -> Measure:
    """MABWiser: predict a batch, then learn it, which is much faster than single rows."""

    def run() -> float:
        mab = need("mabwiser.mab", "bench")
        contexts, rewards, _ = covertype.standardised(n)
        model = mab.MAB(list(range(len(ACTIONS))), mab.LearningPolicy.LinUCB(alpha=0.25))
        first = np.arange(MABWISER_BATCH) % len(ACTIONS)
        model.fit(first, rewards[np.arange(MABWISER_BATCH), first], contexts[:MABWISER_BATCH])
        start = perf_counter()
        for begin in range(0, n, MABWISER_BATCH):
            batch = contexts[begin : begin + MABWISER_BATCH]
            chosen = np.array(model.predict(batch))
            model.partial_fit(chosen, rewards[np.arange(begin, begin + len(batch)), chosen], batch)
        return n / (perf_counter() - start)

    return run


def river_linucb(n: int) -> Measure:
    """river: `pull` and `update`, one row at a time."""

    def run() -> float:
        model: Any = need("river.bandit", "bench").LinUCBDisjoint(seed=0)
        contexts, rewards, _ = covertype.standardised(n)
        dicts = [dict(enumerate(row)) for row in contexts.tolist()]
        arms = list(range(len(ACTIONS)))
        start = perf_counter()
        for row, paid in zip(dicts, rewards.tolist(), strict=True):
            arm = model.pull(arms, context=row)
            model.update(arm, row, paid[arm])
        return n / (perf_counter() - start)

    return run
