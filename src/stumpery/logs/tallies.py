"""Tallies along the chunks of a log, in bounded memory: actions, spreads of numbers, the curve of rewards, columns.

Tallies of the parts of a log merge to the tally of the whole log, bit for bit: sums are exact.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stumpery.columns import Values
from stumpery.logs.chunk import LogChunk
from stumpery.logs.log import action_order
from stumpery.summaries.exact_sums import ExactSums
from stumpery.types import Action, Floats

MAX_BLOCKS = 60  # of the curve of rewards
NORMAL_95 = 1.96
MAX_DISTINCT = 1000  # values of a column that are counted

Row = Mapping[str, Any]


class Spread:
    """Count, sum, least and greatest of the numbers of a column, without its missing values."""

    def __init__(self) -> None:
        self.n = self.n_missing = 0
        self.least, self.greatest = np.inf, -np.inf
        self._sum = ExactSums(1)

    def add(self, values: Floats) -> None:
        """Add numbers."""
        known = values[~np.isnan(values)]
        self.n_missing += len(values) - len(known)
        self.n += len(known)
        self._sum.add(known)
        self.least = min(self.least, float(known.min(initial=np.inf)))
        self.greatest = max(self.greatest, float(known.max(initial=-np.inf)))

    def merge(self, other: "Spread") -> None:
        """Add those of another part, in place."""
        self.n_missing += other.n_missing
        self.n += other.n
        self._sum.merge(other._sum, [0])
        self.least, self.greatest = min(self.least, other.least), max(self.greatest, other.greatest)

    @property
    def mean(self) -> float | None:
        """Their mean; None where there are none."""
        return self._sum.values()[0] / self.n if self.n else None


class ColumnValues:
    """A column of the contexts: missing values, and the range of numbers or the first distinct texts by spelling."""

    def __init__(self) -> None:
        self.spread = Spread()
        self.texts: set[str] = set()
        self.n_missing = 0

    def add(self, values: Values) -> None:
        """Add numbers or texts."""
        if isinstance(values, np.ndarray):
            self.spread.add(values.astype(np.float64))
            return
        self.n_missing += sum(value is None for value in values)
        self._add_texts({str(value) for value in set(values) if value is not None})

    def merge(self, other: "ColumnValues") -> None:
        """Add those of another part, in place."""
        self.spread.merge(other.spread)
        self.n_missing += other.n_missing
        self._add_texts(other.texts)

    def _add_texts(self, texts: set[str]) -> None:
        self.texts |= texts
        if len(self.texts) > MAX_DISTINCT + 1:  # one more says that there are more
            self.texts = set(sorted(self.texts)[: MAX_DISTINCT + 1])

    def row(self, name: str) -> Row:
        """The column's row of a summary."""
        spread, texts = self.spread, self.texts
        if texts:
            n_texts = f"more than {MAX_DISTINCT:,}" if len(texts) > MAX_DISTINCT else str(len(texts))
            kind, values = (
                "categorical",
                f"{n_texts}: {', '.join(sorted(texts)[:4])}{', ...' if len(texts) > 4 else ''}",
            )
        elif spread.n:
            kind, values = "numerical", f"{spread.least:.6g} to {spread.greatest:.6g}, mean {spread.mean:.6g}"
        else:
            kind, values = "", "none"
        return {
            "column": name,
            "kind": kind,
            "missing": spread.n_missing + self.n_missing,
            "values": " ".join(values.split()),
        }


