"""What ensembles of any learners share: copies of the members, river's verbs, and files.

A member is any object with `learn_one` and `predict_one`, and for classes `predict_proba_one`: ours, river's, another
ensemble. Rows and labels are checked by all members of ours before any of them learns.
"""

from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import files, frames
from stumpery.encoding.declared_columns import declared
from stumpery.ensembles.member_states import likeliest, mean_number, mean_probabilities, restored, states_of
from stumpery.labels.classes import listed_labels, plain_label, predicts_probabilities
from stumpery.options import check_whole, shown
from stumpery.reseeding import RiverClone
from stumpery.river import register_virtual_subclass
from stumpery.types import State

Chances = dict[Any, float]
MAX_MODELS = 1000
LARGEST = 1e300  # of a number to predict


@dataclass(kw_only=True, eq=False)
class OnlineEnsemble(RiverClone):
    """Several learners as one. `models` are learners, or one of which `n_models` copies are made; they are copied."""

    models: Any = None
    n_models: int | None = None
    seed: int = 0

    takes_numbers: ClassVar[bool] = True  # whether it may predict numbers
    _multiclass: ClassVar[bool] = True  # as river asks
    _supervised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, 2**63 - 1)
        self.members = self._copies()
        of_classes = [predicts_probabilities(member) for member in self.members]
        self.is_classifier = all(of_classes)
        if not self.is_classifier and not self.takes_numbers:
            raise ValueError(f"{type(self).__name__} takes models of classes; one of these has no predict_proba_one")
        if not self.is_classifier and any(of_classes):
            raise ValueError("some models predict classes and others numbers; they must all do the same")
        register_virtual_subclass(type(self), "Classifier" if self.is_classifier else "Regressor")

    def _copies(self) -> list[Any]:
        given = list(self.models) if isinstance(self.models, Sequence) else [self.models]
        if self.n_models is not None:
            check_whole("n_models", self.n_models, 1, MAX_MODELS)
            if len(given) > 1:
                raise ValueError("n_models says how many copies of one model there are; here are several models")
            given *= self.n_models
        for model in given:
            if isinstance(model, type) or not (hasattr(model, "learn_one") and hasattr(model, "predict_one")):
                raise ValueError(f"a model is {shown(model)}; it must have learn_one and predict_one")
        if not given:
            raise ValueError("models is empty; an ensemble needs at least one")
        return [
            model.fresh(self.seed + place) if hasattr(model, "fresh") else deepcopy(model)
            for place, model in enumerate(given)
        ]

    # River's verbs.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row."""
        label = self._label(y)
        self._check_members([x], [label])
        self._learn_one(x, label)

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        labels = self._labels(X, y)
        self._check_members(X, labels)
        if not labels:
            return
        before = None if all(hasattr(member, "check_many") for member in self.members) else self.__getstate__()
        try:
            self._learn_many(X, labels)
        except Exception:
            self.__dict__.update(before or {})  # only others' members refuse what ours found right
            raise

    def declare_columns(self, names: Sequence[str]) -> None:
        """Say what the columns are before the first row comes, to all members that ask for it."""
        self.members = declared(self.members, names)

    def check_many(self, X: Any, y: Any) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; others' members are not asked."""
        self._check_members(X, self._labels(X, y))

    def predict_proba_one(self, x: Any) -> Chances:
        """The probability of each class."""
        if not self.is_classifier:
            raise ValueError("these models predict numbers, not classes")
        found: Chances = self._combined(self._asked(x))
        return found

    def predict_one(self, x: Any) -> Any:
        """The likeliest class, or the number to expect."""
        found = self._combined(self._asked(x))
        return likeliest(found) if self.is_classifier else found

    def predict_many(self, X: Any) -> list[Any]:  # noqa: N803
        """The likeliest class, or the number to expect, of each row."""
        return [self.predict_one(row) for row in frames.rows(X)]

    def predict_proba_many(self, X: Any) -> list[Chances]:  # noqa: N803
        """The probabilities of classes for each row."""
        return [self.predict_proba_one(row) for row in frames.rows(X)]

    @property
    def n_bytes(self) -> int:
        """The memory that the members say they hold."""
        return sum(int(getattr(member, "n_bytes", 0)) for member in self.members)

    # Files: the members' states, each under its number.

    def state(self) -> State:
        """The recipe, the members' states and what the ensemble has learned itself."""
        members, arrays = states_of(self.members)
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        options |= {"models": None, "n_models": None, "_members": members, **self._own_options()}
        return State(options, {**arrays, **self._own_arrays()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        members = restored(options.pop("_members"), arrays)
        more = {name: options.pop(name) for name in list(options) if name.startswith("_")}
        model = cls(**{**options, "models": members})
        model.members = members
        model._take(more, arrays)
        return model

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

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def _own_options(self) -> dict[str, Any]:
        return {}

    def _take(self, more: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take what the ensemble itself had learned; a ValueError says that it does not fit."""
        files.restore(self._own_arrays(), arrays)

    # What it can use.

    def _asked(self, x: Any) -> list[Any]:
        """What every member says of a row."""
        if self.is_classifier:
            return [member.predict_proba_one(x) for member in self.members]
        return [member.predict_one(x) for member in self.members]

    def _mean(self, outputs: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        shares = [1.0] * len(outputs) if weights is None else weights
        return mean_probabilities(outputs, shares) if self.is_classifier else mean_number(outputs, shares)

    def _check_members(self, rows: Any, labels: list[Any]) -> None:
        for member in self.members:
            if hasattr(member, "check_many"):
                member.check_many(rows, labels)

    def _label(self, y: Any) -> Any:
        """A class, or a finite number."""
        if self.is_classifier:
            return plain_label(y)
        number: Any = y
        if isinstance(y, int | float | np.integer | np.floating | np.bool_) and abs(number) < LARGEST:
            return float(number)
        raise ValueError(f"a label is {shown(y)}; it must be a finite number")

    def _labels(self, rows: Any, y: Any) -> list[Any]:
        labels = [self._label(label) for label in listed_labels("y", y)]
        if frames.n_rows(rows, "X") != len(labels):
            raise ValueError(f"there are {frames.n_rows(rows, 'X')} rows and {len(labels)} labels")
        return labels
