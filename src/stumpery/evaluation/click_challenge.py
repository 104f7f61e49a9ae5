"""The click challenge: batches of candidates, one pick each, and the click on the picked one alone.

The protocol of the Exploration and Exploitation Challenge 2011. The score is the number of clicks; what a random pick
and one that knows all clicks would have scored is counted beside it, exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.clicks.content_selector import ContentSelector
from stumpery.evaluation.regret import band
from stumpery.evaluation.result import Result
from stumpery.options import check_one_of, check_whole
from stumpery.streams.click_log import ClickRows
from stumpery.system.extras import need
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_POINTS = 100
SMOOTHING = 1.0 / 20_000.0  # of the click rate, by batch
RANDOM, PERFECT, BEST_PROBABILITY = "Random", "Perfect", "best probability"
Curves = dict[str, Any]  # of one player in one trial: plain values, as they are kept between runs


@dataclass(frozen=True, eq=False, repr=False)
class ChallengeResult(Result):
    """Clicks of several players over the same trials; each array has a row per trial, a column per checkpoint."""

    checkpoints: Integers
    clicks: Mapping[str, Floats]
    rates: Mapping[str, Floats]  # clicks a batch, smoothed
    seconds: Mapping[str, Floats]  # of processor time for deciding and learning, a number per trial
    n_bytes: Mapping[str, int]

    def columns(self) -> dict[str, Any]:
        """A row for each player and checkpoint: means over trials, the accumulated clicks with their 95 % interval."""
        table: dict[str, list[Any]] = {"player": [], "batch": []}
        for name in self.clicks:
            table["player"] += [name] * len(self.checkpoints)
            table["batch"] += self.checkpoints.tolist()
        for place, part in enumerate(("", "_low", "_high")):
            table[f"clicks{part}"] = np.concatenate([band(each)[place] for each in self.clicks.values()]).tolist()
        table["click_rate"] = np.concatenate([each.mean(axis=0) for each in self.rates.values()]).tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each player, fewest clicks first: score, ratio to Random with its interval, time and memory."""
        n_batches = int(self.checkpoints[-1])
        table = []
        for name, clicks in self.clicks.items():
            ratio, low, high = (float(each) for each in self.ratio(name))
            table.append(
                {
                    "player": name,
                    "score": float(clicks[:, -1].mean()),
                    "ratio_to_random": ratio,
                    "low": low,
                    "high": high,
                    "us_per_batch": 1e6 * float(np.median(self.seconds[name])) / n_batches,
                    "bytes": self.n_bytes[name],
                }
            )
        return sorted(table, key=lambda row: row["score"])

    def ratio(self, name: str, other: str = RANDOM) -> tuple[float, float, float]:
        """A player's clicks beside another's, with a 95 % interval: over trials, or of one trial's counts of clicks.

        What Random earns is an exact mean and adds nothing to the interval.
        """
        mine, theirs = self.clicks[name][:, -1], np.maximum(self.clicks[other][:, -1], 1e-9)
        ratios = mine / theirs
        if len(ratios) > 1:
            mean, low, high = (float(each[0]) for each in band(ratios[:, np.newaxis]))
            return mean, low, high
        ratio = float(ratios[0])
        noise = sum(1.0 / max(float(clicks), 1.0) for clicks in (mine[0], theirs[0])[: 1 if other == RANDOM else 2])
        reach = 0.0 if name == RANDOM else 1.96 * max(ratio, 1.0 / float(theirs[0])) * float(np.sqrt(noise))
        return ratio, ratio - reach, ratio + reach

    def plot(self, ax: "Axes | None" = None, *, rate: bool = False) -> "Axes":
        """Accumulated clicks, or the smoothed click rate, against the batch."""
        ax = ax or need("matplotlib.pyplot", "study").subplots()[1]
        for name, curves in (self.rates if rate else self.clicks).items():
            if name != PERFECT:
                style = "--" if name in (RANDOM, BEST_PROBABILITY) else "-"
                ax.plot(self.checkpoints, curves.mean(axis=0), style, label=name)
        ax.set(xlabel="batch", ylabel="clicks per batch, smoothed" if rate else "cumulative clicks")
        ax.legend()
        return ax


def checkpoints_of(n_batches: int) -> Integers:
    """After which batches curves have a point."""
    points = np.unique(np.linspace(0, n_batches, N_POINTS + 1).astype(np.int64))
    return points[points > 0]


