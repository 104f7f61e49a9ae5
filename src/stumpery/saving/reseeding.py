"""Reseeding: copies that keep what was learned but draw from random streams of their own, one per process or fork."""

import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any

from stumpery.options import check_whole
from stumpery.random import new_generator
from stumpery.types import State

FIRST_STREAM = 2**32  # a seed's streams from here on are those of copies; no new model starts from one of them
OWN_STREAM = re.compile(r"(^|[.:])(rng|learner\.key)$")  # a model's, or a member's, random state among its arrays
DRAWN_COLUMNS = re.compile(r"^\d+\.features$")  # that random trees have drawn from their recipe's seed

Options = dict[str, Any]


def reseeded(state: State, seed: int) -> State:
    """The same state with new random streams, derived from `seed`.

    The options keep the seed of the first model. Only a model, or a member, that has no random stream yet gets another
    `seed`, since that decides what it will draw.
    """
    check_whole("seed", seed, 0, 2**63 - 1)
    arrays, streams = dict(state.arrays), count(FIRST_STREAM)
    for name in sorted(filter(OWN_STREAM.search, arrays)):
        words = new_generator(seed, next(streams))
        arrays[name] = words if arrays[name].dtype == words.dtype else words.view(arrays[name].dtype)[:2]
    options = deepcopy(state.options)
    for model_options, array_names in _models(options, set(arrays)):
        if "seed" in model_options and not any(
            OWN_STREAM.search(name) or DRAWN_COLUMNS.search(name) for name in array_names
        ):
            model_options["seed"] = int(new_generator(seed, next(streams))[0] >> 2)  # members' seeds are a few more
    return State(options, arrays)


def _models(options: Options, names: set[str]) -> Iterator[tuple[Options, set[str]]]:
    """The options of a model and of all models in it, each with the names of its own arrays."""
    inner: list[tuple[str, Any]] = [("model.", options.get("model"))]
    inner += [("classifier.", (options.get("classifier") or {}).get("options"))]
    inner += [(f"{index}:", member) for index, (_, member) in enumerate(options.get("_members", ()))]
    inner += [(f"recipe {index}:", member) for index, (_, member) in enumerate(options.get("_recipes", ()))]
    remaining = set(names)
    for prefix, member in inner:
        if isinstance(member, dict):
            inside = {name for name in remaining if name.startswith(prefix)}
            remaining -= inside
            yield from _models(member, {name.removeprefix(prefix) for name in inside})
    yield options, remaining
