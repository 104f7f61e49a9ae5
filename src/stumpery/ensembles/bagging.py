"""Bagging of classifiers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.ensembles.batch_ensemble import BatchEnsemble, FittedClassifier, fit_copy
from stumpery.models import Model
from stumpery.options import check_whole
from stumpery.saving.saveable import Arrays
from stumpery.streaming import HoeffdingTreeClassifier
from stumpery.types import Floats, Integers


@dataclass(kw_only=True, eq=False)
class CopiedModelEnsemble(BatchEnsemble):
    """A batch ensemble of copies of one model."""

    model: Model | FittedClassifier | None = None
    n_models: int = 10

    def __post_init__(self) -> None:
        check_whole("n_models", self.n_models, 1, 1000)
        super().__post_init__()

    def _default(self) -> Any:
        return HoeffdingTreeClassifier()

    def _recipes(self) -> list[Any]:
        return self._given() or [self._default()]

    def _given(self) -> list[Any]:
        return [] if self.model is None else [self.model]

    @classmethod
    def _options_of(cls, recipes: list[Any]) -> dict[str, Any]:
        return {"model": recipes[0] if recipes else None}


@dataclass(kw_only=True, eq=False)
class Bagging(CopiedModelEnsemble):
    """Bagging: classifiers on bootstrap samples, averaged (Breiman 1996).

    Each sample leaves about 36.8 % of the rows out; predicting these gives an estimate of the error.

    Args:
        model: The classifier whose copies are the members, ours or scikit-learn's; None is a `HoeffdingTreeClassifier`.
        n_models: The number of members, 1 to 1,000; more are slower and better, with little gain beyond some tens.
        seed: Seed of the draws; the members get `seed`, `seed + 1`, and so on.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 3))
    >>> model = Bagging(n_models=5).fit(rows, rows[:, 0] > 0.5)
    >>> bool(model.out_of_bag_error < 0.1)
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        # Rows out of some bag, errors of the vote among them; members with such rows, the sum of their error rates.
        self._estimate = np.zeros(4)

    @property
    def out_of_bag_error(self) -> float:
        """Out-of-bag error of the ensemble: each row's vote of the members that did not learn it; NaN without any."""
        n, wrong = self._estimate[:2].tolist()
        return wrong / n if n else math.nan

    @property
    def member_out_of_bag_error(self) -> float:
        """Out-of-bag error of a member, on average: larger than the ensemble's by what the vote gains."""
        n, total = self._estimate[2:].tolist()
        return total / n if n else math.nan

    def _fit(self, rows: Any, codes: Integers, labels: NDArray[Any]) -> None:
        """Train each member on a bootstrap sample, and predict the rows left out."""
        n, rng, recipe = len(codes), np.random.default_rng(self.seed), self._recipes()[0]
        votes = np.zeros((n, len(self.classes)))
        for index in range(self.n_models):
            drawn = rng.integers(0, n, n)
            left_out = np.setdiff1d(np.arange(n), drawn)
            member = fit_copy(recipe, frames.rows_at(rows, drawn), labels[drawn], self.classes, self.seed + index)
            self.members.append(member)
            if len(left_out):
                outputs = self._outputs(member, frames.rows_at(rows, left_out))
                self._estimate[2:] += 1.0, (outputs.argmax(axis=1) != codes[left_out]).mean()
                votes[left_out] += outputs
        is_predicted = votes.sum(axis=1) > 0
        self._estimate[:2] = is_predicted.sum(), (votes.argmax(axis=1) != codes)[is_predicted].sum()

    def _combined(self, rows: Any) -> Floats:
        mean: Floats = np.mean([self._outputs(member, rows) for member in self.members], axis=0)
        return mean

    def _arrays(self) -> Arrays:
        return {"estimate": self._estimate}

    def _restore_combination(self, arrays: Arrays) -> None:
        estimate = arrays.get("estimate")
        if estimate is not None and estimate.shape == (2,):  # as former versions saved it
            arrays["estimate"] = np.append(estimate, np.zeros(2))
        super()._restore_combination(arrays)
