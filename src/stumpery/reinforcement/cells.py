"""Rows as small codes: a name's place among its column's names, a number's cell between its column's cuts.

Cuts are quantiles of the first rows, or those that a schema gives, and stay; names get their codes as they come. With
`as_they_are` numbers have one cell and are given to the network themselves, as the paper does: then no finite tree is
the policy.
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
from stumpery.reinforcement.training.learner import NEVER, UNSEEN, Spans
from stumpery.types import Floats, Integers
from stumpery.validation import check, check_within

Float32s = NDArray[np.float32]
Codes = NDArray[np.int16]
MOST_CODES = 2**15 - 1  # of a column
LARGEST = 1e15  # of a number that is given to the network: its square still fits


class Coded(NamedTuple):
    """Rows as the network takes them."""

    codes: Codes  # (rows, columns), UNSEEN where missing
    numbers: Float32s  # (rows, columns): 0 for names and where missing


@dataclass(frozen=True, eq=False)
class Cells:
    """What the codes of each column stand for. It never changes: `knowing` gives another.

    A column without a value in the first rows may turn out to hold names, or numbers, which then share one code.
    """

    is_number: NDArray[np.bool_]  # columns that are cut into cells
    is_categorical: NDArray[np.bool_]  # columns that are known to hold names
    n_codes: Integers
    cuts: tuple[Floats, ...]  # ascending; none for names
    centres: tuple[Float32s, ...]  # the number that stands for each cell, less the column's origin; none for names
    spans: tuple[tuple[int, float, float], ...]  # column, lowest and highest code, in the order of arrival
    as_they_are: bool
    origins: Floats  # what is taken off a column's numbers before the network, whose 32 bits would lose them, gets them

    @classmethod
    def of(cls, schema: Schema, rows: Floats, n_cells: int | None) -> Self:
        """Cells cut at quantiles of these rows; names have no codes yet."""
        rows = rounded(rows)
        is_categorical = np.array([isinstance(column, Categorical) for column in schema.columns])
        is_number = ~is_categorical & np.isfinite(rows).any(axis=0)
        cuts, centres, origins = [], [], np.zeros(len(is_categorical))
        for place, column in enumerate(schema.columns):
            values = rows[np.isfinite(rows[:, place]), place]
            if is_number[place]:
                origins[place] = np.clip(np.median(values), -LARGEST, LARGEST) if is_lost(values).any() else 0.0
            cuts.append(_cuts(column, values, n_cells) if is_number[place] else np.zeros(0))
            centres.append(_centres(values, cuts[-1], origins[place]) if is_number[place] else np.zeros(0, np.float32))
        spans = [(place, float(code), NEVER) for place, points in enumerate(cuts) for code in range(1, len(points) + 1)]
        n_codes = np.array([len(each) for each in centres])
        return cls(
            is_number, is_categorical, n_codes, tuple(cuts), tuple(centres), tuple(spans), n_cells is None, origins
        )

    @classmethod
    def of_names(cls, n_names: Integers) -> Self:
        """Columns of so many names each."""
        cuts, centres = tuple(np.zeros(0) for _ in n_names), tuple(np.zeros(0, np.float32) for _ in n_names)
        spans = [(place, float(code), float(code)) for place, n in enumerate(n_names.tolist()) for code in range(n)]
        is_categorical = np.ones(len(n_names), bool)
        origins = np.zeros(len(n_names))
        return cls(
            ~is_categorical, is_categorical, n_names, cuts, centres, tuple(spans), as_they_are=False, origins=origins
        )

    def coded(self, rows: Floats) -> Coded:
        """Rows, as `OpenRows` encodes them, as codes; a name that was never learned is as good as missing."""
        rows = rounded(rows)
        asked = self._arrivals(rows) - 1
        codes: Codes = np.where(asked < self.n_codes, asked, UNSEEN).astype(np.int16)
        numbers = np.zeros(rows.shape, np.float32)
        for place in np.flatnonzero(self.is_number).tolist():
            values = rows[:, place]
            is_known = np.isfinite(values)
            cell = np.searchsorted(self.cuts[place], values, side="left")
            codes[:, place] = np.where(is_known, cell, UNSEEN)
            bounded = np.clip(values, -LARGEST, LARGEST) - self.origins[place]
            worth = bounded if self.as_they_are else self.centres[place][cell]
            numbers[:, place] = np.where(is_known, worth, 0.0)
        return Coded(codes, numbers)

    def knowing(self, rows: Floats, is_categorical: NDArray[np.bool_]) -> Self:
        """What knows the names of these rows, in the order in which they come."""
        known = replace(self, is_categorical=is_categorical)
        largest = np.maximum.accumulate(known._arrivals(rows), axis=0)
        n_codes = self.n_codes.copy()
        new: list[tuple[int, float, float]] = []
        for row in np.flatnonzero((largest > n_codes).any(axis=1)).tolist():
            for place in np.flatnonzero(largest[row] > n_codes).tolist():
                new += [(place, float(code), float(code)) for code in range(n_codes[place], largest[row, place])]
                n_codes[place] = largest[row, place]
        return replace(known, n_codes=n_codes, spans=(*self.spans, *new))

    def n_within(self, rows: Floats, n_spans: int) -> int:
        """How many of the rows can be coded within so many spans."""
        largest = np.maximum.accumulate(self._arrivals(rows), axis=0)
        n_new = np.maximum(largest - self.n_codes, 0).sum(axis=1)
        return int(np.searchsorted(n_new, n_spans - len(self.spans), side="right"))

    def _arrivals(self, rows: Floats) -> Integers:
        """How many codes each value asks for: a name its own and those before it, a late number one."""
        late = np.where(self.is_categorical, rows, np.isfinite(rows))
        return np.where(self.is_number, 0, late).astype(np.int64)

    def span_arrays(self, n_spans: int) -> Spans:
        """The features of the network, with room for more."""
        table = np.full((n_spans, 3), NEVER)
        table[:, 0] = 0
        table[: len(self.spans)] = np.array(self.spans).reshape(-1, 3)
        place = np.zeros((len(self.is_categorical), n_spans if self._picks(n_spans) else 0), np.int32)
        if place.size:
            place[table[: len(self.spans), 0].astype(int), table[: len(self.spans), 1].astype(int)] = np.arange(
                len(self.spans)
            )
        column = table[:, 0].astype(np.int32)
        return Spans(column, table[:, 1].astype(np.float32), table[:, 2].astype(np.float32), place)

    def _picks(self, n_spans: int) -> bool:
        """Whether vectors are picked by name rather than multiplied: quicker where there are many names a column."""
        return not self.is_number.any() and n_spans > 4 * len(self.is_number)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as arrays."""
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
        """Rebuild from `arrays`; a ValueError says what does not fit."""
        is_number, n_codes, n_cuts = arrays["is_number"], arrays["n_codes"], arrays["n_cuts"]
        kinds = [array.dtype.kind for array in (is_number, n_codes, n_cuts)]
        shapes = {is_number.shape, n_codes.shape, n_cuts.shape}
        check(
            shapes == {is_categorical.shape} and kinds == ["b", "i", "i"],
            "its cells have other columns than its schema",
        )
        check(not (is_number & is_categorical).any(), "a column of names has cells of numbers")
        check(not (as_they_are and n_cuts.any()), "numbers are taken as they are, but there are cuts")
        check_within(n_cuts, 0, len(arrays["cuts"]), "the number of cuts of a column")
        check(not n_cuts[~is_number].any(), "a column without numbers has cuts")
        n_centres = np.where(is_number, n_cuts + 1, 0)
        check_within(n_codes, 0, MOST_CODES, "the number of codes of a column")
        check((n_codes == n_centres)[is_number].all(), "a column has another number of cells than its cuts make")
        check(arrays["cuts"].shape == (n_cuts.sum(),), "there is another number of cuts than the columns say")
        check(arrays["centres"].shape == (n_centres.sum(),), "there is another number of centres than the cuts make")
        was_narrow = arrays["cuts"].dtype == np.float32  # saved when numbers had 32 bits, and no origins
        origins = np.zeros(len(is_categorical)) if was_narrow else arrays["origins"]
        fits = origins.shape == is_categorical.shape and origins.dtype == np.float64
        check(fits and (np.abs(origins) <= LARGEST).all(), "its origins are not finite numbers, one for each column")
        kinds_fit = (was_narrow or arrays["cuts"].dtype == np.float64) and arrays["centres"].dtype == np.float32
        check(kinds_fit, "its cuts or centres are of another type")
        for name in ("cuts", "centres"):
            check(np.isfinite(arrays[name]).all(), f"its {name} are not finite")
        cuts = np.split(arrays["cuts"].astype(np.float64), np.cumsum(n_cuts)[:-1])
        check(all((np.diff(each) > 0).all() for each in cuts), "the cuts of a column do not ascend")
        centres = np.split(arrays["centres"], np.cumsum(n_centres)[:-1])
        n_spans = int((n_codes - is_number).clip(min=0).sum())  # known before a list is made of them
        check(arrays["spans"].shape == (n_spans, 3), f"there are {len(arrays['spans'])} features, not {n_spans}")
        expected = [
            (place, float(code), NEVER if is_number[place] else float(code))
            for place, n in enumerate(n_codes.tolist())
            for code in range(int(is_number[place]), n)
        ]
        spans = tuple((column, low, high) for column, low, high in arrays["spans"].tolist())
        check(sorted(spans) == expected, "its features are not those of its cells")
        spans = tuple((int(column), low, high) for column, low, high in spans)
        own = is_number.copy(), is_categorical, n_codes.copy(), tuple(cuts), tuple(centres)
        return cls(*own, spans, as_they_are, origins.copy())


