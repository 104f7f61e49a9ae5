"""What a study is: settings in, a table, figures and a picture out."""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from stumpery.evaluation.play import Progress
from stumpery.evaluation.result import Result
from stumpery.options import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parts = MutableMapping[str, Any]  # finished parts of the work, by name


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user may change about a run."""

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
    """A claim of a source, what became of it here, and the numbers that say so."""

    verdict: str  # reproduced, refuted or not testable
    claim: str
    evidence: str


def finding(claim: str, *, holds: bool, evidence: str) -> Finding:
    """A claim that could be tested."""
    return Finding("reproduced" if holds else "refuted", claim, evidence)


def weighed(findings: Iterable[Finding], *, enough: bool) -> tuple[Finding, ...]:
    """The findings as they are, or all of them not testable where the run was not long enough to say."""
    return tuple(entry if enough else entry._replace(verdict="not testable") for entry in findings)


def once(parts: Parts, name: str, n_events: int, progress: Progress, make: Callable[[], Any]) -> Any:
    """A part of the work: made now, with its progress, and kept; or as it was kept, with progress at once."""
    if name in parts:
        progress(n_events)
    else:
        parts[name] = make()
    return parts[name]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a study found: the whole result, a table to print, the claims that it tested, and how to draw it."""

    result: Result
    table: list[dict[str, Any]]
    draw: Callable[[], "Figure"]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """One figure or table of a source, as a command."""

    name: str
    title: str
    source: str
    steps: int
    trials: int
    n_events: Callable[[Settings], int]  # the length of the progress bar
    run: Callable[[Settings, Parts, Progress], Outcome]
