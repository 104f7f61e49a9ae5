"""Validation of arguments of policies: actions, decisions, probabilities, rewards."""

import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import rows
from stumpery.options import shown
from stumpery.random import uniform
from stumpery.types import Action, Context, Floats, RandomState

MAX_WEIGHT = 1000.0  # of a reward, which is learned so many times
MIN_PROBABILITY = 1e-9  # smaller ones count as this, since their inverses are weights


def checked_actions(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Names of actions as plain values; a ValueError if they are not distinct names."""
    if isinstance(actions, str | bytes | Set) or not isinstance(actions, Iterable):  # a set has no order of its own
        raise InvalidInput(f"actions is {shown(actions)}; it must be a list of actions")
    names = tuple(action.item() if isinstance(action, np.generic) else action for action in actions)
    if not names:
        raise InvalidInput("actions is empty; at least one action is needed")
    for name in names:
        if not isinstance(name, Action) or (isinstance(name, float) and not math.isfinite(name)):
            raise InvalidInput(f"an action is {shown(name)}; it must be a string, a finite number or a boolean")
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise InvalidInput(f"action {shown(twice)} occurs twice; actions must differ")
    return names


def checked_probability(probability: Any) -> float:
    """The probability of a decision, at least MIN_PROBABILITY; a ValueError if it is invalid."""
    value = probability if type(probability) is float else as_number(probability)
    if not 0.0 < value <= 1.0:
        raise InvalidInput(f"probability is {shown(probability)}; it must be a number above 0 and at most 1")
    return max(value, MIN_PROBABILITY)


def as_number(value: Any) -> float:
    """A float; NaN for anything that is not one number."""
    try:
        unfit = isinstance(value, str | bytes | complex) or np.ndim(value) or np.ma.is_masked(value)
        return math.nan if unfit else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def checked_rewards(rewards: Iterable[float] | Floats, low: float, high: float) -> Floats:
    """Rewards as an array; a ValueError names the first that is not a number from `low` to `high`."""
    try:
        given = np.asarray(rewards if hasattr(rewards, "__len__") else list(rewards))
    except (TypeError, ValueError):
        given = np.array("")
    if np.ma.is_masked(rewards):
        raise InvalidInput("some rewards are masked; leave out the decisions whose reward is not known")
    if given.dtype.kind == "O":
        given = np.array([as_number(value) for value in given.flat]).reshape(given.shape)
    if given.size and given.dtype.kind not in "biuf":
        raise InvalidInput("rewards must be numbers, one for each decision or each row and action")
    values: Floats = np.require(given, np.float64, ["C", "W"])  # one type to the compiler
    if values.size and not (values.min() >= low and values.max() <= high):  # also where one is NaN
        invalid = float(values[~((values >= low) & (values <= high))].flat[0])
        raise InvalidInput(f"a reward is {invalid!r}; it must be a number from {low:g} to {high:g}")
    return values


def checked_weights(weight: Any, n: int) -> Floats:
    """Weights of n rewards, given as one number for all or one for each; a ValueError names what is invalid."""
    given = np.asarray(weight) if not isinstance(weight, bool) and not np.ma.is_masked(weight) else np.array("")
    values = given.astype(np.float64) if given.dtype.kind in "iuf" else np.array([math.nan])
    fits = (values >= 0.0) & (values <= MAX_WEIGHT)
    if not fits.all():
        invalid = shown(weight) if given.dtype.kind not in "iuf" else repr(float(values[~fits].flat[0]))
        raise InvalidInput(f"a weight is {invalid}; it must be a number from 0 to {MAX_WEIGHT:g}")
    if values.ndim and values.shape != (n,):
        raise InvalidInput(
            f"weight has the shape {values.shape}; it must be one number, or one for each of {n} rewards"
        )
    return np.broadcast_to(values, n)


def repeats_of(weights: Floats, rng: RandomState) -> list[int]:
    """How many times each reward is learned: a fraction is drawn, in place, so that the mean is the weight."""
    whole = np.floor(weights)
    return [
        int(n) + int(rest > 0.0 and uniform(rng) < rest)
        for n, rest in zip(whole.tolist(), (weights - whole).tolist(), strict=True)
    ]


def action_of(decision: Any) -> Any:
    """The action of a decision; a ValueError if it is not a decision."""
    try:
        action, _, _ = decision
    except (TypeError, ValueError):
        form = "Decision(action, probability, context)"
        raise InvalidInput(f"decision is {shown(decision)}; it must be a {form}") from None
    return action


def each_context(contexts: Any, n: int) -> Iterable[Context]:
    """Each of `n` contexts, or n times None."""
    return rows(contexts) if contexts is not None else [None] * n