class RewardCurve:
    """Mean reward of blocks of rows: when there are MAX_BLOCKS, each two become one, so memory stays bounded."""

    def __init__(self) -> None:
        self._size = 64  # rows of a block
        self._blocks = np.zeros((0, 4))  # rows, rewards, their sum, the sum of their squares
        self._rest = np.zeros(0)

    def add(self, rewards: Floats) -> None:
        """Add the rewards of rows, NaN where missing."""
        rewards = np.concatenate([self._rest, rewards])
        n_blocks = len(rewards) // self._size
        whole, self._rest = rewards[: n_blocks * self._size], rewards[n_blocks * self._size :]
        self._blocks = np.concatenate([self._blocks, _sums(whole.reshape(n_blocks, self._size))])
        while len(self._blocks) > MAX_BLOCKS:
            self._halve()

    def _halve(self) -> None:
        """Make one block of each two."""
        n_pairs = len(self._blocks) // 2
        last = self._blocks[2 * n_pairs :]
        self._blocks = np.concatenate([self._blocks[: 2 * n_pairs].reshape(n_pairs, 2, 4).sum(axis=1), last])
        self._size *= 2

    def merge(self, other: "RewardCurve") -> None:
        """Append the blocks of the next part, in place; nothing is added after that."""
        self._blocks = np.concatenate([self._closed(), other._closed()])
        self._rest = np.zeros(0)
        while len(self._blocks) > MAX_BLOCKS:
            self._halve()

    def _closed(self) -> Floats:
        """All blocks; the last rows join the last block, or are one."""
        blocks = self._blocks.copy()
        if 0 < len(self._rest) < self._size / 2 and len(blocks):
            blocks[-1] += _sums(self._rest[None])[0]
        elif len(self._rest):
            blocks = np.concatenate([blocks, _sums(self._rest[None])])
        return blocks

    def columns(self) -> dict[str, Floats]:
        """The end of each block that has rewards, their mean, and half the width of its interval."""
        blocks = self._closed()
        ends = np.cumsum(blocks[:, 0])
        known = blocks[:, 1] > 0
        _, n, total, squares = blocks[known].T
        mean = total / n
        with np.errstate(over="ignore", invalid="ignore"):  # rewards whose squares are infinite
            variance = np.maximum(squares / n - mean**2, 0.0) * n / np.maximum(n - 1.0, 1.0)
        return {"rows": ends[known], "mean reward": mean, "half width": NORMAL_95 * np.sqrt(variance / n)}


def _sums(blocks: Floats) -> Floats:
    """Rows, rewards, their sum and the sum of their squares, of each block."""
    known = ~np.isnan(blocks)
    values = np.where(known, blocks, 0.0)
    n_rows = np.full(len(blocks), float(blocks.shape[1]))
    with np.errstate(over="ignore"):
        return np.stack([n_rows, known.sum(axis=1), values.sum(axis=1), (values**2).sum(axis=1)], axis=1)


