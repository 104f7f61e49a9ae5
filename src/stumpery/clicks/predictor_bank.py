"""Many predictors as a few sets of arrays, and foreign learners beside them: what combinations are made over."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import tree_bank_kernels as trees
from stumpery.clicks import univariate_bank_kernels as univariate
from stumpery.clicks.predictor_bank_validation import validate_random_trees, validate_univariate
from stumpery.options import is_number, shown
from stumpery.summaries.quantiles_kernels import Quantiles, Tuples, new_tuples
from stumpery.types import Floats, Integers
from stumpery.validation import check

SAVED_NAMES = {"probabilities": "chances"}  # as files call these arrays
DECIDED = frozenset({"columns", "hashes", "kinds", "limits", "settings", "features"})  # arrays that options decide


class PredictorConfig(NamedTuple):
    """One univariate predictor."""

    column: int
    function: int  # 0, or a further hash function of a name
    kind: int
    max_tuples: int
    n_cuts: int
    settings: Sequence[float]


class TreeBank(NamedTuple):
    """Several random trees of one recipe."""

    features: Integers  # (trees, n_features)
    settings: Floats
    n_leaves: int


class PredictorBank:
    """Outputs of all predictors for a row, and one event for all of them, in a few calls."""

    def __init__(
        self, specs: Sequence[PredictorConfig], groves: Sequence[TreeBank], learners: Sequence[Any] = ()
    ) -> None:
        self.specs, self.learners = list(specs), list(learners)
        self.stumps = _univariate(specs) if specs else None
        self.groves = [trees.new_random_trees(*grove) for grove in groves]
        self.n_outputs = len(specs) + sum(len(grove.features) for grove in groves) + len(self.learners)
        self._rooms = [_room(bank.streams) for bank in self._banks()]

    def outputs(self, matrix: Floats, rows: Any) -> Floats:
        """Every predictor's probability of a click, (rows, predictors); without `rows`, 0 for the foreign learners."""
        found = np.empty((len(matrix), self.n_outputs))
        start = 0
        if self.stumps is not None:
            univariate.predict(found, self.stumps, matrix, 0)
            start = len(self.stumps.columns)
        for grove in self.groves:
            trees.predict(found, grove, matrix, start)
            start += len(grove.features)
        for place, learner in enumerate(self.learners, start):
            found[:, place] = 0.0 if rows is None else [click_probability(learner, row) for row in rows]
        return found

    def learn(self, row: Floats, raw: Any, label: int, weights: Integers) -> None:
        """Give every predictor an event, as many times as its weight says."""
        start = 0
        rooms = iter(self._rooms)
        if self.stumps is not None:
            start = len(self.stumps.columns)
            univariate.learn(self.stumps, *next(rooms), row, label, weights[:start])
        for grove in self.groves:
            end = start + len(grove.features)
            trees.learn(grove, *next(rooms), row, label, weights[start:end])
            start = end
        for learner, weight in zip(self.learners, weights[start:].tolist(), strict=True):
            for _ in range(weight):
                learner.learn_one(raw, bool(label))

    def shares(self, row: Floats, weights: Floats, outputs: Floats) -> Floats:
        """By how much each column moves the weighted sum of outputs away from each predictor's own average."""
        found = np.zeros(len(row))
        start = 0
        if self.stumps is not None:
            start = len(self.stumps.columns)
            np.add.at(found, self.stumps.columns, weights[:start] * (outputs[:start] - self.averages()))
        for grove in self.groves:
            end = start + len(grove.features)
            trees.attribute(found, grove, row, weights[start:end])
            start = end
        return found

    def averages(self) -> Floats:
        """The probability that each univariate predictor gives on average over what it has learned."""
        if self.stumps is None:
            return np.zeros(0)
        streams, prior, m = self.stumps.streams, *self.stumps.settings.T[[0, 1]]
        used = np.arange(streams.values.shape[1]) < streams.sizes[:, np.newaxis]
        counts = np.where(used[:, :, np.newaxis], streams.counts, 0).sum(axis=1) + self.stumps.missing
        found: Floats = (counts[:, 1] + m * prior) / (counts.sum(axis=1) + m)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by a name of its own, live."""
        return {
            f"{place}.{name}": array
            for place, bank in enumerate(self._banks())
            for name, array in _flat(bank._asdict()).items()
        }

    def check(self, decided: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays that would lead a kernel astray; `decided` are those that options decide."""
        mine = self.arrays()
        for name, array in decided.items():
            check(array.tobytes() == mine[name].tobytes(), f"its array {name!r} is not the one of its options")
        if self.stumps is not None:
            validate_univariate(self.stumps)
        for grove in self.groves:
            validate_random_trees(grove)

    def _banks(self) -> list[Any]:
        return [*([] if self.stumps is None else [self.stumps]), *self.groves]


def click_probability(learner: Any, row: Any) -> float:
    """Any learner's probability of a click, which it may call True or 1; 0 while it knows of none."""
    probabilities = learner.predict_proba_one(row)
    probability: Any = probabilities.get(True, 0.0) if isinstance(probabilities, Mapping) else None
    if not is_number(probability) or not 0.0 <= probability <= 1.0 + 1e-9:
        came = f"predict_proba_one of a {type(learner).__name__} gave {shown(probabilities)}"
        raise ValueError(f"{came}; it must be a dict of probabilities from 0 to 1")
    return min(float(probability), 1.0)


def _univariate(specs: Sequence[PredictorConfig]) -> univariate.Univariate:
    columns, functions, kinds, limits, n_cuts, settings = zip(*specs, strict=True)
    whole = [np.array(each, np.int64) for each in (columns, functions, kinds, limits)]
    return univariate.new_univariate(whole, np.array(settings, np.float64), max(n_cuts))


def _room(streams: Quantiles) -> tuple[Tuples, Tuples]:
    room = streams.waiting.shape[1]
    return new_tuples(room, streams), new_tuples(room + streams.values.shape[1], streams)


def _flat(bundle: dict[str, Any], before: str = "") -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for name, part in bundle.items():
        own = f"{before}{SAVED_NAMES.get(name, name)}"
        found |= _flat(part._asdict(), f"{own}.") if hasattr(part, "_asdict") else {own: part}
    return found
