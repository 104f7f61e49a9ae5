"""Sums over a log from which every estimate and its error follow, in bounded memory.

Each event becomes a row of terms (weight, weight * reward, value by the reward model ...). The log is cut into at most
MAX_BLOCKS blocks of consecutive events, whose sums of terms are kept; when they are used up, neighbours are merged. An
estimate is a sum of ratios of totals, so its error follows from how far each block moves it (the delta method), also
where neighbouring events depend on one another. Up to MAX_BLOCKS events a block is one event, and all is exact.
"""

from typing import NamedTuple

import numpy as np

from stumpery.evaluation.off_policy.confidence.likelihood import LikelihoodSums
from stumpery.evaluation.off_policy.weights import clipped, shrunk, switched
from stumpery.types import Floats

MAX_BLOCKS = 4096
LIMITS = (2.0, 5.0, 10.0, 20.0, 50.0, 200.0)  # candidate limits of weights; their squares are candidate strengths

N, W, R, V, WR, WD, WW, WWR, WWRR = range(9)  # d is the error of the predicted reward
CLIPPED = 9
SWITCHED = CLIPPED + len(LIMITS)
SHRUNK = SWITCHED + len(LIMITS)
N_TERMS = SHRUNK + len(LIMITS)


class JudgedEvents(NamedTuple):
    """What estimators need to know of some events for one target policy.

    Args:
        weights: Importance weight of each.
        rewards: Reward of each.
        predicted: Predicted reward of the logged action.
        values: Value of the target policy by the reward model.
        counts: How many events each stands for; None for one.
    """

    weights: Floats
    rewards: Floats
    predicted: Floats
    values: Floats
    counts: Floats | None = None

    def terms(self) -> Floats:
        """The terms of each event, (events, N_TERMS)."""
        w, r, errors = self.weights, self.rewards, self.rewards - self.predicted
        wr = w * r
        columns = [np.ones_like(w), w, r, self.values, wr, w * errors, w * w, w * wr, wr * wr]
        columns += [clipped(w, limit) * r for limit in LIMITS]
        columns += [switched(w, limit) * errors for limit in LIMITS]
        columns += [shrunk(w, limit * limit) * errors for limit in LIMITS]
        terms = np.stack(columns, axis=1)
        return terms if self.counts is None else terms * self.counts[:, None]


class BlockSums:
    """Sums of rows of terms over at most MAX_BLOCKS blocks of consecutive events.

    Args:
        n_terms: Length of a row.

    >>> sums = BlockSums(1)
    >>> sums.add(np.ones((10_000, 1)))
    >>> sums.blocks.shape, sums.block_rows, sums.totals.tolist()
    ((2500, 1), 4, [10000.0])
    """

    def __init__(self, n_terms: int = N_TERMS) -> None:
        self.block_rows, self.n_rows = 1, 0
        self._sums = np.zeros((MAX_BLOCKS, n_terms))

    def add(self, rows: Floats) -> None:
        """Add rows of terms."""
        while len(rows):
            n_free = MAX_BLOCKS * self.block_rows - self.n_rows
            if not n_free:
                self._merge()
                continue
            part, rows = rows[:n_free], rows[n_free:]
            block = (self.n_rows + np.arange(len(part))) // self.block_rows
            starts = np.flatnonzero(np.diff(block, prepend=-1))
            self._sums[block[starts]] += np.add.reduceat(part, starts)
            self.n_rows += len(part)

    def _merge(self) -> None:
        half = MAX_BLOCKS // 2
        self._sums[:half] = self._sums[0::2] + self._sums[1::2]
        self._sums[half:] = 0.0
        self.block_rows *= 2

    @property
    def blocks(self) -> Floats:
        """The sums of each block, in the order of events."""
        return self._sums[: -(-self.n_rows // self.block_rows)]

    @property
    def totals(self) -> Floats:
        """The sums over all events."""
        totals: Floats = self.blocks.sum(axis=0)
        return totals


def likelihood_sums(totals: Floats, low: float, high: float) -> LikelihoodSums:
    """The sums of empirical likelihood, with rewards scaled from a range to 0..1."""
    n, w, r, wr = totals[N], totals[W], totals[R], totals[WR]
    ww, wwr, wwrr = totals[WW], totals[WWR], totals[WWRR]
    scale = high - low
    squares = (wwrr - 2.0 * low * wwr + low * low * ww) / scale**2
    sums = (n, w, ww, (wr - low * w) / scale, (wwr - low * ww) / scale, squares, (r - low * n) / scale)
    return LikelihoodSums(*map(float, sums))
