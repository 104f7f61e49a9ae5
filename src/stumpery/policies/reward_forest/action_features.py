"""Features of actions: given beforehand, turned into vectors of terms.

A feature is a number, a flag or a category, or a list of numbers or categories; what is None, NaN or absent is missing.
Every number is one term, and so is every category: an action has it or not.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stumpery.array_forest.forest_kernels import Float32s
from stumpery.encoding.columns.values import text_of, value_kind
from stumpery.errors import InvalidInput
from stumpery.options import listed, shown
from stumpery.policies.arguments import checked_actions
from stumpery.policies.reward_forest.scorers.scorers_kernels import (
    MAX_STEP_COUNT,
    SLOT_HISTORY,
    SLOT_WEIGHT,
    new_linear,
)
from stumpery.system.allocation import reserve
from stumpery.types import Action, Floats

MAX_TERMS = 1024
MAX_FEATURE = 1e15  # magnitude of a number
MIN_RELATIVE_VALUE = 1e-6  # of the largest number of a term: what is smaller counts as 0
MAX_SLOT_WEIGHT = 1e6  # what a feature of a millionth needs to make all of a reward
MAX_RESCALING = 1e30  # of a term's scale at once: the square is still finite

Feature = float | str | list[float] | list[str]
Features = dict[str, Feature]  # of one action, as plain JSON values
Term = tuple[str, str | int | None]  # a column, and a category, an index in a list, or neither


@dataclass(frozen=True)
class ActionFeatures:
    """Features of actions, checked, and the terms that they are made of.

    Args:
        actions: all actions.
        described: the features of those that have any.
        terms: the largest number of each term, in the order in which actions bring them.
    """

    actions: tuple[Action, ...]
    described: Mapping[Action, Features]
    terms: Mapping[Term, float]

    @classmethod
    def of(cls, features: Any, actions: Sequence[Action]) -> Self:
        """The features of a dict with a dict for each action that has any; a ValueError says what is wrong."""
        names = checked_actions(actions)
        if features is not None and not isinstance(features, Mapping):
            raise InvalidInput(
                f"features is {shown(features)}; it must be a dict with a dict of features for each action"
            )
        given, known = features or {}, set(names)
        if unknown := [action for action in given if action not in known]:
            raise InvalidInput(f"features has {shown(unknown[0])}, which is no action; there are {listed(names)}")
        described = {action: _checked(given[action], action) for action in names if given.get(action) is not None}
        terms: dict[Term, float] = {}
        for features_of_action in described.values():
            for term, number in numbers_of(features_of_action):
                terms[term] = max(terms.get(term, 0.0), abs(number))
        if len(terms) > MAX_TERMS:
            raise InvalidInput(f"features have {len(terms)} different numbers and names; {MAX_TERMS} is the most")
        return cls(names, described, terms)

    def vectors(self) -> Floats:
        """A row for each action: 1, which all with features share, then its terms, scaled to -1..1.

        An action without features has zeros. Without any term the array is empty and one-dimensional: so the compiler
        knows beforehand that there is no shrinkage.
        """
        if not self.terms:
            return np.zeros(0)
        index_of = {term: index for index, term in enumerate(self.terms, start=1)}
        reserve(8 * len(self.actions) * (1 + len(self.terms)))
        vectors = np.zeros((len(self.actions), 1 + len(self.terms)))
        for row, action in enumerate(self.actions):
            for term, number in numbers_of(self.described.get(action, {})):
                value = number / self.terms[term] if self.terms[term] else 0.0
                vectors[row, index_of[term]] = value if abs(value) > MIN_RELATIVE_VALUE else 0.0
                vectors[row, 0] = 1.0
        return vectors

    def transferred(self, linear: Float32s, after: "ActionFeatures") -> Float32s:
        """The weights of the shared model for other terms; predictions by terms that stay are the same."""
        if list(self.terms.items()) == list(after.terms.items()):
            return linear
        new = new_linear(len(linear), after.vectors().shape[-1])
        if not self.terms or not after.terms:
            return new
        new[..., 0] = linear[..., 0]
        old_index = {term: index for index, term in enumerate(self.terms, start=1)}
        for index, (term, largest) in enumerate(after.terms.items(), start=1):
            if term in old_index:
                ratio = largest / self.terms[term] if largest and self.terms[term] else 1.0
                ratio = min(max(ratio, 1.0 / MAX_RESCALING), MAX_RESCALING)
                old = linear[..., old_index[term]].astype(np.float64)
                new[:, SLOT_WEIGHT, index] = np.clip(old[:, SLOT_WEIGHT] * ratio, -MAX_SLOT_WEIGHT, MAX_SLOT_WEIGHT)
                new[:, SLOT_HISTORY, index] = np.minimum(old[:, SLOT_HISTORY] / ratio**2, MAX_STEP_COUNT)
        return new


def checked_new(features: Any, actions: Any) -> Mapping[Any, Any]:
    """Features of new actions; a ValueError names one that is not among them."""
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        raise InvalidInput(f"features is {shown(features)}; it must be a dict with a dict for each new action")
    names = checked_actions(actions)
    if unknown := [action for action in features if action not in names]:
        raise InvalidInput(f"features has {shown(unknown[0])}, which is no new action; there are {listed(names)}")
    return features


def _checked(features: Any, action: Action) -> Features:
    """One action's features as plain values, without those that are missing."""
    if not isinstance(features, Mapping) or not all(isinstance(name, str) for name in features):
        raise InvalidInput(f"features of {shown(action)} are {shown(features)}; they must be a dict with names as keys")
    plain = {str.__str__(name): _plain(name, value) for name, value in features.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(name: str, value: Any) -> Feature | None:
    if value_kind(type(value)) != "other":
        return _one(name, value)
    if not isinstance(value, list | tuple | Set) and not (isinstance(value, np.ndarray) and value.ndim == 1):
        raise InvalidInput(_refusal(name, value))
    items = [_one(name, item) for item in value]
    names = {item for item in items if isinstance(item, str)}
    is_vector = any(isinstance(item, float) for item in items)
    if is_vector and (names or isinstance(value, Set)):  # a set has no order of its own
        raise InvalidInput(_refusal(name, value))
    return [item if isinstance(item, float) else 0.0 for item in items] if is_vector else sorted(names) or None


def _one(name: str, value: Any) -> float | str | None:
    """A category, a number, or None where it is missing."""
    kind = value_kind(type(value))
    if kind == "missing":
        return None
    if kind == "string":
        return text_of(value)
    number = value.item() if isinstance(value, np.generic) else value  # 1e15 is infinite to a number of 16 bits
    if kind == "other" or not (number != number or -MAX_FEATURE <= number <= MAX_FEATURE):  # noqa: PLR0124 - or a NaN
        raise InvalidInput(_refusal(name, value))
    return None if number != number else float(number)  # noqa: PLR0124


def _refusal(name: str, value: Any) -> str:
    return (
        f"feature {shown(name)} is {shown(value)}; it must be a name, a number from "
        f"{-MAX_FEATURE:g} to {MAX_FEATURE:g}, or a list of either"
    )


def numbers_of(features: Mapping[str, Any]) -> Iterator[tuple[Term, float]]:
    """The terms of one action and its number of each."""
    for name, value in features.items():
        if isinstance(value, str):
            yield (name, value), 1.0
        elif isinstance(value, float):
            yield (name, None), value
        else:
            for index, item in enumerate(value):
                if isinstance(item, str):
                    yield (name, item), 1.0
                else:
                    yield (name, index), item
