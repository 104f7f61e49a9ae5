"""Models of the service: built from settings, and compared by the SHA-256 of their state."""

import hashlib
import json
from contextlib import suppress
from inspect import isabstract, isclass
from typing import Any

import numpy as np

from stumpery import policies
from stumpery.encoding import Schema
from stumpery.errors import InvalidInput, StumperyError
from stumpery.options import check_known
from stumpery.policies import Policy
from stumpery.policies.exploration import explorers
from stumpery.service.settings import PolicySettings


def new_model(settings: PolicySettings) -> Policy:
    """A policy that has learned nothing, as the settings say; an InvalidInput where they do not fit."""
    kind = _kind(settings.kind)
    options = {name: _option(name, value) for name, value in settings.options.items()}
    if settings.columns is not None:
        columns: dict[str, Any] = {**settings.columns}
        options["schema"] = Schema.of(columns)
    try:
        model: Policy = kind(
            actions=list(settings.actions), seed=settings.seed, reward_range=settings.reward_range, **options
        )
    except TypeError as error:
        raise InvalidInput(f"the options of {settings.kind} are not valid: {error}") from None
    return model


def warm_up(model: Policy, settings: PolicySettings) -> None:
    """Load the compiled kernels of a policy, or compile them, with one that is thrown away; the model is only read."""
    context = {"x": 0.5, "y": "a"}
    with suppress(StumperyError):  # columns of other kinds: the kernels are the same
        thrown_away = new_model(settings)
        thrown_away.learn(thrown_away.decide(context), settings.reward_range[0])
        thrown_away.probabilities(context)
    with suppress(StumperyError):
        model.probabilities({})


def _kind(name: str) -> Any:
    """The class of policies with this name; others are imported only to say which there are."""
    if name not in policies.__all__ or not _is_kind(getattr(policies, name)):
        check_known("kind of policy", name, [each for each in policies.__all__ if _is_kind(getattr(policies, each))])
    return getattr(policies, name)


def _is_kind(found: Any) -> bool:
    return isclass(found) and issubclass(found, Policy) and not isabstract(found)


def _option(name: str, value: Any) -> Any:
    if name != "explorer":
        return value
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise InvalidInput(f"explorer is {value!r}; it must be a table with its kind")
    check_known("explorer", value["kind"], explorers.KINDS)
    try:
        return getattr(explorers, value["kind"])(**{each: value[each] for each in value if each != "kind"})
    except TypeError as error:
        raise InvalidInput(f"the explorer is not valid: {error}") from None


def digest_of(model: Policy) -> str:
    """The SHA-256 of a model's options and arrays, in hexadecimal: equal digests mean equal bits."""
    options, arrays = model.snapshot()
    digest = hashlib.sha256(json.dumps(options, sort_keys=True, default=repr).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
