"""Features of actions: what is known of each beforehand, as terms and numbers.

A feature is a number, a flag or a name, or a list of numbers or names; what is None, NaN or absent is missing. Every
number is one term, and so is every name that comes up: an action has it or not.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from stumpery.encoding.values import kind_of, text_of
from stumpery.options import listed, shown
from stumpery.policies import hashed_kernels as hashed
from stumpery.policies.hashed_kernels import PAST, WEIGHT
from stumpery.policies.shared_kernels import LARGEST_WEIGHT
from stumpery.trees.forest_kernels import Float32s
from stumpery.types import Action, Floats

MAX_TERMS = 1024
LARGEST = 1e15  # number of a feature
NEGLIGIBLE = 1e-6  # of the largest number of a term: what is smaller counts as 0
FARTHEST = 1e30  # that a term's scale moves at once: the square is still a number

Feature = float | str | list[float] | list[str]
Features = Mapping[str, Any]  # of one action; once checked, a dict of `Feature`
Described = Mapping[Action, Features]
Term = tuple[str, str | int | None]  # a column, and a name, a place in a list, or neither
Terms = dict[Term, float]  # the largest number of each, in the order in which actions bring them


def checked_features(features: Any, actions: Sequence[Action]) -> dict[Action, Features]:
    """The features of each action that has any, in the order of the actions; a ValueError says what cannot be one."""
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        raise ValueError(f"features is {shown(features)}; it must be a dict with a dict of features for each action")
    known = set(actions)
    if strange := [action for action in features if action not in known]:
        raise ValueError(f"features has {shown(strange[0])}, which is no action; there are {listed(actions)}")
    return {action: checked(features[action], action) for action in actions if features.get(action) is not None}


def checked(features: Any, action: Action) -> Features:
    """One action's features as plain values, without those that are missing."""
    if not isinstance(features, Mapping) or not all(isinstance(name, str) for name in features):
        raise ValueError(f"features of {shown(action)} are {shown(features)}; they must be a dict with names as keys")
    plain = {name: _plain(name, value) for name, value in features.items()}
    return {name: value for name, value in plain.items() if value is not None}


def terms_of(described: Described, actions: Sequence[Action]) -> Terms:
    """All terms of these actions; a ValueError says that there are too many."""
    terms: Terms = {}
    for action in actions:
        for term, number in _numbers(described.get(action, {})):
            terms[term] = max(terms.get(term, 0.0), abs(number))
    if len(terms) > MAX_TERMS:
        raise ValueError(f"features have {len(terms)} different numbers and names; {MAX_TERMS} is the most")
    return terms


def vectors(described: Described, actions: Sequence[Action], terms: Terms) -> Floats:
    """A row for each action: 1, which all have in common, then its terms, from -1 to 1.

    Without any term it is empty and no matrix: kernels tell by that, before they are compiled, that none has features.
    """
    if not terms:
        return np.zeros(0)
    places = {term: place for place, term in enumerate(terms, start=1)}
    found = np.zeros((len(actions), 1 + len(terms)))
    found[:, 0] = 1.0
    for row, action in enumerate(actions):
        for term, number in _numbers(described.get(action, {})):
            part = number / terms[term] if terms[term] else 0.0
            found[row, places[term]] = part if abs(part) > NEGLIGIBLE else 0.0
    return found


def followed(linear: Float32s, before: Terms, after: Terms) -> Float32s:
    """The weights of the scorer for all actions, for other terms: what stays predicts what it did."""
    if list(before.items()) == list(after.items()):
        return linear
    new = hashed.new_linear(len(linear), 1 + len(after) if after else 0)
    if not before or not after:
        return new
    new[..., 0] = linear[..., 0]
    old_places = {term: place for place, term in enumerate(before, start=1)}
    for place, (term, largest) in enumerate(after.items(), start=1):
        if term in old_places:
            ratio = largest / before[term] if largest and before[term] else 1.0
            ratio = min(max(ratio, 1.0 / FARTHEST), FARTHEST)
            old = linear[..., old_places[term]].astype(np.float64)
            new[:, WEIGHT, place] = np.clip(old[:, WEIGHT] * ratio, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            new[:, PAST, place] = np.minimum(old[:, PAST] / ratio**2, hashed.LONGEST)
    return new


def _plain(name: str, value: Any) -> Feature | None:
    if kind_of(type(value)) != "strange":
        return _one(name, value)
    if not isinstance(value, list | tuple | Set) and not (isinstance(value, np.ndarray) and value.ndim == 1):
        raise ValueError(_refusal(name, value))
    several = [_one(name, each) for each in value]
    names = {each for each in several if isinstance(each, str)}
    is_vector = any(isinstance(each, float) for each in several)
    if is_vector and (names or isinstance(value, Set)):  # a set has no order of its own
        raise ValueError(_refusal(name, value))
    return [each if isinstance(each, float) else 0.0 for each in several] if is_vector else sorted(names) or None


def _one(name: str, value: Any) -> float | str | None:
    """A name, a number, or None where it is missing."""
    kind = kind_of(type(value))
    if kind == "missing":
        return None
    if kind == "name":
        return text_of(value)
    number = value.item() if isinstance(value, np.generic) else value  # 1e15 is infinite to a number of 16 bits
    if kind == "strange" or not (number != number or -LARGEST <= number <= LARGEST):  # noqa: PLR0124 - or a NaN
        raise ValueError(_refusal(name, value))
    return None if number != number else float(number)  # noqa: PLR0124


def _refusal(name: str, value: Any) -> str:
    return (
        f"feature {shown(name)} is {shown(value)}; it must be a name, a number from {-LARGEST:g} to {LARGEST:g}, "
        "or a list of either"
    )


def _numbers(features: Features) -> Iterator[tuple[Term, float]]:
    """The terms of one action and its number of each."""
    for name, value in features.items():
        if isinstance(value, str):
            yield (name, value), 1.0
        elif isinstance(value, list):
            for place, each in enumerate(value):
                if isinstance(each, str):
                    yield (name, each), 1.0
                else:
                    yield (name, place), each
        else:
            yield (name, None), value