class LogTally:
    """Sums along the chunks of a log, or of a part of it."""

    def __init__(self) -> None:
        self.rows = 0
        self.names: dict[Action, int] = {}  # from actions to their indices in chunks
        self.curve = RewardCurve()
        self._counts = np.zeros((3, 0), np.int64)  # of each action: rows, rewards, probabilities
        self._rewards, self._probabilities = ExactSums(), ExactSums()
        self._reward, self._probability, self._weight, self._time = (Spread() for _ in range(4))
        self._columns: dict[str, ColumnValues] = {}
        self._first_time = self._last_time = np.nan
        self._n_back, self._longest_gap = 0, 0.0
        self._has_weights = False

    def add(self, chunk: LogChunk) -> None:
        """Add a chunk's rows."""
        self.rows += len(chunk)
        self._count(chunk)
        self._reward.add(chunk.rewards)
        self.curve.add(chunk.rewards)
        self._probability.add(chunk.probabilities)
        self._time.add(chunk.times)
        self._follow(chunk.times[~np.isnan(chunk.times)])
        if chunk.weights is not None:
            self._has_weights = True
            self._weight.add(chunk.weights)
        for name in chunk.contexts.names:
            self._columns.setdefault(name, ColumnValues()).add(chunk.contexts[name])

    def _count(self, chunk: LogChunk) -> None:
        known = chunk.actions >= 0
        actions, rewards, probabilities = chunk.actions[known], chunk.rewards[known], chunk.probabilities[known]
        n_actions = max(self._counts.shape[1], int(actions.max(initial=-1)) + 1)
        self._grow(n_actions)
        self._counts[0] += np.bincount(actions, minlength=n_actions)
        for row, sums, values in ((1, self._rewards, rewards), (2, self._probabilities, probabilities)):
            given = ~np.isnan(values)
            self._counts[row] += np.bincount(actions[given], minlength=n_actions)
            sums.add(values[given], actions[given])

    def _grow(self, n_actions: int) -> None:
        self._counts = np.pad(self._counts, ((0, 0), (0, max(n_actions - self._counts.shape[1], 0))))
        self._rewards.grow(n_actions)
        self._probabilities.grow(n_actions)

    def _follow(self, times: Floats) -> None:
        """Take the next times, of rows or the two ends of a part."""
        if len(times):
            steps = np.diff(np.concatenate([[self._last_time], times]))
            self._n_back += int((steps < 0).sum())
            self._longest_gap = max(self._longest_gap, float(np.nanmax(steps, initial=0.0)))
            self._first_time = times[0] if np.isnan(self._first_time) else self._first_time
            self._last_time = times[-1]

    def merge(self, other: "LogTally") -> None:
        """Add the tally of the next part of the log, in place; no chunk is added after that."""
        self.rows += other.rows
        names = list(other.names)[: other._counts.shape[1]]
        places = [self.names.setdefault(name, len(self.names)) for name in names]
        self._grow(max(places, default=-1) + 1)
        self._counts[:, places] += other._counts
        self._rewards.merge(other._rewards, places)
        self._probabilities.merge(other._probabilities, places)
        self.curve.merge(other.curve)
        for mine, its in (
            (self._reward, other._reward),
            (self._probability, other._probability),
            (self._weight, other._weight),
            (self._time, other._time),
        ):
            mine.merge(its)
        self._follow(np.array([other._first_time] if other._time.n else []))
        self._n_back += other._n_back
        self._longest_gap = max(self._longest_gap, other._longest_gap)
        self._last_time = other._last_time if other._time.n else self._last_time
        self._has_weights |= other._has_weights
        for name, values in other._columns.items():
            self._columns.setdefault(name, ColumnValues()).merge(values)

    def actions(self) -> list[Row]:
        """A row per action that was taken."""
        names, found = list(self.names), list[Row]()
        rewards, probabilities = self._rewards.values(), self._probabilities.values()
        for place in sorted(np.flatnonzero(self._counts[0]).tolist(), key=lambda place: action_order(names[place])):
            rows, n_rewards, n_probabilities = self._counts[:, place].tolist()
            found.append(
                {
                    "action": names[place],
                    "rows": rows,
                    "share": rows / self.rows,
                    "with reward": n_rewards,
                    "mean reward": rewards[place] / n_rewards if n_rewards else None,
                    "mean probability": probabilities[place] / n_probabilities if n_probabilities else None,
                }
            )
        return found

    def figures(self) -> list[Row]:
        """A row each for rewards, probabilities, weights."""
        spreads = {"reward": self._reward, "probability": self._probability}
        if self._has_weights:
            spreads["weight"] = self._weight
        found: list[Row] = [
            {
                "what": name,
                "missing": spread.n_missing,
                "least": spread.least if spread.n else None,
                "mean": spread.mean,
                "greatest": spread.greatest if spread.n else None,
            }
            for name, spread in spreads.items()
        ]
        return found

    def times(self) -> list[Row]:
        """One row, if the log has times."""
        if not self._time.n:
            return []
        first, last = (date_text(each) for each in (self._time.least, self._time.greatest))
        row = {"first": first, "last": last, "missing": self._time.n_missing, "back in time": self._n_back}
        return [row | {"longest gap (s)": self._longest_gap}]

    def columns(self) -> list[Row]:
        """A row per column of the contexts."""
        return [values.row(name) for name, values in self._columns.items()]


def date_text(time: float) -> str:
    """A time as a date, to the second."""
    return str(np.datetime64(int(time), "s")).replace("T", " ")
