"""Tallies of importance weights: the largest, how they are spread, and the overlap of two policies per action."""

import numpy as np

from stumpery.evaluation.off_policy.candidates import LoggedRows
from stumpery.types import Floats

N_LARGEST = 10
BIN_EDGES = np.concatenate([[0.0], np.logspace(-3.0, 4.0, 57), [np.inf]])  # of the histogram, eight to a decade
N_LOGGED, SUM_TARGET, SUM_WEIGHTS, LARGEST, SUM_REWARDS = range(5)


class WeightTally:
    """Tally of one policy's weights along a log.

    Args:
        n_actions: Number of actions of the log.

    >>> tally = WeightTally(2)
    >>> tally.largest.tolist(), tally.unsupported(0)
    ([], 0.0)
    """

    def __init__(self, n_actions: int) -> None:
        self.largest: Floats = np.empty(0)
        self.histogram = np.zeros(len(BIN_EDGES) - 1)
        self.n_zero = 0
        self.actions = np.zeros((n_actions, 5))
        self._unoffered = 0.0  # probability of actions that the logging policy could not choose

    def add(self, rows: LoggedRows, weights: Floats, target: Floats) -> None:
        """Add rows with the target policy's probabilities of all actions."""
        self.largest = np.sort(np.concatenate([self.largest, weights]))[::-1][:N_LARGEST].copy()
        positive = weights[weights > 0.0]
        self.n_zero += len(weights) - len(positive)
        self.histogram += np.histogram(positive, BIN_EDGES)[0]
        n_actions, found = len(self.actions), self.actions
        found[:, N_LOGGED] += np.bincount(rows.actions, minlength=n_actions)
        found[:, SUM_TARGET] += target.sum(axis=0)
        found[:, SUM_WEIGHTS] += np.bincount(rows.actions, weights, n_actions)
        found[:, SUM_REWARDS] += np.bincount(rows.actions, rows.rewards, n_actions)
        np.maximum.at(found[:, LARGEST], rows.actions, weights)
        self._unoffered += float(np.maximum(1.0 - target.sum(axis=1), 0.0).sum())
        if rows.all_probabilities is not None:
            self._unoffered += float(target[rows.all_probabilities == 0.0].sum())

    def unsupported(self, n_rows: int) -> float:
        """The share of the target policy's probability that falls on actions that the log never shows."""
        never = float(self.actions[self.actions[:, N_LOGGED] == 0.0, SUM_TARGET].sum())
        return min((self._unoffered + never) / n_rows, 1.0) if n_rows else 0.0
