"""Stacking of classifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.ensembles.batch_ensemble import BatchEnsemble, FittedClassifier, fit_copy
from stumpery.ensembles.softmax_regression import SoftmaxRegression
from stumpery.errors import InvalidInput
from stumpery.models import Model
from stumpery.options import check_whole
from stumpery.saving.saveable import Arrays
from stumpery.streaming import HoeffdingTreeClassifier
from stumpery.types import Floats, Integers

N_EPOCHS = 20  # of the regression over the members' outputs


@dataclass(kw_only=True, eq=False)
class Stacking(BatchEnsemble):
    """Stacking: a logistic regression over classifiers' cross-validated probabilities (Wolpert 1992).

    Args:
        models: A list of classifiers, ours or scikit-learn's; they are copied. Empty is a `HoeffdingTreeClassifier`.
        n_folds: The number of folds of the cross-validation, 2 to 100. 5 trains the members six times.
        seed: Seed of the folds and of the members.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> model = Stacking(models=[HoeffdingTreeClassifier(), HoeffdingTreeClassifier(max_depth=0)])
    >>> bool((model.fit(rows, rows[:, 0] > 0.5).predict(rows) == (rows[:, 0] > 0.5)).mean() > 0.9)
    True
    """

    models: Sequence[Model | FittedClassifier] = ()
    n_folds: int = 5

    def __post_init__(self) -> None:
        check_whole("n_folds", self.n_folds, 2, 100)
        if not isinstance(self.models, list | tuple):
            raise InvalidInput("models must be a list of models")
        super().__post_init__()
        self._meta = SoftmaxRegression()

    def _recipes(self) -> list[Any]:
        return self._given() or [HoeffdingTreeClassifier()]

    def _given(self) -> list[Any]:
        return list(self.models)

    @classmethod
    def _options_of(cls, recipes: list[Any]) -> dict[str, Any]:
        return {"models": recipes}

    def _fit(self, rows: Any, codes: Integers, labels: NDArray[Any]) -> None:
        """Predict each fold from the others, train the regression on that, then the members on all rows."""
        n, recipes = len(codes), self._recipes()
        folds = np.random.default_rng(self.seed).permutation(n) % self.n_folds
        outputs = np.zeros((n, len(recipes) * len(self.classes)))
        for fold in range(self.n_folds):
            test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if len(test) and len(train):
                train_rows, test_rows = frames.rows_at(rows, train), frames.rows_at(rows, test)
                members = [fit_copy(each, train_rows, labels[train], self.classes, self.seed) for each in recipes]
                outputs[test] = np.hstack([self._outputs(member, test_rows) for member in members])
        self.members = [fit_copy(each, rows, labels, self.classes, self.seed) for each in recipes]
        self._meta = self._new_meta()
        for _ in range(N_EPOCHS):
            for row, code in zip(outputs, codes.tolist(), strict=True):
                self._meta.learn(np.append(row, 1.0), code)

    def _combined(self, rows: Any) -> Floats:
        """The regression's probabilities, given the members'."""
        outputs = np.hstack([self._outputs(member, rows) for member in self.members])
        return np.array([self._meta.probabilities(np.append(row, 1.0)) for row in outputs]).reshape(
            -1, len(self.classes)
        )

    def _new_meta(self) -> SoftmaxRegression:
        """A regression of the final size."""
        meta = SoftmaxRegression(classes=list(range(len(self.classes))))
        meta.probabilities(np.zeros(1 + len(self.members) * len(self.classes)))
        return meta

    def _arrays(self) -> Arrays:
        return self._meta.arrays()

    def _restore_combination(self, arrays: Arrays) -> None:
        if self.members:
            self._meta = self._new_meta()
        super()._restore_combination(arrays)
