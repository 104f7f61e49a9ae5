"""Datasets as bandit problems: in bits as in the Bandit Forest's paper, or with their columns as they are."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from stumpery.encoding import BitEncoder, Schema
from stumpery.streams import ClassificationBandit, available_datasets, dataset_path, find_dataset, load_dataset

if TYPE_CHECKING:
    import polars as pl

FLIP = 0.05  # the paper's probability that a bit is inverted
CENSUS = "uscensus1990"
MAX_NAMES = 200  # more than any column has
TARGETS = {"adult": "occupation"}  # where it is not the registry's
LOCAL_SOURCES = ("folder", "cache", "library")
UNKNOWN = "?"  # the name of a missing name, as in the origin of Adult


class ContestProblem(NamedTuple):
    """A stream, and the dataset that it needs."""

    dataset: str
    open: Callable[[], ClassificationBandit]


def is_available(dataset: str) -> bool:
    """Whether a dataset can be loaded without a download."""
    return any(row.name == dataset and row.source in LOCAL_SOURCES for row in available_datasets())


def bits(dataset: str) -> ClassificationBandit:
    """Every column as bits, each inverted with the paper's probability at each step."""
    import polars as pl

    frame, target = _opened(dataset)
    contexts = frame.drop(target)
    if dataset == CENSUS:
        contexts = contexts.drop("caseid").cast(pl.String)  # its numbers are names
    contexts = contexts.with_columns(pl.col(pl.String).fill_null(UNKNOWN))
    encoder = BitEncoder(schema=Schema.infer(contexts, max_categories=MAX_NAMES))
    has_class = frame[target].is_not_null().to_numpy()
    encoded = encoder.encode_many(contexts)[has_class]
    return ClassificationBandit(contexts=encoded, labels=frame[target].drop_nulls(), flip=FLIP)


def columns(dataset: str, *, shuffle: bool = True) -> ClassificationBandit:
    """Every column as it is."""
    frame, target = _opened(dataset)
    frame = frame.drop_nulls(target)
    return ClassificationBandit(contexts=frame.drop(target), labels=frame[target], shuffle=shuffle)


def numbers(dataset: str) -> ClassificationBandit:
    """A dataset of nothing but numbers, as a matrix."""
    frame, target = _opened(dataset)
    return ClassificationBandit(contexts=frame.drop(target).to_numpy(), labels=frame[target])


def covertype_columns() -> ClassificationBandit:
    """Covertype's ten numbers, and its area and soil as two names."""
    frame, target = _opened("covtype")
    merged = {
        name: _merged(frame, [each for each in frame.columns if each.startswith(name)])
        for name in ("Wilderness_Area", "Soil_Type")
    }
    plain = [name for name in frame.columns if name != target and not name.startswith(tuple(merged))]
    return ClassificationBandit(contexts=frame.select(plain).with_columns(**merged), labels=frame[target])


CONTEST: dict[str, ContestProblem] = {
    "Covertype": ContestProblem("covtype", covertype_columns),
    "Covertype, noisy bits": ContestProblem("covtype", lambda: bits("covtype")),
    "Adult, occupation": ContestProblem("adult", lambda: columns("adult")),
    "Nursery": ContestProblem("nursery", lambda: columns("nursery")),
    "Skin": ContestProblem("skin", lambda: numbers("skin")),
    "Poker": ContestProblem("poker", lambda: numbers("poker")),
    "Mushroom": ContestProblem("mushroom", lambda: columns("mushroom")),
    "digits": ContestProblem("digits", lambda: numbers("digits")),
    "a8a": ContestProblem("a8a", lambda: numbers("a8a")),
    "electricity, in order": ContestProblem("electricity", lambda: columns("electricity", shuffle=False)),
}


def load(dataset: str) -> "pl.DataFrame":
    """Load a local dataset; a missing one raises an error and is not downloaded."""
    if not is_available(dataset):
        dataset_path(dataset)  # raises an error
    return load_dataset(find_dataset(dataset))


def _opened(dataset: str) -> tuple["pl.DataFrame", str]:
    """Load a local dataset and its target; a missing one raises an error and is not downloaded."""
    entry = find_dataset(dataset)
    if not is_available(dataset):
        dataset_path(dataset)  # raises an error
    return load_dataset(entry), TARGETS.get(dataset) or str(entry.target)


def _merged(frame: "pl.DataFrame", one_hot: list[str]) -> "pl.Series":
    """The name of the one column that is set."""
    import polars as pl

    return pl.Series([one_hot[index] for index in frame.select(one_hot).to_numpy().argmax(axis=1).tolist()])
