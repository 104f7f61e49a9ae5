"""Runner of benchmarks: each figure is a ratio to a peer library or a target, measured in the same run.

A workload is a function that runs once and returns its speed, time, memory or error. Ours and the peer's alternate, so
that noise of the machine affects both, and the median of the repeats counts.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

from stumpery.errors import InvalidInput
from stumpery.options import check_whole

Measure = Callable[[], float]
HIGHER_IS_BETTER = {"reward"}  # units, besides all rates per second


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A benchmark: our workload, and a peer's workload or a target value."""

    name: str
    unit: str
    ours: Measure
    peer: Measure | float
    peer_name: str
    needs: str | None = None  # module that the peer requires
    is_slow: bool = False  # run once, without a warm-up run


def run_benchmarks(*, only: str | None = None, repeats: int = 5) -> Iterator[str]:
    """Yield a JSON line for each figure; `ratio` is ours / peer, null if the peer is not installed."""
    from stumpery.benchmarks import (
        bandits,
        classification,
        clicks,
        contextual,
        encoding,
        reinforcement,
        selection,
        start,
    )

    check_whole("repeats", repeats, 1)
    modules = (bandits, contextual, clicks, selection, classification, reinforcement, encoding, start)
    figures = [figure for module in modules for figure in module.figures()]
    selected = [figure for figure in figures if only is None or only in figure.name]
    if not selected:
        raise InvalidInput(f"no benchmark's name contains {only!r}; there are {', '.join(f.name for f in figures)}")
    for figure in selected:
        yield json.dumps(measure(figure, repeats))


def measure(figure: Figure, repeats: int) -> dict[str, str | float | None]:
    """The medians of alternating runs of ours and the peer, after a warm-up run of each."""
    peer = figure.peer if callable(figure.peer) and (figure.needs is None or find_spec(figure.needs)) else None
    ours, theirs = [], []
    n_warm_up = 0 if figure.is_slow else 1
    for turn in range(n_warm_up + (1 if figure.is_slow else repeats)):
        our_value, peer_value = figure.ours(), peer() if peer else None
        if turn >= n_warm_up:
            ours.append(our_value)
            if peer_value is not None:
                theirs.append(peer_value)
    is_absent = callable(figure.peer) and peer is None
    peer_median = median(theirs) if theirs else figure.peer if isinstance(figure.peer, float) else None
    return {
        "name": figure.name,
        "unit": figure.unit,
        "better": "higher" if figure.unit in HIGHER_IS_BETTER or figure.unit.endswith("/s") else "lower",
        "ours": round(median(ours), 6),
        "peer": None if peer_median is None else round(peer_median, 6),
        "peer_name": f"{figure.peer_name}; {figure.needs} is not installed" if is_absent else figure.peer_name,
        "ratio": None if peer_median is None else round(median(ours) / peer_median, 3),
    }
