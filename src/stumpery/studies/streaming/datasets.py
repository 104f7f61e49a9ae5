"""The datasets of the studies of classification, as streams: shuffled, but for electricity, which has an order."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.streams.datasets import load as datasets

if TYPE_CHECKING:
    import polars as pl

TARGETS = {
    "adult": "income",
    "nursery": "class",
    "mushroom": "class",
    "skin": "class",
    "poker": "CLASS",
    "covtype": "Cover_Type",
    "electricity": "class",
}
ORDERED = ("electricity",)
LEFT_OUT = ("split",)  # which part of the original files a row came from


class Source(NamedTuple):
    """Rows and labels."""

    rows: "pl.DataFrame"
    labels: list[Any]


def source(name: str, n: int, seed: int) -> Source:
    """The first n events of a dataset's stream."""
    datasets.path(name)  # says in one sentence that it is not here
    frame = datasets.load(name)
    target = TARGETS[name]
    order = np.arange(frame.height) if name in ORDERED else np.random.default_rng(seed).permutation(frame.height)
    chosen = frame[order[:n]]
    return Source(
        chosen.drop([target, *(each for each in LEFT_OUT if each in frame.columns)]), chosen[target].to_list()
    )
