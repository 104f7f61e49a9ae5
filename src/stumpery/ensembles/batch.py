"""Ensembles of a table: bagging with an out-of-bag error, AdaBoost, stacking.

Members are estimators of scikit-learn, or learners of ours, which learn a table in one go. Classes only.
"""

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.ensembles.softmax import Softmax
from stumpery.options import check_whole, shown
from stumpery.streams import transforms
from stumpery.trees import HoeffdingTreeClassifier
from stumpery.trees.classes import coded
from stumpery.types import Floats, Integers

LEAST_ERROR = 1e-10
N_EPOCHS = 20  # of the regression over the members' outputs


@dataclass(kw_only=True, eq=False)
class BatchEnsemble:
    """What the three share. `model` is copied, never trained; by default it is a tree of ours, as deep as fits."""

    model: Any = None
    n_models: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n_models", self.n_models, 1, 1000)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        for model in self._recipes():
            if isinstance(model, type) or not (hasattr(model, "fit") or hasattr(model, "learn_many")):
                raise ValueError(f"a model is {shown(model)}; it must have fit or learn_many")
        self.members: list[Any] = []
        self.classes: list[Any] = []

    def _recipes(self) -> list[Any]:
        return [HoeffdingTreeClassifier() if self.model is None else self.model]

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - as scikit-learn names it
        """The likeliest class of each row."""
        found: NDArray[Any] = np.array(self.classes)[self.predict_proba(X).argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The chances of `classes`, (rows, classes)."""
        raise NotImplementedError

    def _begin(self, rows: Any, y: Any) -> Integers:
        self.classes, codes = coded(y, [])
        if frames.n_rows(rows, "X") != len(codes) or len(codes) == 0:
            raise ValueError(
                f"there are {frames.n_rows(rows, 'X')} rows and {len(codes)} labels; give as many, and some"
            )
        self.members = []
        return codes.astype(np.int64)

    def _outputs(self, member: Any, rows: Any) -> Floats:
        """A member's chances, in the order of `classes`."""
        chances = np.zeros((frames.n_rows(rows, "X"), len(self.classes)))
        own = member.classes_.tolist() if hasattr(member, "classes_") else list(member.classes)
        places = [self.classes.index(label) for label in own]
        chances[:, places] = member.predict_proba(rows) if hasattr(member, "fit") else member.predict_proba_many(rows)
        return chances


def trained(recipe: Any, rows: Any, labels: NDArray[Any], weights: Floats | None, seed: int) -> Any:
    """A copy that has learned these rows."""
    if hasattr(recipe, "fit"):
        member = deepcopy(recipe)
        if hasattr(member, "random_state"):
            member.random_state = seed
        return member.fit(rows, labels) if weights is None else member.fit(rows, labels, sample_weight=weights)
    member = recipe.fresh(seed)
    member.learn_many(rows, labels, weights)
    return member


@dataclass(kw_only=True, eq=False)
class Bagging(BatchEnsemble):
    """Members on bootstrap samples, averaged; each leaves about 36.8 % of the rows out, which gives an error.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 3))
    >>> model = Bagging(n_models=5).fit(rows, rows[:, 0] > 0.5)
    >>> bool(model.out_of_bag_error < 0.1)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Draw, learn, and predict what was left out."""
        codes = self._begin(X, y)
        n, rng = len(codes), np.random.default_rng(self.seed)
        labels, votes = np.array(self.classes)[codes], np.zeros((n, len(self.classes)))
        for place in range(self.n_models):
            drawn = rng.integers(0, n, n)
            left_out = np.setdiff1d(np.arange(n), drawn)
            member = trained(self._recipes()[0], transforms.take(X, drawn), labels[drawn], None, self.seed + place)
            self.members.append(member)
            if len(left_out):
                votes[left_out] += self._outputs(member, transforms.take(X, left_out))
        told = votes.sum(axis=1) > 0
        wrong = votes.argmax(axis=1) != codes
        self.out_of_bag_error = float(wrong[told].mean()) if told.any() else math.nan
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The mean of the members' chances."""
        found: Floats = np.mean([self._outputs(member, X) for member in self.members], axis=0)
        return found


@dataclass(kw_only=True, eq=False)
class AdaBoost(BatchEnsemble):
    """Each member learns the rows as weighted by the mistakes of those before it.

    P_1 = 1/n; alpha = ln((1 - e) / e) / 2; weights times exp(-alpha) where right and exp(alpha) where wrong, brought to
    a sum of 1; where e > 1/2 the weights start anew and the member does not vote. The default member is a stump.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> labels = rows.sum(axis=1) > 1.0
    >>> bool((AdaBoost(n_models=20).fit(rows, labels).predict(rows) == labels).mean() > 0.9)
    True
    """

    def _recipes(self) -> list[Any]:
        return [HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc") if self.model is None else self.model]

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn member after member."""
        codes = self._begin(X, y)
        n, labels = len(codes), np.array(self.classes)[codes]
        weights = np.full(n, 1.0 / n)
        self.alphas: list[float] = []
        for place in range(self.n_models):
            member = trained(self._recipes()[0], X, labels, weights * n, self.seed + place)
            wrong = self._outputs(member, X).argmax(axis=1) != codes
            error = float(weights[wrong].sum())
            if error > 0.5:
                weights = np.full(n, 1.0 / n)
                continue
            error = max(error, LEAST_ERROR)
            alpha = 0.5 * math.log((1.0 - error) / error)
            weights = weights * np.exp(np.where(wrong, alpha, -alpha))
            weights /= weights.sum()
            self.members.append(member)
            self.alphas.append(alpha)
        if not self.members:
            raise ValueError("every model was wrong more often than right; there is nothing to vote with")
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The shares of the weighted votes."""
        votes = np.zeros((frames.n_rows(X, "X"), len(self.classes)))
        for member, alpha in zip(self.members, self.alphas, strict=True):
            votes[np.arange(len(votes)), self._outputs(member, X).argmax(axis=1)] += alpha
        found: Floats = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
        return found


@dataclass(kw_only=True, eq=False)
class Stacking(BatchEnsemble):
    """A logistic regression over the members' chances for rows that they had not seen (cross-validated).

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.random((500, 2))
    >>> model = Stacking(models=[HoeffdingTreeClassifier(), HoeffdingTreeClassifier(max_depth=0)])
    >>> bool((model.fit(rows, rows[:, 0] > 0.5).predict(rows) == (rows[:, 0] > 0.5)).mean() > 0.9)
    True
    """

    models: Any = ()
    n_folds: int = 5

    def __post_init__(self) -> None:
        check_whole("n_folds", self.n_folds, 2, 100)
        super().__post_init__()

    def _recipes(self) -> list[Any]:
        return list(self.models) or super()._recipes()

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn on all folds but one, predict that one, learn the regression, then learn on all."""
        codes = self._begin(X, y)
        n, recipes = len(codes), self._recipes()
        labels, folds = np.array(self.classes)[codes], np.random.default_rng(self.seed).permutation(n) % self.n_folds
        outputs = np.zeros((n, len(recipes) * len(self.classes)))
        for fold in range(self.n_folds):
            here, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            if len(here) and len(rest):
                parts = [trained(each, transforms.take(X, rest), labels[rest], None, self.seed) for each in recipes]
                seen = transforms.take(X, here)
                outputs[here] = np.hstack([self._outputs(member, seen) for member in parts])
        self.members = [trained(each, X, labels, None, self.seed) for each in recipes]
        self._meta = Softmax(classes=list(range(len(self.classes))))
        for _ in range(N_EPOCHS):
            for row, code in zip(outputs, codes.tolist(), strict=True):
                self._meta.learn(np.append(row, 1.0), code)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """What the regression makes of the members' chances."""
        outputs = np.hstack([self._outputs(member, X) for member in self.members])
        return np.array([self._meta.chances(np.append(row, 1.0)) for row in outputs])
