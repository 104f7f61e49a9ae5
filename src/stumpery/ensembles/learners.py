"""What ensembles of any learners share: copies of the members, river's verbs, votes, and files.

A member is any object with `learn_one` and `predict_one`, and for classes `predict_proba_one`: ours, river's, another
ensemble. Ours learn many rows at once, in compiled loops.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import files, frames
from stumpery.options import check_whole, shown
from stumpery.trees.classes import listed, plain
from stumpery.trees.river_kinds import introduce
from stumpery.types import State

Chances = dict[Any, float]
MOST_MODELS = 1000


@dataclass(kw_only=True, eq=False)
class LearnerEnsemble(ABC):
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
        self.is_classifier = all(hasattr(member, "predict_proba_one") for member in self.members)
        introduce(type(self), "Classifier" if self.is_classifier else "Regressor")
        if not self.is_classifier and not self.takes_numbers:
            raise ValueError(f"{type(self).__name__} takes models of classes; one of these has no predict_proba_one")
        if not self.is_classifier and any(hasattr(member, "predict_proba_one") for member in self.members):
            raise ValueError("some models predict classes and others numbers; they must all do the same")

    def _copies(self) -> list[Any]:
        given = list(self.models) if isinstance(self.models, Sequence) else [self.models]
        if self.n_models is not None:
            check_whole("n_models", self.n_models, 1, MOST_MODELS)
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

    @abstractmethod
    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row."""

    @abstractmethod
    def _combined(self, outputs: Sequence[Any]) -> Any:
        """One output of the members': chances of classes, or a number."""

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows: equals the loop of `learn_one`."""
        labels = self._labels(X, y)
        for row, label in zip(frames.rows(X), labels, strict=True):
            self.learn_one(row, label)

    def predict_proba_one(self, x: Any) -> Chances:
        """The chance of each class."""
        if not self.is_classifier:
            raise ValueError("these models predict numbers, not classes")
        found: Chances = self._combined([member.predict_proba_one(x) for member in self.members])
        return found

    def predict_one(self, x: Any) -> Any:
        """The likeliest class, or the number to expect."""
        if self.is_classifier:
            return likeliest(self.predict_proba_one(x))
        return self._combined([member.predict_one(x) for member in self.members])

    def predict_many(self, X: Any) -> list[Any]:  # noqa: N803
        """The likeliest class, or the number to expect, of each row."""
        return [self.predict_one(row) for row in frames.rows(X)]

    def predict_proba_many(self, X: Any) -> list[Chances]:  # noqa: N803
        """The chances of classes for each row."""
        return [self.predict_proba_one(row) for row in frames.rows(X)]

    @property
    def n_bytes(self) -> int:
        """The memory that the members say they hold."""
        return sum(int(getattr(member, "n_bytes", 0)) for member in self.members)

    def fresh(self, seed: int) -> Self:
        """A new ensemble of the same recipe that has learned nothing, with another seed."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return type(self)(**{**options, "seed": seed})

    # Files: the members' states, each under its number.

    def state(self) -> State:
        """The recipe, the members' states and what the ensemble has learned itself."""
        arrays, members = dict(self._own_arrays()), []
        for place, member in enumerate(self.members):
            kind = type(member).__name__
            if files.KINDS.get(kind) is not type(member):
                raise ValueError(f"a {kind} among the models is none of Stumpery's own, so this cannot be saved")
            inner: Any = member
            options, own = inner.state()
            members.append([kind, options])
            arrays |= {f"{place}:{name}": array for name, array in own.items()}
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return State({**options, "models": None, "n_models": None, "_members": members, **self._own_options()}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        members = []
        for place, (kind, own) in enumerate(options.pop("_members")):
            start = f"{place}:"
            inner = {name.removeprefix(start): arrays.pop(name) for name in list(arrays) if name.startswith(start)}
            members.append(files.KINDS[kind].from_state(State(own, inner)))  # type: ignore[attr-defined]
        more = {name: options.pop(name) for name in list(options) if name.startswith("_")}
        model = cls(**{**options, "models": members})
        model.members = members
        model._take(more, arrays)
        return model

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def _own_options(self) -> dict[str, Any]:
        return {}

    def _take(self, more: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take what the ensemble itself had learned; a ValueError says that it does not fit."""
        files.restore(self._own_arrays(), arrays)

    @staticmethod
    def _labels(rows: Any, y: Any) -> list[Any]:
        labels = listed("y", y)
        if frames.n_rows(rows, "X") != len(labels):
            raise ValueError(f"there are {frames.n_rows(rows, 'X')} rows and {len(labels)} labels")
        return labels


def likeliest(chances: Mapping[Any, float]) -> Any:
    """The class with the largest chance, the first of equal ones; None where there is none."""
    return max(chances, key=lambda label: chances[label]) if chances else None


def averaged(outputs: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """The weighted mean of chances or of numbers."""
    shares = [1.0] * len(outputs) if weights is None else list(weights)
    total = sum(shares)
    if not outputs or not isinstance(outputs[0], Mapping):
        return sum(share * output for share, output in zip(shares, outputs, strict=True)) / total if total else 0.0
    chances: Chances = {}
    for share, output in zip(shares, outputs, strict=True):
        for label, chance in output.items():
            chances[label] = chances.get(label, 0.0) + share * chance
    whole = sum(chances.values())
    return {label: chance / whole for label, chance in chances.items()} if whole > 0 else chances


def checked_label(y: Any, *, is_classifier: bool) -> Any:
    """A class, or a finite number."""
    if is_classifier:
        return plain(y)
    if isinstance(y, int | float | np.number) and np.isfinite(y):
        return float(y)
    raise ValueError(f"a label is {shown(y)}; it must be a finite number")
