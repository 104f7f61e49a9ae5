"""Copies that keep what was learned but draw from random streams of their own: one for each process or fork."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Self

from stumpery.models import Model
from stumpery.options import check_whole, listed
from stumpery.random import new_generator
from stumpery.types import State

FIRST_STREAM = 2**32  # a seed's streams from here on are those of copies; no new model starts from one of them
OWN_STREAM = re.compile(r"(^|[.:])(rng|learner\.key)$")  # a model's, or a member's, random state among its arrays
DRAWN_COLUMNS = re.compile(r"^\d+\.features$")  # that random trees have drawn from their recipe's seed

Options = dict[str, Any]


def reseeded(state: State, seed: int) -> State:
    """The same state with other random streams, which `seed` decides.

    The options keep the seed of the first model. Only a model, or a member, that has no random stream yet gets another
    `seed`, since that decides what it will draw.
    """
    check_whole("seed", seed, 0, 2**63 - 1)
    arrays, streams = dict(state.arrays), count(FIRST_STREAM)
    for name in sorted(filter(OWN_STREAM.search, arrays)):
        words = new_generator(seed, next(streams))
        arrays[name] = words if arrays[name].dtype == words.dtype else words.view(arrays[name].dtype)[:2]
    options = deepcopy(state.options)
    for own, own_names in _models(options, set(arrays)):
        if "seed" in own and not any(OWN_STREAM.search(name) or DRAWN_COLUMNS.search(name) for name in own_names):
            own["seed"] = int(new_generator(seed, next(streams))[0] >> 2)  # members' seeds are a few more
    return State(options, arrays)


def _models(options: Options, names: set[str]) -> Iterator[tuple[Options, set[str]]]:
    """The options of a model and of all models in it, each with the names of its own arrays."""
    inner: list[tuple[str, Any]] = [("model.", options.get("model"))]
    inner += [("classifier.", (options.get("classifier") or {}).get("options"))]
    inner += [(f"{place}:", own) for place, (_, own) in enumerate(options.get("_members", ()))]
    inner += [(f"recipe {place}:", own) for place, (_, own) in enumerate(options.get("_recipes", ()))]
    rest = set(names)
    for mark, own in inner:
        if isinstance(own, dict):
            inside = {name for name in rest if name.startswith(mark)}
            rest -= inside
            yield from _models(own, {name.removeprefix(mark) for name in inside})
    yield options, rest


@dataclass(kw_only=True, eq=False)
class SeededClone(Model):
    """A model with `clone(seed=...)`."""

    def clone(self, *, seed: int) -> Self:
        """A copy with what it has learned and a random stream of its own, for another process or fork."""
        return type(self).from_state(reseeded(self.state(), seed))

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""


@dataclass(kw_only=True, eq=False)
class RiverClone(Model):
    """A learner with river's `clone`."""

    def fresh(self, seed: int) -> Self:
        """A new model of the same recipe that has learned nothing, with another seed."""
        return self.clone({"seed": seed})

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A new model of the same recipe, as river asks; with `include_attributes` one with what it has learned.

        `new_params={"seed": 8}` then gives it random streams of its own, for another process or fork.
        """
        if not include_attributes:
            return replace(self, **(new_params or {}))
        if not new_params:
            return deepcopy(self)
        others = sorted(set(new_params) - {"seed"})
        if others:
            what = f"new_params hold {listed(others)}"
            raise ValueError(f"{what}; a copy with include_attributes can change its seed only")
        return type(self).from_state(reseeded(self.snapshot(), new_params["seed"]))

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
