"""Protocol of the click challenge: batches of candidates, one pick each, and the click on the picked one alone.

It is that of the Exploration and Exploitation Challenge 2011. The score is the number of clicks; those of a random pick
and of a pick that knows all clicks are counted beside it, exactly.
"""

from collections.abc import Iterator, Mapping
from time import thread_time

import numpy as np

from stumpery.clicks.content_selector import ContentSelector
from stumpery.errors import InvalidInput
from stumpery.evaluation.click_challenge.result import BEST_PROBABILITY, PERFECT, RANDOM, Curves, checkpoints_of
from stumpery.options import check_one_of, check_whole
from stumpery.streams.click_log import ClickRows
from stumpery.types import Floats, Integers

SMOOTHING = 1.0 / 20_000.0  # of the click rate, per batch


def play_challenge(
    players: Mapping[str, ContentSelector],
    blocks: Iterator[ClickRows],
    *,
    n_batches: int,
    size: int = 6,
    freeze: Mapping[str, int] | None = None,
) -> dict[str, Curves]:
    """Play the click challenge: several content selectors pick from the same batches of candidates.

    Beside the players, `Random`, `Perfect` and, where probabilities are known, the pick of the best probability get
    curves. `combine_trials` makes a `ChallengeResult` of the curves of several trials.

    Args:
        players: The selectors by name; they learn in place.
        blocks: Runs of whole batches of encoded rows; a last one that is cut short is played as far as it goes.
        n_batches: Number of batches, and so of picks.
        size: Number of candidates in a batch; six in the challenge.
        freeze: Players that stop learning, with the number of batches after which they do.
    """
    check_whole("n_batches", n_batches, 1)
    check_whole("size", size, 1)
    for name in freeze or {}:
        check_one_of("a frozen player", name, players)
    points = set(checkpoints_of(n_batches).tolist())
    runs = {name: _Player(player, (freeze or {}).get(name, n_batches)) for name, player in players.items()}
    baselines = {name: _Curve() for name in (RANDOM, PERFECT, BEST_PROBABILITY)}
    for name in baselines.keys() & runs.keys():
        raise InvalidInput(f"a player is called {name!r}; that is the name of a baseline")
    has_probabilities = False
    n_done = 0
    while n_done < n_batches:
        block = next(blocks, None)
        if block is None:
            raise InvalidInput(f"the blocks end after {n_done} batches; there must be {n_batches}")
        n = min(len(block.matrix) // size, n_batches - n_done)
        if n == 0:
            raise InvalidInput(f"a block has {len(block.matrix)} rows; it must have at least the {size} of a batch")
        rows = block.matrix[: n * size].reshape(n, size, -1)
        clicks = block.clicks[: n * size].reshape(n, size)
        has_probabilities = bool(np.isfinite(block.probabilities).all())
        probabilities = block.probabilities[: n * size].reshape(n, size) if has_probabilities else clicks
        earned = {
            RANDOM: probabilities.mean(axis=1),
            PERFECT: clicks.max(axis=1),
            BEST_PROBABILITY: clicks[np.arange(n), probabilities.argmax(axis=1)],
        }
        for name, curve in baselines.items():
            curve.add(earned[name].tolist(), n_done, points)
        for run in runs.values():
            run.play(rows, clicks, n_done, points)
        n_done += n
    if not has_probabilities:
        del baselines[BEST_PROBABILITY]
    curves = {name: {**curve.values(), "seconds": 0.0, "n_bytes": 0} for name, curve in baselines.items()}
    return curves | {name: run.values() for name, run in runs.items()}


class _Curve:
    """Cumulative clicks and their smoothed rate, at the checkpoints."""

    def __init__(self) -> None:
        self.clicks: list[float] = []
        self.rates: list[float] = []
        self.total = self.rate = self.weight = 0.0

    def add(self, earned: list[float], n_done: int, points: set[int]) -> None:
        for batch, click in enumerate(earned, n_done + 1):
            self.total += click
            self.rate += SMOOTHING * (click - self.rate)
            self.weight += SMOOTHING * (1.0 - self.weight)  # what the rate would be with a click in every batch
            if batch in points:
                self.clicks.append(self.total)
                self.rates.append(self.rate / self.weight)

    def values(self) -> Curves:
        return {"clicks": self.clicks, "rates": self.rates}


class _Player:
    """A content selector, its curve and its processor time."""

    def __init__(self, selector: ContentSelector, n_learned: int) -> None:
        self.selector, self.n_learned = selector, n_learned
        self.curve = _Curve()
        self.seconds = 0.0

    def play(self, rows: Floats, clicks: Integers, n_done: int, points: set[int]) -> None:
        earned = []
        pick, learn = self.selector.pick_row, self.selector.learn_row
        start = thread_time()
        for batch in range(len(rows)):
            index = pick(rows[batch])
            click = int(clicks[batch, index])
            if n_done + batch < self.n_learned:
                learn(rows[batch, index], click)
            earned.append(float(click))
        self.seconds += thread_time() - start
        self.curve.add(earned, n_done, points)

    def values(self) -> Curves:
        return {**self.curve.values(), "seconds": self.seconds, "n_bytes": self.selector.n_bytes}
