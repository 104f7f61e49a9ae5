"""Contexts of JSON lines as columns: nested objects are read by types made for the keys of the first rows.

A decoder that knows the keys needs half the time of one that builds dicts, and gives columns at once. A line
that does not fit the types, because it has a new key or a value of another type, is decoded as a dict and repaired.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from stumpery.columns import Values
from stumpery.encoding.columns.values import text_of
from stumpery.system.extras import need

NUMBER, TEXT, MIXED, VECTOR, NAMESPACE, IGNORED = "number", "text", "mixed", "vector", "namespace", "ignored"
MAX_VECTOR = 64  # numbers of a list that become columns
UNUSUAL = re.compile(r'["\\\x00-\x1f]')  # what msgspec takes in no name of a field
KEPT = frozenset({"_text"})  # keys with an underscore are instructions to Vowpal Wabbit, but for this one

Problems = list[tuple[str, str]]  # the kind of each problem, and the column


@dataclass
class Namespace:
    """An object of JSON lines: its keys, what their values are, and the types that decode it.

    Args:
        prefix: what comes before the names of its columns, such as "user.".
        fields: from each key to the kind of its values.
        children: the objects within it, by key.
        widths: the length of lists of numbers, by key.
        is_list: whether it comes as a list of objects, too, whose keys are joined.
        stand_ins: other names of the keys that types cannot have; lines with these are decoded as dicts.
    """

    prefix: str
    fields: dict[str, str] = field(default_factory=dict)
    children: dict[str, "Namespace"] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    is_list: bool = False
    stand_ins: dict[str, str] = field(default_factory=dict)
    type: Any = None
    empty: Any = None

    @classmethod
    def infer(cls, rows: Sequence[Any], prefix: str = "") -> "Namespace":
        """The keys and kinds of objects, or lists of objects."""
        found = cls(prefix, is_list=any(isinstance(row, list) for row in rows))
        objects = list(_objects(rows))
        for key in dict.fromkeys(chain.from_iterable(objects)):
            values = [row[key] for row in objects if row.get(key) is not None]
            kind = found.fields[key] = _kind(key, values)
            if kind == NAMESPACE:
                found.children[key] = cls.infer(values, f"{prefix}{key}.")
            elif kind == VECTOR:
                found.widths[key] = min(max(map(len, values)), MAX_VECTOR)
        found._build()
        return found

    def _build(self) -> None:
        """Make the type of a row: a Struct with a field for each key."""
        msgspec = need("msgspec", "logs")
        types: dict[str, Any] = {
            NUMBER: float | bool | None,
            TEXT: str | None,
            IGNORED: msgspec.Raw,
        }
        fields = []
        for index, (key, kind) in enumerate(self.fields.items()):
            child = self.children.get(key)
            wanted: Any = types.get(kind, Any)
            if child is not None:
                wanted = list[child.type] | child.type | None if child.is_list else child.type | None  # type: ignore[name-defined]
            fields.append((f"f{index}", wanted, None))
        self.stand_ins = {key: _stand_in(key, self.fields) for key in self.fields if UNUSUAL.search(key)}
        rename = {f"f{index}": self.stand_ins.get(key, key) for index, key in enumerate(self.fields)}
        self.type = msgspec.defstruct("Row", fields, rename=rename, forbid_unknown_fields=True, gc=False)
        self.empty = self.type()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        found: list[str] = []
        for key, kind in self.fields.items():
            name = f"{self.prefix}{key}"
            if kind == NAMESPACE:
                found += self.children[key].names
            elif kind == VECTOR:
                found += [f"{name}.{place}" for place in range(self.widths[key])]
            elif kind != IGNORED:
                found.append(name)
        return found

    def attribute(self, key: str) -> str | None:
        """The name of the attribute that holds the value of a key."""
        return f"f{list(self.fields).index(key)}" if key in self.fields else None

    def columns(self, rows: Sequence[Any], wanted: frozenset[str] | None = None) -> dict[str, Values]:
        """The columns of decoded rows, None where a row has no such object; those `wanted`, or all."""
        if not self.fields:
            return {}
        from msgspec.structs import astuple

        if self.is_list:
            rows = [self._joined(row) for row in rows]
        else:
            rows = [self.empty if row is None else row for row in rows]
        found: dict[str, Values] = {}
        for (key, kind), values in zip(self.fields.items(), zip(*map(astuple, rows), strict=True), strict=True):
            name = f"{self.prefix}{key}"
            if kind == NAMESPACE:
                found |= self.children[key].columns(values, wanted)
            elif kind == VECTOR:
                names = [f"{name}.{place}" for place in range(self.widths[key])]
                found |= dict(zip(names, _spread(values, len(names)).T, strict=True))
            elif kind != IGNORED and (wanted is None or name in wanted):
                found[name] = _column(kind, values)
        return found if wanted is None else {name: found[name] for name in found if name in wanted}

    def _joined(self, row: Any) -> Any:
        """One object of a list of them: the first value of each key."""
        if not isinstance(row, list):
            return self.empty if row is None else row
        if len(row) == 1:
            return row[0]
        joined = self.type()
        for each in row:
            for name in self.type.__struct_fields__:
                if getattr(joined, name) is None:
                    setattr(joined, name, getattr(each, name))
        return joined

    def repaired(self, row: Any, problems: Problems) -> Any:
        """A row without what does not fit; adds what was left out to `problems`."""
        if isinstance(row, list) and self.is_list:
            return [self.repaired(each, problems) for each in row if isinstance(each, dict)]
        if not isinstance(row, dict):
            if row is not None:
                problems.append(("value of another type", self.prefix.removesuffix(".")))
            return None
        kept = {}
        for key, value in row.items():
            name, kind = f"{self.prefix}{key}", self.fields.get(key)
            if kind is None:
                if not key.startswith("_") and value is not None:
                    problems.append(("new column", name))
            elif kind == NAMESPACE:
                kept[self.stand_ins.get(key, key)] = self.children[key].repaired(value, problems)
            elif kind in (NUMBER, TEXT) and not _fits(kind, value):
                if not _is_nan(value):
                    problems.append(("value of another type", name))
            else:
                kept[self.stand_ins.get(key, key)] = value
        return kept


def _stand_in(key: str, taken: Iterable[str]) -> str:
    """A name for a key with quotes, backslashes or control characters: no other key, nor another stand-in."""
    name = "".join(f"\ue000{ord(letter):02x}" if UNUSUAL.match(letter) else letter for letter in key)
    while name in taken:
        name += "\ue000"
    return name


def _objects(rows: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for row in rows:
        if isinstance(row, dict):
            yield row
        elif isinstance(row, list):
            yield from (each for each in row if isinstance(each, dict))


def _kind(key: str, values: Sequence[Any]) -> str:
    """What the values of a key are."""
    if key.startswith("_") and key not in KEPT:
        return IGNORED
    kinds = set(map(type, values))
    if not kinds:
        return MIXED  # what comes later decides
    if kinds <= {int, float, bool}:
        return NUMBER
    if kinds == {str}:
        return TEXT
    if kinds <= {dict, list} and (dict in kinds or any(isinstance(each, dict) for value in values for each in value)):
        return NAMESPACE
    numbers = (isinstance(each, int | float) for value in values if isinstance(value, list) for each in value)
    return VECTOR if kinds == {list} and all(numbers) else MIXED


def _fits(kind: str, value: Any) -> bool:
    if value is None:
        return True
    if kind == TEXT:
        return isinstance(value, str)
    try:
        return isinstance(value, bool | int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _column(kind: str, values: Sequence[Any]) -> Values:
    if kind == NUMBER:
        return np.array(values, dtype=np.float64)
    if kind == TEXT:
        return list(values)
    if any(isinstance(value, str | list | dict) for value in values):
        return [_text(value) for value in values]
    return np.array(values, dtype=np.float64)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(value) if isinstance(value, list | dict) else text_of(value)


def _spread(values: Sequence[Any], width: int) -> Any:
    """Lists of numbers as a matrix, NaN where a list is shorter or holds something else."""
    matrix = np.full((len(values), width), np.nan)
    for row, value in enumerate(values):
        if isinstance(value, list):
            numbers = [each if isinstance(each, int | float) else np.nan for each in value[:width]]
            matrix[row, : len(numbers)] = numbers
    return matrix
