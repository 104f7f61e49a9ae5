"""Predictor bank: many click predictors as a few sets of arrays, and other learners beside them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import tree_bank_kernels as tree_bank
from stumpery.clicks import univariate_bank_kernels as univariate_bank
from stumpery.clicks.partition_kernels import SETTING_M, SETTING_PRIOR
from stumpery.clicks.predictor_bank_validation import validate_tree_bank, validate_univariate_bank
from stumpery.clicks.tree_bank_kernels import TreeBank
from stumpery.clicks.univariate_bank_kernels import UnivariateBank
from stumpery.errors import InvalidInput
from stumpery.options import is_number, shown
from stumpery.saving.validation import check
from stumpery.summaries.quantile_streams_kernels import new_scratch_tuples
from stumpery.types import Floats, Integers

FIXED_ARRAYS = frozenset({"columns", "hashes", "kinds", "limits", "settings", "features"})  # set by options


class BinaryLearner(Protocol):
    """Protocol of binary classifiers with river's verbs."""

    def learn_one(self, x: Any, y: Any) -> Any:
        """Learn one row and its label."""

    def predict_proba_one(self, x: Any) -> Any:
        """A dict from labels to probabilities."""


class PredictorConfig(NamedTuple):
    """The configuration of one univariate predictor."""

    column: int
    function: int  # 0, or the number of a further hash function of a category
    kind: int
    max_tuples: int
    n_cuts: int
    settings: Sequence[float]


class TreeConfig(NamedTuple):
    """The configuration of several random trees of one bank."""

    features: Integers  # (trees, n_features)
    settings: Floats
    n_leaves: int


class PredictorBank:
    """All predictors of a model: their outputs for rows, and learning an event, in a few calls.

    Args:
        predictors: univariate predictors, which become one bank.
        trees: random trees, which become a bank for each configuration.
        learners: other learners, which are called one by one.
    """

    def __init__(
        self, predictors: Sequence[PredictorConfig], trees: Sequence[TreeConfig], learners: Sequence[BinaryLearner] = ()
    ) -> None:
        self.learners = list(learners)
        self.univariate = _new_univariate_bank(predictors) if predictors else None
        self.tree_banks = [tree_bank.new_tree_bank(*config) for config in trees]
        self.n_outputs = len(predictors) + sum(len(config.features) for config in trees) + len(self.learners)
        self._scratch = [new_scratch_tuples(bank.streams) for bank in self._banks()]

    def outputs(self, matrix: Floats, rows: Sequence[Any] | None) -> Floats:
        """The output of each predictor, (rows, predictors); without `rows`, 0 for the other learners."""
        outputs = np.empty((len(matrix), self.n_outputs))
        start = 0
        if self.univariate is not None:
            univariate_bank.predict(outputs, self.univariate, matrix, 0)
            start = len(self.univariate.columns)
        for bank in self.tree_banks:
            tree_bank.predict(outputs, bank, matrix, start)
            start += len(bank.features)
        for column, learner in enumerate(self.learners, start):
            outputs[:, column] = 0.0 if rows is None else [click_probability(learner, row) for row in rows]
        return outputs

    def learn(self, row: Floats, raw: Any, label: int, weights: Integers) -> None:
        """Learn an event in each predictor, as often as its weight; `raw` is the row, not encoded."""
        start = 0
        scratch = iter(self._scratch)
        if self.univariate is not None:
            start = len(self.univariate.columns)
            univariate_bank.learn(self.univariate, *next(scratch), row, label, weights[:start])
        for bank in self.tree_banks:
            end = start + len(bank.features)
            tree_bank.learn(bank, *next(scratch), row, label, weights[start:end])
            start = end
        for learner, weight in zip(self.learners, weights[start:].tolist(), strict=True):
            for _ in range(weight):
                learner.learn_one(raw, bool(label))

    def contributions(self, row: Floats, weights: Floats) -> Floats:
        """The contribution of each column: how much it moves the weighted outputs from the predictors' averages."""
        outputs = self.outputs(row[np.newaxis], None)[0]
        contributions = np.zeros(len(row))
        start = 0
        if self.univariate is not None:
            start = len(self.univariate.columns)
            moved = weights[:start] * (outputs[:start] - self.averages())
            np.add.at(contributions, self.univariate.columns, moved)
        for bank in self.tree_banks:
            end = start + len(bank.features)
            tree_bank.add_contributions(contributions, bank, row, weights[start:end])
            start = end
        return contributions

    def averages(self) -> Floats:
        """Each univariate predictor's average probability of a click over the events that it has learned."""
        if self.univariate is None:
            return np.zeros(0)
        streams, prior, m = self.univariate.streams, *self.univariate.settings.T[[SETTING_PRIOR, SETTING_M]]
        used = np.arange(streams.values.shape[1]) < streams.sizes[:, np.newaxis]
        counts = np.where(used[:, :, np.newaxis], streams.counts, 0).sum(axis=1) + self.univariate.missing
        averages: Floats = (counts[:, 1] + m * prior) / (counts.sum(axis=1) + m)
        return averages

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, live; a bank's names begin with its number."""
        return {
            f"{number}.{name}": array
            for number, bank in enumerate(self._banks())
            for name, array in _flat(bank._asdict()).items()
        }

    def check(self, fixed: Mapping[str, NDArray[Any]]) -> None:
        """Refuse inconsistent arrays; `fixed` are those that options set."""
        own = self.arrays()
        for name, array in fixed.items():
            check(array.tobytes() == own[name].tobytes(), f"its array {name!r} does not match its options")
        if self.univariate is not None:
            validate_univariate_bank(self.univariate)
        for bank in self.tree_banks:
            validate_tree_bank(bank)

    def _banks(self) -> list[UnivariateBank | TreeBank]:
        return [*([] if self.univariate is None else [self.univariate]), *self.tree_banks]


def click_probability(learner: BinaryLearner, row: Any) -> float:
    """A learner's probability of a click, of the label True or 1; 0 while the learner has not learned that label."""
    probabilities = learner.predict_proba_one(row)
    probability: Any = probabilities.get(True, 0.0) if isinstance(probabilities, Mapping) else None
    if not is_number(probability) or not 0.0 <= probability <= 1.0 + 1e-9:
        came = f"predict_proba_one of a {type(learner).__name__} gave {shown(probabilities)}"
        raise InvalidInput(f"{came}; it must be a dict of probabilities from 0 to 1")
    return min(float(probability), 1.0)


def _new_univariate_bank(configs: Sequence[PredictorConfig]) -> UnivariateBank:
    columns, functions, kinds, limits, n_cuts, settings = zip(*configs, strict=True)
    integers = [np.array(values, np.int64) for values in (columns, functions, kinds, limits)]
    return univariate_bank.new_univariate_bank(integers, np.array(settings, np.float64), max(n_cuts))


def _flat(arrays: Mapping[str, Any], prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of nested NamedTuples, by dotted names."""
    flat: dict[str, NDArray[Any]] = {}
    for name, value in arrays.items():
        nested = hasattr(value, "_asdict")
        flat |= _flat(value._asdict(), f"{prefix}{name}.") if nested else {prefix + name: value}
    return flat
