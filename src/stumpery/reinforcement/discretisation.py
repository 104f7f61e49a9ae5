"""Discretisation: rows as small codes. A name's code is its index, a number's code is its cell between two cuts.

Cuts are quantiles of the first rows, or given by the schema, and do not change. Names get codes in order of arrival.
With `as_they_are` a column of numbers has one cell and the network receives the numbers themselves, as in the paper:
then no finite tree equals the policy.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.precision import is_lost, rounded
from stumpery.encoding import Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.numerical import Numerical
from stumpery.encoding.columns.values import cut_text
from stumpery.reinforcement.training.agent_state import UNSEEN, UNUSED_SPAN, Spans
from stumpery.saving.validation import check, check_within
from stumpery.types import Floats, Integers

Float32s = NDArray[np.float32]
Codes = NDArray[np.int16]
MAX_CODES = 2**15 - 1  # per column
MAX_NUMBER = 1e15  # numbers are clipped to +-MAX_NUMBER, so that squares fit into 32 bits


class CodedRows(NamedTuple):
    """Rows as inputs of the network."""

    codes: Codes  # (rows, columns), UNSEEN where missing
    numbers: Float32s  # (rows, columns): 0 for names and where missing


@dataclass(frozen=True, eq=False)
class Discretisation:
    """The meaning of each column's codes. It is immutable: `extended` returns another one.

    A column without a value in the first rows may later hold names; if it holds numbers, they share one code.
    """

    is_number: NDArray[np.bool_]  # columns of numbers, cut into cells
    is_categorical: NDArray[np.bool_]  # columns of names
    n_codes: Integers
    cuts: tuple[Floats, ...]  # ascending; none for names
    centres: tuple[Float32s, ...]  # mean of each cell less the column's origin; none for names
    spans: tuple[tuple[int, float, float], ...]  # column, lowest and highest code, in the order of arrival
    as_they_are: bool
    origins: Floats  # subtracted from numbers that 32 bits cannot tell apart

    @classmethod
    def of(cls, schema: Schema, rows: Floats, n_cells: int | None) -> Self:
        """Cut the numbers of these rows at quantiles; names have no codes yet."""
        rows = rounded(rows)
        is_categorical = np.array([isinstance(column, Categorical) for column in schema.columns])
        is_number = ~is_categorical & np.isfinite(rows).any(axis=0)
        cuts, centres, origins = [], [], np.zeros(len(is_categorical))
        for index, column in enumerate(schema.columns):
            values = rows[np.isfinite(rows[:, index]), index]
            if is_number[index] and is_lost(values).any():
                origins[index] = np.clip(np.median(values), -MAX_NUMBER, MAX_NUMBER)
            cuts.append(_cuts(column, values, n_cells) if is_number[index] else np.zeros(0))
            centres.append(_centres(values, cuts[-1], origins[index]) if is_number[index] else np.zeros(0, np.float32))
        spans = [
            (column, float(code), UNUSED_SPAN)
            for column, points in enumerate(cuts)
            for code in range(1, len(points) + 1)
        ]
        n_codes = np.array([len(each) for each in centres])
        return cls(
            is_number, is_categorical, n_codes, tuple(cuts), tuple(centres), tuple(spans), n_cells is None, origins
        )

    @classmethod
    def of_names(cls, n_names: Integers) -> Self:
        """Columns with the given numbers of names."""
        cuts, centres = tuple(np.zeros(0) for _ in n_names), tuple(np.zeros(0, np.float32) for _ in n_names)
        spans = [(column, float(code), float(code)) for column, n in enumerate(n_names.tolist()) for code in range(n)]
        is_categorical = np.ones(len(n_names), bool)
        origins = np.zeros(len(n_names))
        return cls(
            ~is_categorical, is_categorical, n_names, cuts, centres, tuple(spans), as_they_are=False, origins=origins
        )

    def coded(self, rows: Floats) -> CodedRows:
        """Codes of rows that `OnlineEncoder` encoded; an unknown category counts as missing."""
        rows = rounded(rows)
        arrivals = self._n_codes_needed(rows) - 1
        codes: Codes = np.where(arrivals < self.n_codes, arrivals, UNSEEN).astype(np.int16)
        numbers = np.zeros(rows.shape, np.float32)
        for column in np.flatnonzero(self.is_number).tolist():
            values = rows[:, column]
            is_known = np.isfinite(values)
            cell = np.searchsorted(self.cuts[column], values, side="left")
            codes[:, column] = np.where(is_known, cell, UNSEEN)
            bounded = np.clip(values, -MAX_NUMBER, MAX_NUMBER) - self.origins[column]
            number = bounded if self.as_they_are else self.centres[column][cell]
            numbers[:, column] = np.where(is_known, number, 0.0)
        return CodedRows(codes, numbers)

    def extended(self, rows: Floats, is_categorical: NDArray[np.bool_]) -> Self:
        """A copy with codes for the names of these rows, in order of arrival."""
        extended = replace(self, is_categorical=is_categorical)
        largest = np.maximum.accumulate(extended._n_codes_needed(rows), axis=0)
        n_codes = self.n_codes.copy()
        new: list[tuple[int, float, float]] = []
        for row in np.flatnonzero((largest > n_codes).any(axis=1)).tolist():
            for column in np.flatnonzero(largest[row] > n_codes).tolist():
                new += [(column, float(code), float(code)) for code in range(n_codes[column], largest[row, column])]
                n_codes[column] = largest[row, column]
        return replace(extended, n_codes=n_codes, spans=(*self.spans, *new))

    def n_fitting(self, rows: Floats, n_spans: int) -> int:
        """How many of the rows can be coded with at most `n_spans` spans."""
        largest = np.maximum.accumulate(self._n_codes_needed(rows), axis=0)
        n_new = np.maximum(largest - self.n_codes, 0).sum(axis=1)
        return int(np.searchsorted(n_new, n_spans - len(self.spans), side="right"))

    def _n_codes_needed(self, rows: Floats) -> Integers:
        """The number of codes that each value needs: a name its own and those before it, a late number one."""
        late = np.where(self.is_categorical, rows, np.isfinite(rows))
        return np.where(self.is_number, 0, late).astype(np.int64)

    def span_arrays(self, n_spans: int) -> Spans:
        """The inputs of the network, padded to a capacity of `n_spans`."""
        table = np.full((n_spans, 3), UNUSED_SPAN)
        table[:, 0] = 0
        table[: len(self.spans)] = np.array(self.spans).reshape(-1, 3)
        index = np.zeros((len(self.is_categorical), n_spans if self._gathers(n_spans) else 0), np.int32)
        if index.size:
            n = len(self.spans)
            index[table[:n, 0].astype(int), table[:n, 1].astype(int)] = np.arange(n)
        column = table[:, 0].astype(np.int32)
        return Spans(column, table[:, 1].astype(np.float32), table[:, 2].astype(np.float32), index)

    def _gathers(self, n_spans: int) -> bool:
        """Whether embeddings are gathered rather than multiplied: faster with many names per column."""
        return not self.is_number.any() and n_spans > 4 * len(self.is_number)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The saved arrays."""
        return {
            "is_number": self.is_number,
            "n_codes": self.n_codes,
            "n_cuts": np.array([len(each) for each in self.cuts]),
            "cuts": np.concatenate(self.cuts),
            "centres": np.concatenate(self.centres),
            "origins": self.origins,
            "spans": np.array(self.spans, dtype=np.float64).reshape(-1, 3),
        }

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], is_categorical: NDArray[np.bool_], *, as_they_are: bool
    ) -> Self:
        """Rebuild from `arrays`; a ValueError describes an inconsistency."""
        is_number, n_codes, n_cuts = arrays["is_number"], arrays["n_codes"], arrays["n_cuts"]
        kinds = [array.dtype.kind for array in (is_number, n_codes, n_cuts)]
        shapes = {is_number.shape, n_codes.shape, n_cuts.shape}
        check(
            shapes == {is_categorical.shape} and kinds == ["b", "i", "i"],
            "the cells and the schema have different columns",
        )
        check(not (is_number & is_categorical).any(), "a categorical column has cells of numbers")
        check(not (as_they_are and n_cuts.any()), "there are cuts although n_cells is None")
        check_within(n_cuts, 0, len(arrays["cuts"]), "the number of cuts of a column")
        check(not n_cuts[~is_number].any(), "a column without numbers has cuts")
        n_centres = np.where(is_number, n_cuts + 1, 0)
        check_within(n_codes, 0, MAX_CODES, "the number of codes of a column")
        check(
            (n_codes == n_centres)[is_number].all(),
            "the number of cells of a column is not its number of cuts plus one",
        )
        check(arrays["cuts"].shape == (n_cuts.sum(),), "the number of cuts is not the sum over the columns")
        check(arrays["centres"].shape == (n_centres.sum(),), "the number of centres is not the number of cells")
        was_float32 = arrays["cuts"].dtype == np.float32  # an older format, without origins
        origins = np.zeros(len(is_categorical)) if was_float32 else arrays["origins"]
        is_valid = origins.shape == is_categorical.shape and origins.dtype == np.float64
        check(is_valid and (np.abs(origins) <= MAX_NUMBER).all(), "the origins are not one finite number per column")
        has_types = (was_float32 or arrays["cuts"].dtype == np.float64) and arrays["centres"].dtype == np.float32
        check(has_types, "the cuts or centres have a wrong type")
        for name in ("cuts", "centres"):
            check(np.isfinite(arrays[name]).all(), f"the {name} are not finite")
        cuts = np.split(arrays["cuts"].astype(np.float64), np.cumsum(n_cuts)[:-1])
        check(all((np.diff(each) > 0).all() for each in cuts), "the cuts of a column are not ascending")
        centres = np.split(arrays["centres"], np.cumsum(n_centres)[:-1])
        n_spans = int((n_codes - is_number).clip(min=0).sum())  # checked before a list of this length is made
        check(arrays["spans"].shape == (n_spans, 3), f"there are {len(arrays['spans'])} spans instead of {n_spans}")
        expected = [
            (column, float(code), UNUSED_SPAN if is_number[column] else float(code))
            for column, n in enumerate(n_codes.tolist())
            for code in range(int(is_number[column]), n)
        ]
        spans = tuple((column, low, high) for column, low, high in arrays["spans"].tolist())
        check(sorted(spans) == expected, "the spans do not match the cells")
        spans = tuple((int(column), low, high) for column, low, high in spans)
        own = is_number.copy(), is_categorical, n_codes.copy(), tuple(cuts), tuple(centres)
        return cls(*own, spans, as_they_are, origins.copy())


