"""Records of a study: its settings, its outcome (table, result, findings, plot) and resumable parts."""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from stumpery.evaluation.events import Progress
from stumpery.evaluation.result import Result
from stumpery.options import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parts = MutableMapping[str, Any]  # results of finished parts, by name; see `finished_parts.py`


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run: steps, trials, seed and threads."""

    steps: int
    trials: int
    seed: int = 0
    threads: int = 2

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)
        check_whole("trials", self.trials, 1)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        check_whole("threads", self.threads, 1)


class Finding(NamedTuple):
    """A claim of a source, whether it was reproduced, and the evidence."""

    verdict: str  # reproduced, refuted or not testable
    claim: str
    evidence: str


def finding(claim: str, *, holds: bool, evidence: str) -> Finding:
    """The finding for a claim that could be tested."""
    return Finding("reproduced" if holds else "refuted", claim, evidence)


def verdicts(findings: Iterable[Finding], *, enough: bool) -> tuple[Finding, ...]:
    """The findings, or all of them as not testable if the run was not long enough."""
    return tuple(entry if enough else entry._replace(verdict="not testable") for entry in findings)


def load_or_run(parts: Parts, name: str, n_events: int, progress: Progress, make: Callable[[], Any]) -> Any:
    """The result of a part of the work: loaded from `parts` if it is finished, else made and stored."""
    if name in parts:
        progress(n_events)
    else:
        parts[name] = make()
    return parts[name]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a study: the full result, a table to print, the tested claims, and a function that plots it."""

    result: Result
    table: list[dict[str, Any]]
    draw: Callable[[], "Figure"]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study: one figure or table of a source, as a command."""

    name: str
    title: str
    source: str
    steps: int
    trials: int
    n_events: Callable[[Settings], int]  # length of the progress bar
    run: Callable[[Settings, Parts, Progress], Outcome]
