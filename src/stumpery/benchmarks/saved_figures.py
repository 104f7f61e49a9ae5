"""Saved figures of benchmarks, a file for each machine, and which of them have moved since.

A figure is compared by its ratio to the peer where the peer ran in both, as what else a machine does slows down both.
It has moved if every run now lies beyond every run then: of 5 and 5 runs of the same speed, one pair in 126 does.
"""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.evaluation.result import json_text
from stumpery.system.folders import cache_root
from stumpery.system.machine import machine_description
from stumpery.system.writing import write_whole

MIN_RUNS = 4  # fewer tell nothing about noise
Line = dict[str, Any]  # of a benchmark, as `run_benchmarks` prints it
Figures = dict[str, Line]


def path_of_machine(folder: Path | None = None) -> Path:
    """The file with this machine's figures, in `folder` or in the user's cache folder."""
    name = re.sub(r"[^a-z0-9]+", "-", machine_description().lower()).strip("-")
    return (folder or cache_root() / "benchmarks") / f"{name}.json"


def load_figures(path: Path) -> Figures:
    """The figures saved in a file."""
    if not path.is_file():
        raise InvalidInput(f"there are no saved figures of this machine at {path}; stumpery bench --save saves them")
    try:
        lines = json.loads(path.read_text(encoding="utf-8"))["figures"]
        is_whole = all(map(_is_whole, lines))
    except (ValueError, LookupError, TypeError):
        is_whole = False
    if not is_whole:
        raise CorruptFile(f"corrupt file: {path} has no figures of benchmarks")
    return {line["name"]: line for line in lines}


def save_figures(path: Path, lines: Iterable[Line]) -> None:
    """Save figures; those of benchmarks that were not run now stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = load_figures(path) if path.is_file() else {}
    measured = datetime.now(UTC).strftime("%Y-%m-%d")
    kept |= {line["name"]: {**line, "measured": measured} for line in lines}
    content = {"machine": machine_description(), "figures": list(kept.values())}
    write_whole(path, json_text(content).encode())


def compare_figures(then: Figures, now: Iterable[Line]) -> list[Line]:
    """A row for each figure: before, now, how much better or worse, the noise, and whether it moved by more."""
    rows = [_row(then.get(line["name"]), line) for line in now]
    return sorted(rows, key=lambda row: row["verdict"] not in ("better", "worse"))


def _row(then: Line | None, now: Line) -> Line:
    row = {"figure": now["name"], "unit": now["unit"], "before": None, "now": now["ours"]}
    if then is None:
        return {**row, "compared": "", "change_%": None, "noise_%": None, "verdict": "not saved before"}
    by_peer = then["peer_name"] == now["peer_name"] and all(
        line["peer_runs"] and all(line["peer_runs"]) for line in (then, now)
    )
    old, new = (_values(line, by_peer=by_peer) for line in (then, now))
    scale = 100 / (abs(median(old)) or 1)
    return {
        **row,
        "before": then["ours"],
        "compared": f"ratio to {now['peer_name']}" if by_peer else "ours",
        "change_%": scale * (median(new) - median(old)),
        "noise_%": scale * max((max(runs) - min(runs)) / 2 for runs in (old, new)),
        "verdict": _verdict(old, new, higher_is_better=now["better"] == "higher"),
    }


def _values(line: Line, *, by_peer: bool) -> list[float]:
    runs: list[float] = line["runs"]
    return [ours / peer for ours, peer in zip(runs, line["peer_runs"], strict=True)] if by_peer else runs


def _verdict(old: list[float], new: list[float], *, higher_is_better: bool) -> str:
    if min(len(old), len(new)) < MIN_RUNS:
        return f"unknown: fewer than {MIN_RUNS} runs"
    if min(new) > max(old):
        return "better" if higher_is_better else "worse"
    if max(new) < min(old):
        return "worse" if higher_is_better else "better"
    return "within noise"


def _is_whole(line: Any) -> bool:
    """Whether a line of a file has all that is compared."""
    texts = [line[key] for key in ("name", "unit", "better", "peer_name")]
    runs, peer_runs = line["runs"], line["peer_runs"]
    numbers = (line["ours"], *runs, *peer_runs)
    are_kinds = all(isinstance(text, str) for text in texts) and all(isinstance(each, int | float) for each in numbers)
    return are_kinds and bool(runs) and len(peer_runs) in (0, len(runs))