def branch_rule(schema: Schema, cells: Discretisation, index: int, codes: Iterable[int]) -> str:
    """The rule of a branch, as text: the codes that it takes; the code past the last stands for missing."""
    column, n_codes, taken = schema.columns[index], cells.n_codes[index], sorted(codes)
    missing, taken = n_codes in taken, [code for code in taken if code < n_codes]
    terms = []
    if isinstance(column, Categorical):
        names = [column.categories[code] if code < len(column.categories) else "any other" for code in taken]
        terms = [
            f"{column.name} = {names[0]}" if len(names) == 1 else f"{column.name} in {{{', '.join(names)}}}"
        ] * bool(names)
    else:
        cuts = cells.cuts[index]
        for low, high in _runs(taken):
            has_lower, has_upper = low > 0, high < len(cuts)
            if has_lower and has_upper:
                terms.append(f"{cut_text(cuts[low - 1])} < {column.name} <= {cut_text(cuts[high])}")
            elif has_lower or has_upper:
                end = f"> {cut_text(cuts[low - 1])}" if has_lower else f"<= {cut_text(cuts[high])}"
                terms.append(f"{column.name} {end}")
            else:
                terms.append(f"{column.name} is known")
    return " or ".join([*terms, *[f"{column.name} is missing"] * missing])


def _runs(codes: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive codes, as first and last."""
    starts = [code for code in codes if code - 1 not in codes]
    return list(zip(starts, [code for code in codes if code + 1 not in codes], strict=True))


def _cuts(column: Categorical | Numerical, values: Floats, n_cells: int | None) -> Floats:
    if isinstance(column, Categorical) or n_cells is None:
        return np.zeros(0)
    cuts: Floats = np.unique(rounded(np.array(column.learn(values).cuts(n_cells), np.float64)))
    return cuts


def _centres(values: Floats, cuts: Floats, origin: float) -> Float32s:
    """The mean of each cell's values less the origin; of an empty cell, the nearest cut."""
    known = np.clip(values, -MAX_NUMBER, MAX_NUMBER)
    cell = np.searchsorted(cuts, known, side="left")
    n = len(cuts) + 1
    count, total = np.bincount(cell, minlength=n), np.bincount(cell, known - origin, minlength=n)
    nearest = np.clip(np.append(cuts, cuts[-1:]) if len(cuts) else np.zeros(1), -MAX_NUMBER, MAX_NUMBER) - origin
    return np.where(count > 0, total / np.maximum(count, 1), nearest).astype(np.float32)
