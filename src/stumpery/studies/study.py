"""Records of a study: its settings, its outcome (table, result, findings, plot) and resumable parts."""

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from stumpery.evaluation.events import Progress
from stumpery.evaluation.result import Result
from stumpery.jobs.executor import Advance, Executor
from stumpery.jobs.threads import Threads
from stumpery.options import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parts = MutableMapping[str, Any]  # results of finished parts, by name; see `finished_parts.py`


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run: steps, trials, seed, threads, and the executor that runs the trials, by default threads."""

    steps: int
    trials: int
    seed: int = 0
    threads: int = 2
    executor: Executor | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)
        check_whole("trials", self.trials, 1)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        check_whole("threads", self.threads, 1)

    @property
    def where(self) -> Executor:
        """The executor of the trials."""
        return Threads(self.threads) if self.executor is None else self.executor

    def numbers(self) -> dict[str, int]:
        """The settings as a record."""
        return {name: getattr(self, name) for name in ("steps", "trials", "seed", "threads")}

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to workers: all but the executor."""
        return {**self.__dict__, "executor": None}


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


class Part(NamedTuple):
    """A part of the work: its name, its length in events, and the function that makes its result, given `advance`."""

    name: str
    n_events: int
    make: Callable[[Advance], Any]


def run_parts(wanted: Sequence[Part], settings: Settings, parts: Parts, progress: Progress) -> list[Any]:
    """The results of parts of the work: those that are finished from `parts`, others made by the executor and stored.

    What parts have in common, such as a stream, is best `put` once: `settings.where.put(stream)`.
    """
    missing = [part for part in wanted if part.name not in parts]
    progress(sum(part.n_events for part in wanted) - sum(part.n_events for part in missing))
    for place, result in settings.where.map(made, (part.make for part in missing), progress=progress):
        parts[missing[place].name] = result
    return [parts[part.name] for part in wanted]


def made(make: Callable[[Advance], Any], advance: Advance) -> Any:
    """What a part's function makes."""
    return make(advance)


def counted(n_events: int, make: Callable[[], Any], advance: Advance) -> Any:
    """What a function makes that counts no events itself: all are counted at its end."""
    result = make()
    advance(n_events)
    return result


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
    is_timed: bool = False  # measures time, so its parts run one after the other
