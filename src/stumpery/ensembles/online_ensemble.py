"""Base of online ensembles: several learners as one, with river's verbs.

A member is any object with `learn_one` and `predict_one`, and for classes `predict_proba_one`: ours, river's, another
ensemble. All members of ours check rows and labels before any of them learns.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding.declared_columns import declared
from stumpery.ensembles.averaging import (
    ClassProbabilities,
    likeliest,
    mean_number,
    mean_probabilities,
    predicts_probabilities,
)
from stumpery.errors import InvalidInput
from stumpery.labels.classes import Label, checked_class, checked_classes, class_array, encode_classes
from stumpery.labels.lists import listed_labels
from stumpery.labels.numbers import is_target
from stumpery.models import Model, unlearned
from stumpery.options import check_whole, shown
from stumpery.river import register_virtual_subclass
from stumpery.saving.saveable import Arrays, Options
from stumpery.types import Floats

MAX_MODELS = 1000
MAX_NUMBER = 1e300  # as a label; members may allow less


class OnlineLearner(Protocol):
    """What an online ensemble asks of a model: river's verbs, ours or another library's."""

    def learn_one(self, x: Any, y: Any, /) -> Any:
        """Learn one row."""

    def predict_one(self, x: Any, /) -> Any:
        """The likeliest class, or the predicted number."""


@dataclass(kw_only=True, eq=False)
class OnlineEnsemble(Model):
    """The base of ensembles of learners on a stream; the members are copies of the given models.

    Args:
        models: One learner with river's verbs, of which `n_models` copies are made, or a list of several.
        n_models: Number of copies of one learner, from 1 to 1000; None where there are several.
        seed: Seed of the random draws, from 0 to 2^63 - 1.
    """

    models: OnlineLearner | Sequence[OnlineLearner] | None = None
    n_models: int | None = None
    seed: int = 0

    takes_numbers: ClassVar[bool] = True  # whether regressors may be members
    _multiclass: ClassVar[bool] = True  # river asks for these two
    _supervised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, 2**63 - 1)
        self.members = self._copies()
        self._classes: list[Label] = []
        are_classifiers = [predicts_probabilities(member) for member in self.members]
        self.is_classifier = all(are_classifiers)
        if not self.is_classifier and not self.takes_numbers:
            raise InvalidInput(f"{type(self).__name__} takes classifiers; one of the models has no predict_proba_one")
        if not self.is_classifier and any(are_classifiers):
            raise InvalidInput("models has classifiers and regressors; they must be of one kind")
        register_virtual_subclass(type(self), "Classifier" if self.is_classifier else "Regressor")

    def _copies(self) -> list[Any]:
        given: list[Any] = list(self.models) if isinstance(self.models, Sequence) else [self.models]
        if self.n_models is not None:
            check_whole("n_models", self.n_models, 1, MAX_MODELS)
            if len(given) > 1:
                raise InvalidInput("n_models is the number of copies of one model, but models has several")
            given *= self.n_models
        for model in given:
            if isinstance(model, type) or not (hasattr(model, "learn_one") and hasattr(model, "predict_one")):
                raise InvalidInput(f"a model is {shown(model)}; it must have learn_one and predict_one")
        if not given:
            raise InvalidInput("models is empty; an ensemble needs at least one")
        return [
            unlearned(model, self.seed + index) if isinstance(model, Model) else deepcopy(model)
            for index, model in enumerate(given)
        ]

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes learned so far, in order of appearance."""
        return tuple(self._classes)

    # River's verbs.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row."""
        label = self._label(y)
        classes = self._classes_with([label])
        self._check_members([x], [label])
        self._learn_one(x, label)
        self._classes = classes

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        labels = self._labels(X, y)
        classes = self._classes_with(labels)
        self._check_members(X, labels)
        if not labels:
            return
        before = None if all(hasattr(member, "check_many") for member in self.members) else self.__getstate__()
        try:
            self._classes = classes
            self._learn_many(X, labels)
        except Exception:
            self._become(before or {})  # only others' members refuse what ours accepted
            raise

    def declare_columns(self, names: Sequence[str]) -> None:
        """Declare the columns before the first row to all members that take them."""
        self.members = declared(self.members, names)

    def check_many(self, X: Any, y: Any) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; members of other libraries are not checked."""
        labels = self._labels(X, y)
        self._classes_with(labels)
        self._check_members(X, labels)

    def predict_proba_one(self, x: Any) -> ClassProbabilities:
        """The probability of each class."""
        if not self.is_classifier:
            raise InvalidInput("these models are regressors, which have no probabilities")
        probabilities: ClassProbabilities = self._combined(self._member_outputs(x))
        return probabilities

    def predict_one(self, x: Any) -> Any:
        """The most probable class, None before the first label, or the predicted number."""
        output = self._combined(self._member_outputs(x))
        return likeliest(output) if self.is_classifier else output

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class, or the predicted number, of each row."""
        predictions = [self.predict_one(row) for row in frames.rows(X)]
        return class_array(predictions) if self.is_classifier else np.array(predictions, dtype=np.float64)

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes`, (rows, classes)."""
        outputs = [self.predict_proba_one(row) for row in frames.rows(X)]
        probabilities = [[output.get(label, 0.0) for label in self._classes] for output in outputs]
        return np.array(probabilities, dtype=np.float64).reshape(len(outputs), len(self._classes))

    # Files: the members' states, each under its number.

    def _options(self) -> Options:
        return {**super()._options(), "models": None, "n_models": None, "_classes": list(self._classes)}

    def _members(self) -> Mapping[str, Any]:
        return {"_members": self.members}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        return {**options, "models": learned["_members"]}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self.members = learned.pop("_members")
        former = [label for member in self.members for label in getattr(member, "classes", ())]  # in older files
        self._classes = checked_classes(learned.pop("_classes", list(dict.fromkeys(former))))
        super()._restore(arrays, learned)

    # What an ensemble brings.

    @abstractmethod
    def _learn_one(self, x: Any, label: Any) -> None:
        """Learn one row that was checked."""

    @abstractmethod
    def _combined(self, outputs: Sequence[Any]) -> Any:
        """One output of the members': probabilities of classes, or a number."""

    def _learn_many(self, rows: Any, labels: list[Any]) -> None:
        """Learn rows that were checked."""
        for row, label in zip(frames.rows(rows), labels, strict=True):
            self._learn_one(row, label)

    # Helpers of the ensembles.

    def _member_outputs(self, x: Any) -> list[Any]:
        """The members' predictions of a row."""
        if self.is_classifier:
            return [member.predict_proba_one(x) for member in self.members]
        return [member.predict_one(x) for member in self.members]

    def _mean(self, outputs: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        shares = [1.0] * len(outputs) if weights is None else weights
        return mean_probabilities(outputs, shares) if self.is_classifier else mean_number(outputs, shares)

    def _classes_with(self, labels: list[Any]) -> list[Label]:
        """The classes after these labels."""
        if not self.is_classifier or set(labels) <= set(self._classes):
            return self._classes
        return encode_classes(labels, self._classes)[0]

    def _check_members(self, rows: Any, labels: list[Any]) -> None:
        for member in self.members:
            if hasattr(member, "check_many"):
                member.check_many(rows, labels)

    def _label(self, y: Any) -> Any:
        """A class, or a finite number."""
        if self.is_classifier:
            return checked_class(y)
        if not is_target(y, MAX_NUMBER):
            raise InvalidInput(f"a label is {shown(y)}; it must be a finite number")
        return float(y)

    def _labels(self, rows: Any, y: Any) -> list[Any]:
        labels = [self._label(label) for label in listed_labels("y", y)]
        if frames.n_rows(rows, "X") != len(labels):
            raise InvalidInput(f"there are {frames.n_rows(rows, 'X')} rows and {len(labels)} labels")
        return labels


def takes_weights(member: Any) -> bool:
    """Whether a learner predicts and learns weighted rows in one go, as our trees do."""
    return hasattr(member, "test_then_learn") and "w" in signature(member.test_then_learn).parameters
