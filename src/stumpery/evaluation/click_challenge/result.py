"""Result of the click challenge: cumulative clicks and click rates of several players, and their ratios."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.intervals import Z, mean_and_interval
from stumpery.evaluation.result import Result, new_axes
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_CURVE_POINTS = 100
RANDOM, PERFECT, BEST_PROBABILITY = "Random", "Perfect", "best probability"  # baselines beside the players
Curves = dict[str, Any]  # of one player in one trial: plain values, so that they can be kept as JSON


@dataclass(frozen=True, eq=False, repr=False)
class ChallengeResult(Result):
    """Clicks of several players over the same trials of the click challenge.

    Arrays have a row per trial and a column per checkpoint.

    Args:
        checkpoints: Numbers of batches after which the curves have a point.
        clicks: Cumulative clicks by player.
        rates: Clicks per batch by player, exponentially smoothed over about 20,000 batches.
        seconds: Processor time of deciding and learning by player, a number per trial.
        n_bytes: Memory by player, the maximum over trials; 0 for baselines.

    >>> curves = {"clicks": [1.0, 4.0], "rates": [0.5, 0.5], "seconds": 0.1, "n_bytes": 0}
    >>> better = {**curves, "clicks": [3.0, 8.0]}
    >>> combine_trials([{"Random": curves, "mine": better}], n_batches=2).ratio("mine")[0]
    2.0
    """

    checkpoints: Integers
    clicks: Mapping[str, Floats]
    rates: Mapping[str, Floats]
    seconds: Mapping[str, Floats]
    n_bytes: Mapping[str, int]

    def columns(self) -> dict[str, Any]:
        """A row for each player and checkpoint: means over trials, cumulative clicks with their 95 % interval."""
        table: dict[str, list[Any]] = {"player": [], "batch": []}
        for name in self.clicks:
            table["player"] += [name] * len(self.checkpoints)
            table["batch"] += self.checkpoints.tolist()
        for index, suffix in enumerate(("", "_low", "_high")):
            columns = [mean_and_interval(curves)[index] for curves in self.clicks.values()]
            table[f"clicks{suffix}"] = np.concatenate(columns).tolist()
        table["click_rate"] = np.concatenate([curves.mean(axis=0) for curves in self.rates.values()]).tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each player, fewest clicks first: score, ratio to Random with its interval, time and memory."""
        n_batches = int(self.checkpoints[-1])
        table = []
        for name, clicks in self.clicks.items():
            ratio, low, high = self.ratio(name)
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
        """Ratio of a player's clicks to another's, with a 95 % interval: over trials, or Poisson's of a single trial.

        The clicks of Random are an exact expectation and add nothing to the interval.
        """
        mine, theirs = self.clicks[name][:, -1], np.maximum(self.clicks[other][:, -1], 1e-9)
        ratios = mine / theirs
        if len(ratios) > 1:
            mean, low, high = (float(end[0]) for end in mean_and_interval(ratios[:, np.newaxis]))
            return mean, low, high
        ratio = float(ratios[0])
        counts = (mine[0], theirs[0])[: 1 if other == RANDOM else 2]
        variance = sum(1.0 / max(float(clicks), 1.0) for clicks in counts)
        half_width = 0.0 if name == RANDOM else Z * max(ratio, 1.0 / float(theirs[0])) * float(np.sqrt(variance))
        return ratio, ratio - half_width, ratio + half_width

    def plot(self, ax: "Axes | None" = None, *, rate: bool = False) -> "Axes":
        """Plot cumulative clicks, or the smoothed click rate, by batch."""
        ax = ax or new_axes()
        for name, curves in (self.rates if rate else self.clicks).items():
            if name != PERFECT:
                style = "--" if name in (RANDOM, BEST_PROBABILITY) else "-"
                ax.plot(self.checkpoints, curves.mean(axis=0), style, label=name)
        ax.set(xlabel="batch", ylabel="clicks per batch, smoothed" if rate else "cumulative clicks")
        ax.legend()
        return ax


def checkpoints_of(n_batches: int) -> Integers:
    """Numbers of batches after which curves have a point."""
    points = np.unique(np.linspace(0, n_batches, N_CURVE_POINTS + 1).astype(np.int64))
    return points[points > 0]


def combine_trials(trials: list[dict[str, Curves]], n_batches: int) -> ChallengeResult:
    """The curves of several trials as one result.

    Args:
        trials: The curves of each player by name, a dict for each trial.
        n_batches: Number of batches that each trial played.
    """
    names = list(trials[0])

    def stacked(what: str) -> dict[str, Floats]:
        return {name: np.array([trial[name][what] for trial in trials], dtype=np.float64) for name in names}

    n_bytes = {name: max(int(trial[name]["n_bytes"]) for trial in trials) for name in names}
    return ChallengeResult(checkpoints_of(n_batches), stacked("clicks"), stacked("rates"), stacked("seconds"), n_bytes)
