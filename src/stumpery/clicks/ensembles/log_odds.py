"""Log-linear ensemble: the sum of the log ratios of click predictors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import score_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.clicks.partition_kernels import MIN_PROBABILITY, OUTPUT_LOG_RATIO, SETTING_OUTPUT
from stumpery.clicks.predictor_bank import PredictorBank
from stumpery.clicks.predictors.predictor import Predictor
from stumpery.clicks.tree_bank_kernels import add_contributions
from stumpery.encoding import Schema
from stumpery.options import check_whole
from stumpery.saving.validation import MAX_EVENT_COUNT, check_within
from stumpery.types import Floats, Integers

MAX_EXPONENT = 700.0  # exp of more is infinite


@dataclass(kw_only=True, eq=False)
class LogOdds(PredictorEnsemble):
    """A log-linear ensemble, like naive Bayes: the sum over predictors of log(probability / average probability).

    In an average of probabilities, many uninformative columns outweigh a few informative ones; here an uninformative
    column adds nothing. A large `m` of the predictors keeps the log ratios of few clicks small.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.
        thin: learn one in so many rows without a click, from 1 to 1,000, and count it for all of them: where clicks are
            rare, this saves time and loses little.

    >>> from stumpery.clicks import UnivariateTree
    >>> model = LogOdds(predictors=[UnivariateTree(categories=True, m=20.0)])
    >>> rows = [{"age": event % 60, "device": ("phone", "watch")[event % 2]} for event in range(3000)]
    >>> model.learn_many(rows, [row["age"] > 40 and row["device"] == "watch" for row in rows])
    >>> best, next_best = model.score_many([{"age": 51, "device": "watch"}, {"age": 50, "device": "phone"}])
    >>> bool(best > next_best)
    True
    """

    thin: int = 1

    uses_outputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole("thin", self.thin, 1, 1000)
        super().__post_init__()

    def _new_bank(self, schema: Schema) -> PredictorBank:
        bank = super()._new_bank(schema)
        if bank.univariate is not None:  # their outputs are log ratios from the start
            bank.univariate.settings[:, SETTING_OUTPUT] = OUTPUT_LOG_RATIO
            bank.univariate.partitions.probabilities[:] = 0.0
        self._weights = np.ones(bank.n_outputs)
        self._means: Floats = np.zeros(len(bank.learners))
        return bank

    def _allocate(self, n: int) -> None:
        self._seen: Integers = np.zeros(2, np.int64)
        self._left_out: Integers = np.zeros(1, np.int64)

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        bank = self._predictors()
        if bank.learners:
            outputs = bank.outputs(row[np.newaxis], [raw])[0, -len(bank.learners) :]
            self._means += (outputs - self._means) * (weight / (self._seen.sum() + weight))
        self._seen[label] += weight
        if label == 0 and self.thin > 1:
            left_out = int(self._left_out[0]) + weight
            self._left_out[0] = 0 if left_out >= self.thin else left_out
            if left_out < self.thin:
                return
            weight = left_out
        super()._learn(row, raw, label, weight)

    def _outputs(self, matrix: Floats, rows: Any) -> Floats:
        bank = self._predictors()
        outputs = super()._outputs(matrix, rows)
        if bank.tree_banks or bank.learners:
            averages = [*(trees.probabilities[: len(trees.features)] for trees in bank.tree_banks), self._means]
            kernels.take_log_ratios(outputs, np.concatenate(averages))
        return outputs

    def _initial_scores(self, n: int) -> Floats:
        return np.zeros(n)

    def _probabilities(self, scores: Floats) -> Floats:
        first = self.predictors[0][0]
        prior, m = (first.prior, first.m) if isinstance(first, Predictor) else (0.5, 1.0)
        clicks, count = (0, 0) if self._bank is None else (int(self._seen[1]), int(self._seen.sum()))
        average = (clicks + m * prior) / (count + m)
        probabilities: Floats = np.minimum(average * np.exp(np.minimum(scores, MAX_EXPONENT)), 1.0)
        return probabilities

    def _contributions(self, row: Floats) -> Floats:
        bank = self._predictors()
        outputs = bank.outputs(row[np.newaxis], None)[0]
        contributions = np.zeros(len(row))
        start = 0
        if bank.univariate is not None:
            start = len(bank.univariate.columns)
            np.add.at(contributions, bank.univariate.columns, outputs[:start])
        for trees in bank.tree_banks:  # a tree's log ratio is shared out as its change of probability is
            end = start + len(trees.features)
            roots = trees.probabilities[: end - start]
            moved = outputs[start:end] - roots
            ratios = np.log(np.maximum(outputs[start:end], MIN_PROBABILITY) / np.maximum(roots, MIN_PROBABILITY))
            weights = np.where(moved == 0.0, 0.0, ratios / np.where(moved == 0.0, 1.0, moved))
            add_contributions(contributions, trees, row, weights)
            start = end
        return contributions

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays()
        return {**arrays, "seen": self._seen, "left_out": self._left_out} if arrays else {}

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._bank is not None:
            check_within(self._left_out, 0, self.thin - 1, "the number of rows left out by thinning")
            check_within(self._seen, 0, MAX_EVENT_COUNT, "the number of events of a class")