def play_challenge(
    players: Mapping[str, ContentSelector],
    blocks: Iterator[ClickRows],
    *,
    n_batches: int,
    size: int = 6,
    freeze: Mapping[str, int] | None = None,
) -> dict[str, Curves]:
    """Let players pick from the same batches; those that `freeze` names stop learning after so many.

    Blocks are runs of whole batches of encoded rows; a last one that is cut short is played as far as it goes. Beside
    the players, `Random`, `Perfect` and, where probabilities are known, the pick of the best probability get curves.
    """
    check_whole("n_batches", n_batches, 1)
    check_whole("size", size, 1)
    for name in freeze or {}:
        check_one_of("a frozen player", name, players)
    points = set(checkpoints_of(n_batches).tolist())
    known = {name: _Player(player, (freeze or {}).get(name, n_batches)) for name, player in players.items()}
    beside = {name: _Curve() for name in (RANDOM, PERFECT, BEST_PROBABILITY)}
    for name in beside.keys() & known.keys():
        raise ValueError(f"a player is called {name!r}; that is the name of a curve beside the players'")
    predicts_probabilities = False
    done = 0
    while done < n_batches:
        block = next(blocks, None)
        if block is None:
            raise ValueError(f"the blocks end after {done} batches; there must be {n_batches}")
        n = min(len(block.matrix) // size, n_batches - done)
        if n == 0:
            raise ValueError(f"a block has {len(block.matrix)} rows; it must have at least the {size} of a batch")
        rows = block.matrix[: n * size].reshape(n, size, -1)
        clicks = block.clicks[: n * size].reshape(n, size)
        predicts_probabilities = bool(np.isfinite(block.probabilities).all())
        probabilities = block.probabilities[: n * size].reshape(n, size) if predicts_probabilities else clicks
        picked = clicks[np.arange(n), probabilities.argmax(axis=1)]
        for name, earned in (
            (RANDOM, probabilities.mean(axis=1)),
            (PERFECT, clicks.max(axis=1)),
            (BEST_PROBABILITY, picked),
        ):
            beside[name].add(earned.tolist(), done, points)
        for each in known.values():
            each.play(rows, clicks, done, points)
        done += n
    if not predicts_probabilities:
        del beside[BEST_PROBABILITY]
    found = {name: {**curve.plain(), "seconds": 0.0, "n_bytes": 0} for name, curve in beside.items()}
    return found | {name: each.plain() for name, each in known.items()}


def result_of(trials: list[dict[str, Curves]], n_batches: int) -> ChallengeResult:
    """Several trials' curves as one result."""
    names = list(trials[0])

    def stacked(what: str) -> dict[str, Floats]:
        return {name: np.array([trial[name][what] for trial in trials], dtype=np.float64) for name in names}

    n_bytes = {name: max(int(trial[name]["n_bytes"]) for trial in trials) for name in names}
    return ChallengeResult(checkpoints_of(n_batches), stacked("clicks"), stacked("rates"), stacked("seconds"), n_bytes)


class _Curve:
    """Clicks so far and their smoothed rate, at the checkpoints."""

    def __init__(self) -> None:
        self.clicks: list[float] = []
        self.rates: list[float] = []
        self.total = self.rate = self.weight = 0.0

    def add(self, earned: list[float], done: int, points: set[int]) -> None:
        for batch, click in enumerate(earned, done + 1):
            self.total += click
            self.rate += SMOOTHING * (click - self.rate)
            self.weight += SMOOTHING * (1.0 - self.weight)  # the smoothed rate of a click a batch
            if batch in points:
                self.clicks.append(self.total)
                self.rates.append(self.rate / self.weight)

    def plain(self) -> Curves:
        return {"clicks": self.clicks, "rates": self.rates}


class _Player:
    """One selector and its curve."""

    def __init__(self, selector: ContentSelector, learns_until: int) -> None:
        self.selector, self.learns_until = selector, learns_until
        self.curve = _Curve()
        self.seconds = 0.0

    def play(self, rows: Floats, clicks: Integers, done: int, points: set[int]) -> None:
        earned = []
        pick, learn = self.selector.pick_row, self.selector.learn_row
        start = thread_time()
        for batch in range(len(rows)):
            place = pick(rows[batch])
            click = int(clicks[batch, place])
            if done + batch < self.learns_until:
                learn(rows[batch, place], click)
            earned.append(float(click))
        self.seconds += thread_time() - start
        self.curve.add(earned, done, points)

    def plain(self) -> Curves:
        return {**self.curve.plain(), "seconds": self.seconds, "n_bytes": self.selector.n_bytes}
