"""Our own log as Parquet: a column for each of an event's fields, `context.` before the names of the contexts'."""

import json
from collections.abc import Callable, Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Self

import numpy as np

from stumpery.columns import Values
from stumpery.encoding.columns.values import text_of
from stumpery.errors import InvalidInput
from stumpery.logs.chunk import UNKNOWN, LogChunk
from stumpery.logs.formats.naming import Naming
from stumpery.logs.formats.own_json import Heading
from stumpery.logs.formats.table_files import ParquetTable
from stumpery.logs.formats.text_writers import heading
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.system.extras import need
from stumpery.types import Action

KEY = b"stumpery-log"  # of the metadata
PREFIX = "context."


class OwnParquetSource:
    """A file of our own log as Parquet.

    Args:
        table: the file.
    """

    format = "stumpery"
    unit = "row"

    def __init__(self, table: ParquetTable) -> None:
        self.name = table.path.name
        try:
            given = json.loads(table.metadata[KEY])
        except (ValueError, KeyError):
            raise InvalidInput(f"{self.name} has no metadata {KEY.decode()!r}; it is no log of ours") from None
        declared = Heading(given if isinstance(given, dict) else {}, self.name)
        self.actions: tuple[Action, ...] | None = declared.actions
        self.reward_range = declared.reward_range
        self.n_rows = table.n_rows
        self.has_probabilities = table.has_values("probability")
        self._table = table
        self._by_text = declared.by_text
        columns = tuple(name for name in table.names if name.startswith(PREFIX))
        self._naming = Naming(
            action="action",
            reward="reward",
            probability="probability",
            time="time" if "time" in table.names else None,
            event_id="event_id" if "event_id" in table.names else None,
            columns=columns,
        ).checked(table.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return tuple(name.removeprefix(PREFIX) for name in self._naming.columns or ())

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Read the file's rows."""
        extra = [name for name in ("weight", "probabilities", "available") if name in self._table.names]
        names = [name for name in ("action", "reward", "probability", "time", "event_id") if name in self._table.names]
        for frame, lines, share in self._table.batches([*names, *(self._naming.columns or ()), *extra], size, report):
            rows = self._naming.raw_rows(frame.drop_columns(extra), lines, report)
            yield RawRows(
                lines=lines,
                actions=[self._by_text.get(str(name), name) if name is not None else None for name in rows.actions],
                probabilities=rows.probabilities,
                rewards=rows.rewards,
                columns={name.removeprefix(PREFIX): values for name, values in rows.columns.items()},
                times=rows.times,
                event_ids=rows.event_ids,
                weights=frame["weight"].to_numpy() if "weight" in extra else None,
                candidates=self._candidates(frame, extra),
            )
            advance(share)

    def _candidates(self, frame: Any, extra: Sequence[str]) -> Candidates | None:
        if self.actions is None or not {"probabilities", "available"} & set(extra):
            return None
        n_rows = frame.num_rows
        offered = frame["available"].to_pylist() if "available" in extra else [None] * n_rows
        given = frame["probabilities"].to_pylist() if "probabilities" in extra else None
        named: dict[tuple[bool, ...] | None, tuple[Action, ...]] = {None: self.actions}
        names = []
        for place, mask in enumerate(offered):
            key = None if mask is None else tuple(mask)
            if key not in named:
                named[key] = tuple(name for name, is_in in zip(self.actions, key or (), strict=False) if is_in)
            names.append(named[key])
            if given is not None and given[place] is not None and key is not None:
                given[place] = [value for value, is_in in zip(given[place], key, strict=False) if is_in]
        return Candidates(names, None, None if given is None else [row or [] for row in given])


class ParquetLogWriter:
    """Our own log as Parquet; the first chunk fixes what columns hold.

    Args:
        path: the file.
        actions: the log's actions.
        reward_range: the least and the greatest reward.
    """

    def __init__(self, path: Path, actions: Sequence[Action], reward_range: tuple[float, float]) -> None:
        self._arrow = need("pyarrow", "logs")
        self._path = path
        self._actions = np.array([None, *map(str, actions)], dtype=object)
        self._metadata = {KEY: json.dumps(heading(actions, reward_range)).encode()}
        self._writer: Any = None
        self._is_text: dict[str, bool] = {}
        self._schema: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is None:
            self._begin({})
        self._writer.close()

    def write(self, chunk: LogChunk) -> int:
        """Write a chunk's rows."""
        if self._writer is None:
            self._begin({name: not isinstance(chunk.contexts[name], np.ndarray) for name in chunk.contexts.names})
        self._writer.write_table(self._table(chunk))
        return len(chunk)

    def _begin(self, is_text: dict[str, bool]) -> None:
        """Open the file with columns for these contexts."""
        arrow = self._arrow
        number, text = arrow.float64(), arrow.string()
        kinds = {"time": number, "action": text, "probability": number, "reward": number}
        kinds |= {"event_id": text, "weight": number}
        kinds |= {"probabilities": arrow.list_(number), "available": arrow.list_(arrow.bool_())}
        fields = list(kinds.items())
        self._is_text = is_text
        fields += [(f"{PREFIX}{name}", text if texts else number) for name, texts in is_text.items()]
        self._schema = arrow.schema(fields, metadata=self._metadata)
        self._writer = need("pyarrow.parquet", "logs").ParquetWriter(self._path, self._schema, compression="zstd")

    def _table(self, chunk: LogChunk) -> Any:
        arrow = self._arrow
        absent = [None] * len(chunk)
        rows: dict[str, Any] = {
            "time": _without_nan(arrow, chunk.times),
            "action": self._actions[chunk.actions - UNKNOWN],
            "probability": _without_nan(arrow, chunk.probabilities),
            "reward": _without_nan(arrow, chunk.rewards),
            "event_id": absent if chunk.event_ids is None else list(chunk.event_ids),
            "weight": np.ones(len(chunk)) if chunk.weights is None else chunk.weights,
            "probabilities": absent,
            "available": absent if chunk.available is None else chunk.available.tolist(),
        }
        if chunk.all_probabilities is not None:
            given = chunk.all_probabilities.tolist()
            rows["probabilities"] = [None if isnan(sum(row)) else row for row in given]
        for name, is_text in self._is_text.items():
            rows[f"{PREFIX}{name}"] = self._column(name, chunk.contexts.column(name), is_text=is_text)
        return arrow.table([arrow.array(rows[field.name], field.type) for field in self._schema], schema=self._schema)

    def _column(self, name: str, values: Values, *, is_text: bool) -> Any:
        if isinstance(values, np.ndarray):
            if is_text:
                return [None if value != value else text_of(value) for value in values.tolist()]  # noqa: PLR0124
            return _without_nan(self._arrow, values.astype(np.float64))
        if is_text:
            return [None if value is None or value != value else text_of(value) for value in values]  # noqa: PLR0124
        try:
            return _without_nan(self._arrow, np.array(values, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidInput(f"column {name!r} holds texts after numbers; a Parquet column holds one kind") from None


def _without_nan(arrow: Any, values: Any) -> Any:
    return arrow.array(values, from_pandas=True)
