"""Run the workloads and compare: each figure is a ratio to a peer, or to a stated target, measured in the same run.

A workload is a function that does its work once and gives the events a second (or the seconds) that it took. Ours and
the peer's take turns, so that a noisy machine is noisy for both, and the median of the repeats counts.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

from stumpery.options import check_whole

Measure = Callable[[], float]
GAINS = {"reward"}  # units of which more is better, besides all that are so many a second


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of ours beside a peer's, or beside the target that stands in for one."""

    name: str
    unit: str
    ours: Measure
    peer: Measure | float
    peer_name: str
    needs: str | None = None  # the module without which the peer cannot run
    once: bool = False  # for runs of many seconds: one counts, and none goes before it


def run_benchmarks(*, only: str | None = None, repeats: int = 5) -> Iterator[str]:
    """One JSON line for each figure, with ours / peer as its ratio; a peer that is not installed is null."""
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
    chosen = [figure for figure in figures if only is None or only in figure.name]
    if not chosen:
        raise ValueError(f"no workload's name contains {only!r}; there are {', '.join(f.name for f in figures)}")
    for figure in chosen:
        yield json.dumps(measure(figure, repeats))


def measure(figure: Figure, repeats: int) -> dict[str, str | float | None]:
    """The medians of ours and the peer's runs in turn, after one of each that does not count."""
    peer = figure.peer if callable(figure.peer) and (figure.needs is None or find_spec(figure.needs)) else None
    ours, theirs = [], []
    n_before = 0 if figure.once else 1
    for turn in range(n_before + (1 if figure.once else repeats)):
        ours_now, theirs_now = figure.ours(), peer() if peer else None
        if turn >= n_before:
            ours.append(ours_now)
            if theirs_now is not None:
                theirs.append(theirs_now)
    is_absent = callable(figure.peer) and peer is None
    their_median = median(theirs) if theirs else figure.peer if isinstance(figure.peer, float) else None
    return {
        "name": figure.name,
        "unit": figure.unit,
        "better": "higher" if figure.unit in GAINS or figure.unit.endswith("/s") else "lower",
        "ours": round(median(ours), 6),
        "peer": None if their_median is None else round(their_median, 6),
        "peer_name": f"{figure.peer_name}; {figure.needs} is not installed" if is_absent else figure.peer_name,
        "ratio": None if their_median is None else round(median(ours) / their_median, 3),
    }