def rule_of(schema: Schema, cells: Cells, place: int, codes: Iterable[int]) -> str:
    """What a step from a query to these answers means; the code past the last stands for missing."""
    column, chosen = schema.columns[place], sorted(codes)
    missing, chosen = cells.n_codes[place] in chosen, [code for code in chosen if code < cells.n_codes[place]]
    words = []
    if isinstance(column, Categorical):
        meant = [column.categories[code] if code < len(column.categories) else "any other" for code in chosen]
        words = [
            f"{column.name} = {meant[0]}" if len(meant) == 1 else f"{column.name} in {{{', '.join(meant)}}}"
        ] * bool(meant)
    else:
        cuts = cells.cuts[place]
        for low, high in _runs(chosen):
            above, upto = low > 0, high < len(cuts)
            if above and upto:
                words.append(f"{cut_text(cuts[low - 1])} < {column.name} <= {cut_text(cuts[high])}")
            elif above or upto:
                end = f"> {cut_text(cuts[low - 1])}" if above else f"<= {cut_text(cuts[high])}"
                words.append(f"{column.name} {end}")
            else:
                words.append(f"{column.name} is known")
    return " or ".join([*words, *[f"{column.name} is missing"] * missing])


def _runs(codes: list[int]) -> list[tuple[int, int]]:
    """Neighbouring codes as their first and last."""
    starts = [code for code in codes if code - 1 not in codes]
    return list(zip(starts, [code for code in codes if code + 1 not in codes], strict=True))


def _cuts(column: Categorical | Numerical, values: Floats, n_cells: int | None) -> Floats:
    if isinstance(column, Categorical) or n_cells is None:
        return np.zeros(0)
    found: Floats = np.unique(rounded(np.array(column.learn(values).cuts(n_cells), np.float64)))
    return found


def _centres(values: Floats, cuts: Floats, origin: float) -> Float32s:
    """The mean of each cell's values, less the origin; the nearest cut where there are none."""
    known = np.clip(values, -LARGEST, LARGEST)
    cell = np.searchsorted(cuts, known, side="left")
    n = len(cuts) + 1
    count, total = np.bincount(cell, minlength=n), np.bincount(cell, known - origin, minlength=n)
    nearest = np.clip(np.append(cuts, cuts[-1:]) if len(cuts) else np.zeros(1), -LARGEST, LARGEST) - origin
    return np.where(count > 0, total / np.maximum(count, 1), nearest).astype(np.float32)
