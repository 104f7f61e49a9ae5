"""Stacking of classifiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.ensembles.batch_ensemble import BatchEnsemble, FittedClassifier, check_classifier, fit_copy
from stumpery.ensembles.one_versus_rest import ungrouped
from stumpery.ensembles.softmax_regression import SoftmaxRegression
from stumpery.errors import InvalidInput
from stumpery.models import Model
from stumpery.options import check_whole
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check
from stumpery.streaming import HoeffdingTreeClassifier
from stumpery.types import Floats, Integers

N_EPOCHS = 20  # of the regression over the members' outputs


@dataclass(kw_only=True, eq=False)
class Stacking(BatchEnsemble):
    """Stacking: a model of classifiers' cross-validated probabilities (Wolpert 1992), by default a logistic regression.

    Args:
        models: A list of classifiers, ours or scikit-learn's; they are copied. Empty is a `HoeffdingTreeClassifier`.
        n_folds: The number of folds of the cross-validation, 2 to 100. 5 trains the members six times.
        final_model: The classifier that combines the members' probabilities, ours or scikit-learn's; it is copied. None
            is a logistic regression.
        seed: Seed of the folds and of the members.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> model = Stacking(models=[HoeffdingTreeClassifier(), HoeffdingTreeClassifier(max_depth=0)])
    >>> bool((model.fit(rows, rows[:, 0] > 0.5).predict(rows) == (rows[:, 0] > 0.5)).mean() > 0.9)
    True
    """

    models: Sequence[Model | FittedClassifier] = ()
    n_folds: int = 5
    final_model: Model | FittedClassifier | None = None

    def __post_init__(self) -> None:
        check_whole("n_folds", self.n_folds, 2, 100)
        if not isinstance(self.models, list | tuple):
            raise InvalidInput("models must be a list of models")
        super().__post_init__()
        check_classifier(*self._final_recipes())
        self._meta = SoftmaxRegression()
        self._final: list[Any] = []  # the trained copy of `final_model`, if there is one

    def _final_recipes(self) -> list[Any]:
        return [] if self.final_model is None else [self.final_model]

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
        self._final = [fit_copy(each, outputs, labels, self.classes, self.seed) for each in self._final_recipes()]
        for _ in range(0 if self._final else N_EPOCHS):
            for row, code in zip(outputs, codes.tolist(), strict=True):
                self._meta.learn(np.append(row, 1.0), code)

    def _combined(self, rows: Any) -> Floats:
        """The final model's probabilities, given the members'."""
        outputs = np.hstack([self._outputs(member, rows) for member in self.members])
        if self._final:
            return self._outputs(self._final[0], outputs)
        return np.array([self._meta.probabilities(np.append(row, 1.0)) for row in outputs]).reshape(
            -1, len(self.classes)
        )

    def _new_meta(self) -> SoftmaxRegression:
        """A regression of the final size."""
        meta = SoftmaxRegression(classes=list(range(len(self.classes))))
        meta.probabilities(np.zeros(1 + len(self.members) * len(self.classes)))
        return meta

    # Files: the final model is the last of the models.

    def _options(self) -> Options:
        options = {**super()._options(), "_has_final_model": self.final_model is not None}
        return {name: option for name, option in options.items() if name != "final_model"}

    def _members(self) -> Mapping[str, Any]:
        recipes = [*self._given(), *self._final_recipes()]
        return {"_recipes": recipes, "_members": ungrouped([*self.members, *self._final])}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        arguments = super()._arguments(options, arrays, learned)
        if not learned.pop("_has_final_model", False):  # not in files of former versions
            return arguments
        *models, final_model = arguments["models"]
        return {**arguments, "models": models, "final_model": final_model}

    def _arrays(self) -> Arrays:
        return self._meta.arrays()

    def _restore_combination(self, arrays: Arrays) -> None:
        if self.members:
            self._final = [self.members.pop() for _ in self._final_recipes()]
            check(len(self.members) == len(self._recipes()), "its classes do not match those of its models")
            self._meta = self._new_meta()
        super()._restore_combination(arrays)
