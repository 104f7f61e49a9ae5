"""Summary of a log: rows, actions, rewards, probabilities, times, columns, lines with problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.columns import Values
from stumpery.display import as_html, as_text
from stumpery.logs.chunk import LogChunk
from stumpery.logs.log import Log, action_order
from stumpery.logs.report import LogReport
from stumpery.system.extras import need
from stumpery.types import Action, Floats

MAX_BLOCKS = 60  # of the curve of rewards
NORMAL_95 = 1.96
MAX_DISTINCT = 1000  # values of a column that are counted

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class LogSummary:
    """Summary of a log as tables: actions with shares and mean rewards, rewards, probabilities, columns, problems.

    Args:
        log: What was read.
        rows: Number of rows.
        actions: A row per action: rows, share, mean reward, mean probability.
        figures: A row each for rewards, probabilities and weights: missing, least, mean, greatest.
        times: The first and the last time, those that go back, and the longest gap; empty if there are no times.
        columns: A row per column of the contexts: missing values, distinct values or range.
        report: The problems of lines.
        curve: Mean reward along the log: "rows" so far at the end of each block, "mean reward", "half width" of its
            95 % normal interval; at most 60 blocks.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, None], "p": [0.5, 0.25]}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward", probability="p")
    >>> summary = st.logs.inspect(log)
    >>> summary.rows, summary.actions[1]["mean reward"]
    (2, 1.0)
    """

    log: Log
    rows: int
    actions: Sequence[Row]
    figures: Sequence[Row]
    times: Sequence[Row]
    columns: Sequence[Row]
    report: LogReport
    curve: Mapping[str, Floats]

    def plot(self, ax: Any = None) -> Any:
        """Plot the mean reward along the log, in blocks of equally many rows, with 95 % normal intervals."""
        pyplot = need("matplotlib.pyplot", "study")
        ax = pyplot.subplots()[1] if ax is None else ax
        ends, mean, half = self.curve["rows"], self.curve["mean reward"], self.curve["half width"]
        ax.fill_between(ends, mean - half, mean + half, alpha=0.25, linewidth=0)
        ax.plot(ends, mean)
        ax.set(xlabel="rows", ylabel="mean reward of a block", title=self.report.source)
        return ax

    @property
    def tables(self) -> dict[str, Sequence[Row]]:
        """The tables by title."""
        return {
            "Actions": self.actions,
            "Rewards and probabilities": self.figures,
            "Times": self.times,
            "Columns": self.columns,
            "Lines with problems": self.report.table,
        }

    def __str__(self) -> str:
        parts = [[self._heading()]]
        parts += [[title, *as_text(_without_none(table))] for title, table in self.tables.items() if table]
        return "\n\n".join("\n".join(part) for part in parts)

    def __repr__(self) -> str:
        return f"LogSummary({self._heading()})"

    def _repr_html_(self) -> str:
        return "".join(as_html(title, _without_none(table)) for title, table in self.tables.items() if table)

    def _heading(self) -> str:
        return f"{self.report.source} ({self.log.format}): {self.rows:,} rows, {len(self.actions)} actions"


def inspect(log: Log, *, progress: Callable[[int], None] | None = None) -> LogSummary:
    """Summarise a log in one pass: actions, rewards, probabilities, times, columns, lines with problems.

    Args:
        log: The log; one that is read strictly raises at its first line with a problem.
        progress: Called with the number of rows of each chunk.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, 0.0]}
    >>> inspect(st.logs.from_frame(frame, action="action", reward="reward"))
    LogSummary(frame (frame): 2 rows, 2 actions)
    """
    names: dict[Action, int] = {}
    tally = _Tally()
    for chunk in log.survey(names):
        tally.add(chunk)
        if progress is not None:
            progress(len(chunk))
    return LogSummary(
        log,
        tally.rows,
        tally.actions(list(names)),
        tally.figures(),
        tally.times(),
        tally.columns(),
        log.report,
        tally.curve.columns(),
    )


class _Spread:
    """Count, sum, least and greatest of the numbers of a column, without its missing values."""

    def __init__(self) -> None:
        self.n = self.n_missing = 0
        self.total, self.least, self.greatest = 0.0, np.inf, -np.inf

    def add(self, values: Floats) -> None:
        known = values[~np.isnan(values)]
        self.n_missing += len(values) - len(known)
        self.n += len(known)
        self.total += float(known.sum())
        self.least = min(self.least, float(known.min(initial=np.inf)))
        self.greatest = max(self.greatest, float(known.max(initial=-np.inf)))

    @property
    def mean(self) -> float | None:
        return self.total / self.n if self.n else None


class _Values:
    """A column of the contexts: missing values, and the range of numbers or the distinct texts."""

    def __init__(self) -> None:
        self.spread = _Spread()
        self.texts: set[str] = set()
        self.n_missing = 0

    def add(self, values: Values) -> None:
        if isinstance(values, np.ndarray):
            self.spread.add(values.astype(np.float64))
            return
        self.n_missing += sum(value is None for value in values)
        if len(self.texts) <= MAX_DISTINCT:
            self.texts.update(str(value) for value in set(values) if value is not None)

    def row(self, name: str) -> Row:
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


class _RewardCurve:
    """Mean reward of blocks of rows: when there are MAX_BLOCKS, each two become one, so memory stays bounded."""

    def __init__(self) -> None:
        self._size = 64  # rows of a block
        self._blocks = np.zeros((0, 4))  # rows, rewards, their sum, the sum of their squares
        self._rest = np.zeros(0)

    def add(self, rewards: Floats) -> None:
        rewards = np.concatenate([self._rest, rewards])
        n_blocks = len(rewards) // self._size
        whole, self._rest = rewards[: n_blocks * self._size], rewards[n_blocks * self._size :]
        self._blocks = np.concatenate([self._blocks, _sums(whole.reshape(n_blocks, self._size))])
        while len(self._blocks) > MAX_BLOCKS:
            n_pairs = len(self._blocks) // 2
            last = self._blocks[2 * n_pairs :]
            self._blocks = np.concatenate([self._blocks[: 2 * n_pairs].reshape(n_pairs, 2, 4).sum(axis=1), last])
            self._size *= 2

    def columns(self) -> dict[str, Floats]:
        """The end of each block that has rewards, their mean, and half the width of its interval."""
        blocks = self._blocks.copy()
        if 0 < len(self._rest) < self._size / 2 and len(blocks):
            blocks[-1] += _sums(self._rest[None])[0]
        elif len(self._rest):
            blocks = np.concatenate([blocks, _sums(self._rest[None])])
        ends = np.cumsum(blocks[:, 0])
        known = blocks[:, 1] > 0
        _, n, total, squares = blocks[known].T
        mean = total / n
        variance = np.maximum(squares / n - mean**2, 0.0) * n / np.maximum(n - 1.0, 1.0)
        return {"rows": ends[known], "mean reward": mean, "half width": NORMAL_95 * np.sqrt(variance / n)}


def _sums(blocks: Floats) -> Floats:
    """Rows, rewards, their sum and the sum of their squares, of each block."""
    known = ~np.isnan(blocks)
    values = np.where(known, blocks, 0.0)
    n_rows = np.full(len(blocks), float(blocks.shape[1]))
    return np.stack([n_rows, known.sum(axis=1), values.sum(axis=1), (values**2).sum(axis=1)], axis=1)


class _Tally:
    """Sums along the chunks of a log."""

    def __init__(self) -> None:
        self.rows = 0
        self.curve = _RewardCurve()
        self._by_action = np.zeros((5, 0))  # rows; rewards, their sum; probabilities, their sum
        self._unknown = 0
        self._reward, self._probability, self._weight, self._time = (_Spread() for _ in range(4))
        self._columns: dict[str, _Values] = {}
        self._last_time = np.nan
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
        times = np.concatenate([[self._last_time], chunk.times[~np.isnan(chunk.times)]])
        steps = np.diff(times)
        self._n_back += int((steps < 0).sum())
        self._longest_gap = max(self._longest_gap, float(np.nanmax(steps, initial=0.0)))
        self._last_time = times[-1]
        if chunk.weights is not None:
            self._has_weights = True
            self._weight.add(chunk.weights)
        for name in chunk.contexts.names:
            self._columns.setdefault(name, _Values()).add(chunk.contexts[name])

    def _count(self, chunk: LogChunk) -> None:
        known = chunk.actions >= 0
        self._unknown += int((~known).sum())
        actions, rewards, probabilities = chunk.actions[known], chunk.rewards[known], chunk.probabilities[known]
        n_actions = max(self._by_action.shape[1], int(actions.max(initial=-1)) + 1)
        grown = np.zeros((5, n_actions))
        grown[:, : self._by_action.shape[1]] = self._by_action
        has_reward, has_probability = ~np.isnan(rewards), ~np.isnan(probabilities)
        grown[0] += np.bincount(actions, minlength=n_actions)
        grown[1] += np.bincount(actions[has_reward], minlength=n_actions)
        grown[2] += np.bincount(actions[has_reward], rewards[has_reward], minlength=n_actions)
        grown[3] += np.bincount(actions[has_probability], minlength=n_actions)
        grown[4] += np.bincount(actions[has_probability], probabilities[has_probability], minlength=n_actions)
        self._by_action = grown

    def actions(self, names: Sequence[Action]) -> list[Row]:
        """A row per action."""
        found: list[Row] = []
        for place in sorted(range(self._by_action.shape[1]), key=lambda place: action_order(names[place])):
            rows, n_rewards, reward, n_probabilities, probability = self._by_action[:, place].tolist()
            found.append(
                {
                    "action": names[place],
                    "rows": int(rows),
                    "share": rows / self.rows,
                    "with reward": int(n_rewards),
                    "mean reward": reward / n_rewards if n_rewards else None,
                    "mean probability": probability / n_probabilities if n_probabilities else None,
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


def _without_none(table: Sequence[Row]) -> list[Row]:
    """A table with empty texts for what is not known."""
    return [{name: "" if value is None else value for name, value in row.items()} for row in table]


def date_text(time: float) -> str:
    """A time as a date, to the second."""
    return str(np.datetime64(int(time), "s")).replace("T", " ")
