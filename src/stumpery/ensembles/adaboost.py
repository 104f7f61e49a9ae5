"""AdaBoost, boosting of classifiers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.ensembles.bagging import CopiedModelEnsemble
from stumpery.ensembles.batch_ensemble import fit_copy
from stumpery.errors import InvalidInput
from stumpery.saving.saveable import Arrays
from stumpery.streaming import HoeffdingTreeClassifier
from stumpery.types import Floats, Integers

MIN_ERROR = 1e-10


@dataclass(kw_only=True, eq=False)
class AdaBoost(CopiedModelEnsemble):
    """AdaBoost: each classifier learns the rows weighted by the errors of those before it (Freund and Schapire 1997).

    P_1 = 1/n; alpha = ln((1 - e) / e) / 2; weights times exp(-alpha) where right and exp(alpha) where wrong, brought to
    a sum of 1; where e > 1/2 the weights are reset and the member does not vote. With K classes it is SAMME (Zhu et
    al. 2009): alpha has ln(K - 1) / 2 more, and e may be as large as 1 - 1/K, the error of guessing. The default member
    is a stump. A member that takes no weights, or whole ones only, learns rows that are drawn by them.

    Args:
        model: The classifier whose copies are the members, ours or scikit-learn's; None is a decision stump.
        n_models: The number of members, 1 to 1,000; more are slower and better, with little gain beyond some hundreds.
        seed: Seed of the draws; the members get `seed`, `seed + 1`, and so on.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> labels = rows.sum(axis=1) > 1.0
    >>> bool((AdaBoost(n_models=20).fit(rows, labels).predict(rows) == labels).mean() > 0.9)
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alphas: list[float] = []

    def _default(self) -> Any:
        return HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc")

    def _fit(self, rows: Any, codes: Integers, labels: NDArray[Any]) -> None:
        """Train one member after the other."""
        n, recipe, n_classes = len(codes), self._recipes()[0], max(len(self.classes), 2)
        weights = np.full(n, 1.0 / n)
        for index in range(self.n_models):
            member = fit_copy(recipe, rows, labels, self.classes, self.seed + index, weights * n)
            wrong = self._outputs(member, rows).argmax(axis=1) != codes
            error = float(weights[wrong].sum())
            if error > 1.0 - 1.0 / n_classes:
                weights = np.full(n, 1.0 / n)
                continue
            error = max(error, MIN_ERROR)
            alpha = 0.5 * (math.log((1.0 - error) / error) + math.log(n_classes - 1.0))
            weights = weights * np.exp(np.where(wrong, alpha, -alpha))
            weights /= weights.sum()
            self.members.append(member)
            self.alphas.append(alpha)
        if not self.members:
            raise InvalidInput("every model was less accurate than guessing: no member can be added")

    def _combined(self, rows: Any) -> Floats:
        """The shares of the members' weighted votes."""
        votes = np.zeros((frames.n_rows(rows, "X"), len(self.classes)))
        for member, alpha in zip(self.members, self.alphas, strict=True):
            votes[np.arange(len(votes)), self._outputs(member, rows).argmax(axis=1)] += alpha
        shares: Floats = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
        return shares

    def _arrays(self) -> Arrays:
        return {"alphas": np.array(self.alphas, dtype=np.float64)}

    def _restore_combination(self, arrays: Arrays) -> None:
        self.alphas = [0.0] * len(self.members)
        super()._restore_combination(arrays)
        self.alphas = arrays["alphas"].tolist()
