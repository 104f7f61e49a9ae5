"""Base of batch ensembles: classifiers that are fitted to a table, with scikit-learn's verbs.

Members are estimators of scikit-learn, or learners of ours. What was learned before stays until a new `fit` has ended.
Click predictors, which are binary, become members in sets of one for each class (one versus rest).
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.clicks.click_model import ClickModel
from stumpery.ensembles.one_versus_rest import OneVersusRest, grouped, ungrouped
from stumpery.errors import InvalidInput
from stumpery.labels.classes import class_array, encode_classes
from stumpery.models import Model, unlearned
from stumpery.options import check_whole, shown
from stumpery.saving.saveable import Arrays, Options, restore
from stumpery.saving.validation import check, corrupt
from stumpery.types import Floats, Integers


class FittedClassifier(Protocol):
    """What a batch ensemble asks of another library's classifier: scikit-learn's verbs."""

    def fit(self, X: Any, y: Any, /) -> Any:  # noqa: N803 - as scikit-learn names it
        """Fit to a table, and return itself."""

    def predict_proba(self, X: Any, /) -> Any:  # noqa: N803
        """The probabilities of the classes of each row."""


@dataclass(kw_only=True, eq=False)
class BatchEnsemble(Model):
    """An ensemble of classifiers that is fitted to a table; the members are copies of the given models."""

    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, 2**63 - 1)
        check_classifier(*self._recipes())
        self.members: list[Any] = []
        self.classes: list[Any] = []

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - as scikit-learn names it
        """Fit to a table; what was learned before is forgotten."""
        new = replace(self)
        new.classes, codes = encode_classes(y, [])
        n = frames.n_rows(X, "X")
        if n != len(codes) or n == 0:
            raise InvalidInput(f"there are {n} rows and {len(codes)} labels; give as many, and some")
        indices: Integers = codes.astype(np.int64)
        new._fit(X, indices, class_array(new.classes)[indices])
        self._become(vars(new))
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        predictions: NDArray[Any] = class_array(self.classes)[self.predict_proba(X).argmax(axis=1)]
        return predictions

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes`, (rows, classes)."""
        if not self.members:
            raise InvalidInput("nothing has been learned yet: call fit first")
        return self._combined(X)

    # Files: the states of the recipes and of the members, each under its number.

    def _options(self) -> Options:
        options = {**super()._options(), "_classes": list(self.classes)}
        return {name: option for name, option in options.items() if name not in ("model", "models")}

    def _members(self) -> Mapping[str, Any]:
        return {"_recipes": self._given(), "_members": ungrouped(self.members)}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        return {**options, **cls._options_of(learned.pop("_recipes"))}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        classes = learned.pop("_classes")
        members = grouped(learned.pop("_members"), classes)
        self.classes = encode_classes(classes, [])[0]
        known = {label for member in members for label in getattr(member, "classes", ())}
        if self.classes != classes or bool(classes) != bool(members) or not known <= set(classes):
            raise corrupt("its classes do not match those of its models")
        self.members = members
        self._restore_combination(arrays)

    def _validate_state(self) -> None:
        check(all(np.isfinite(array).all() for array in self._arrays().values()), "its numbers are not all finite")

    # What an ensemble brings.

    @abstractmethod
    def _recipes(self) -> list[Any]:
        """The models that are copied."""

    @abstractmethod
    def _given(self) -> list[Any]:
        """Those of them that the user gave."""

    @classmethod
    @abstractmethod
    def _options_of(cls, recipes: list[Any]) -> dict[str, Any]:
        """The options that give these models."""

    @abstractmethod
    def _fit(self, rows: Any, codes: Integers, labels: NDArray[Any]) -> None:
        """Train the members on labels; codes are the labels' indices among the classes."""

    @abstractmethod
    def _combined(self, rows: Any) -> Floats:
        """The probabilities of classes, combined from the members'."""

    def _restore_combination(self, arrays: Arrays) -> None:
        """Restore the arrays that were learned beside the members."""
        restore(self._arrays(), arrays)

    def _outputs(self, member: Any, rows: Any) -> Floats:
        """A member's probabilities, in the order of `classes`."""
        probabilities = np.zeros((frames.n_rows(rows, "X"), len(self.classes)))
        predict = member.predict_proba if hasattr(member, "predict_proba") else member.predict_proba_many
        own_classes = member.classes_.tolist() if hasattr(member, "classes_") else list(member.classes)
        probabilities[:, [self.classes.index(label) for label in own_classes]] = predict(rows)
        return probabilities


def check_classifier(*models: Any) -> None:
    """Refuse models that cannot be fitted or predict no probabilities."""
    for model in models:
        learns = hasattr(model, "fit") or (hasattr(model, "learn_many") and isinstance(model, Model))
        probabilities = hasattr(model, "predict_proba") or hasattr(model, "predict_proba_many")
        if isinstance(model, type) or not (learns and probabilities):
            raise InvalidInput(f"a model is {shown(model)}; it must have fit or learn_many, and predict probabilities")


def fit_copy(
    recipe: Any, rows: Any, labels: NDArray[Any], classes: Sequence[Any], seed: int, weights: Floats | None = None
) -> Any:
    """Train a copy of a model; one that takes no weights, or only whole ones, learns rows drawn by the weights."""
    verb, name = (recipe.fit, "sample_weight") if hasattr(recipe, "fit") else (recipe.learn_many, "w")
    is_binary = isinstance(recipe, ClickModel)
    if weights is not None and (is_binary or name not in signature(verb).parameters):
        n = len(labels)
        drawn = np.random.default_rng(seed).choice(n, n, p=weights / weights.sum())
        return fit_copy(recipe, frames.rows_at(rows, drawn), labels[drawn], classes, seed)
    if is_binary:
        return OneVersusRest.trained(recipe, rows, labels.tolist(), classes, seed)
    more = {} if weights is None else {name: weights}
    if not hasattr(recipe, "fit"):
        member = unlearned(recipe, seed)
        member.learn_many(rows, labels, **more)
        return member
    if isinstance(recipe, Model):
        return unlearned(recipe, seed).fit(rows, labels)
    member = deepcopy(recipe)
    for option in {"random_state", "seed"} & vars(member).keys():
        setattr(member, option, seed)
    return member.fit(rows, labels, **more)
