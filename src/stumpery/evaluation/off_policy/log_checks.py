"""Checks of a log that is evaluated: which rows count, and whether actions come as often as their probabilities say."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.evaluation.off_policy.candidates import LoggedRows
from stumpery.types import Action, Floats

N_PROBABILITY_BINS = 20
MAX_REWARD, LEAST_PROBABILITY = 1e60, 1e-30  # squares of squares of weighted rewards are finite
SUSPICIOUS_Z = 4.0  # standard errors, since there are many actions and bins


class CalibrationRow(NamedTuple):
    """Whether an action, or actions of a range of probabilities, came as often as the log says.

    Args:
        group: The action, or the range.
        expected: How often the logged probabilities say that it comes.
        observed: How often it came; of an action as estimated from its own probabilities.
        z: Their difference in standard errors.

    >>> CalibrationRow("news", 500.0, 490.0, -0.4).is_suspicious
    False
    """

    group: Any
    expected: float
    observed: float
    z: float

    @property
    def is_suspicious(self) -> bool:
        """Whether the difference is significant."""
        return abs(self.z) > SUSPICIOUS_Z


class LogChecks:
    """Checks of the rows of a log, chunk by chunk."""

    def __init__(
        self, actions: Sequence[Action], reward_range: tuple[float, float], least_probability: float | None
    ) -> None:
        self.actions = tuple(actions)
        self._low, self._high = reward_range
        if max(-self._low, self._high) > MAX_REWARD:
            raise InvalidInput(
                f"the log's rewards are from {self._low:g} to {self._high:g}; they must be at most {MAX_REWARD:g}"
            )
        self._least_promised = least_probability
        self.n_rows = 0
        self.skipped: Counter[str] = Counter()
        self.least_probability = 1.0
        self.has_all_probabilities = False
        n = len(self.actions)
        self._offered, self._inverse, self._inverse_squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self._bins = np.zeros((N_PROBABILITY_BINS, 3))  # expected, observed, variance

    def valid_rows(self, chunk: Any) -> LoggedRows:
        """The rows that can be evaluated; the others are counted. An impossible value raises an InvalidInput."""
        self.n_rows += len(chunk)
        probabilities = np.asarray(chunk.probabilities, dtype=np.float64)
        rewards = np.asarray(chunk.rewards, dtype=np.float64)
        impossible = (probabilities < LEAST_PROBABILITY) | (probabilities > 1.0)
        self._refuse(chunk, impossible, "probability", probabilities, f"{LEAST_PROBABILITY:g} to 1")
        inside = f"the reward range {self._low:g} to {self._high:g}"
        self._refuse(chunk, (rewards < self._low) | (rewards > self._high), "reward", rewards, inside)
        if self._least_promised is not None:
            below = probabilities < self._least_promised * (1.0 - 1e-9)
            promised = f"{self._least_promised:g} to 1, as least_probability says"
            self._refuse(chunk, below, "probability", probabilities, promised)
        valid = np.ones(len(chunk), dtype=np.bool_)
        reasons = (
            (chunk.actions < 0, "action"),
            (np.isnan(probabilities), "probability"),
            (np.isnan(rewards), "reward"),
        )
        for missing, what in reasons:
            self.skipped[what] += int((missing & valid).sum())
            valid &= ~missing
        if not valid.all():
            chunk = chunk.where(valid)
        contexts = chunk.contexts if getattr(chunk.contexts, "names", True) else None
        rows = LoggedRows(
            contexts, chunk.actions, probabilities[valid], rewards[valid], self.actions, chunk.available,
            chunk.all_probabilities, chunk.weights,
        )  # fmt: skip
        if rows.n:
            self._add(rows)
        return rows

    def left_out(self) -> str:
        """How many rows were left out, and why; empty if none was."""
        parts = [f"{n:,} without a valid {what}" for what, n in self.skipped.items() if n]
        return f"of {self.n_rows:,} rows {' and '.join(parts)} left out" if parts else ""

    def calibration(self) -> list[CalibrationRow]:
        """By action: the sum of inverse probabilities where it was taken, which should be how often it was offered."""
        found = []
        for index, action in enumerate(self.actions):
            variance = max(self._inverse_squares[index] - self._inverse[index], 0.0)
            error = self._inverse[index] - self._offered[index]
            z = error / math.sqrt(variance) if variance else 0.0
            found.append(CalibrationRow(action, float(self._offered[index]), float(self._inverse[index]), float(z)))
        return found

    def probability_bins(self) -> list[CalibrationRow]:
        """By range of probability, where the log has those of all actions: how often such actions were taken."""
        found = []
        for index, (expected, observed, variance) in enumerate(self._bins.tolist()):
            if variance:
                low, high = index / N_PROBABILITY_BINS, (index + 1) / N_PROBABILITY_BINS
                z = (observed - expected) / math.sqrt(variance)
                found.append(CalibrationRow(f"{low:.2f} to {high:.2f}", expected, observed, z))
        return found

    def _add(self, rows: LoggedRows) -> None:
        p, n = rows.probabilities, len(self.actions)
        self.least_probability = min(self.least_probability, float(p.min()))
        self._offered += rows.n if rows.available is None else rows.available.sum(axis=0)
        self._inverse += np.bincount(rows.actions, 1.0 / p, n)
        self._inverse_squares += np.bincount(rows.actions, 1.0 / (p * p), n)
        if rows.all_probabilities is not None:
            self.has_all_probabilities = True
            self._add_bins(rows, rows.all_probabilities)

    def _add_bins(self, rows: LoggedRows, every: Floats) -> None:
        taken = np.zeros(every.shape)
        taken[np.arange(rows.n), rows.actions] = 1.0
        known = every > 0.0  # not where they are missing
        p, taken = every[known], taken[known]
        index = np.minimum((p * N_PROBABILITY_BINS).astype(np.int64), N_PROBABILITY_BINS - 1)
        for column, values in enumerate((p, taken, p * (1.0 - p))):
            self._bins[:, column] += np.bincount(index, values, N_PROBABILITY_BINS)

    def _refuse(self, chunk: Any, wrong: NDArray[np.bool_], what: str, values: Floats, allowed: str) -> None:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            line = int(chunk.lines[row])
            raise InvalidInput(f"line {line}: {what} is {values[row]:g}; it must be in {allowed}")
