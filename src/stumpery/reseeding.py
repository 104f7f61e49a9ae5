"""Copies of a model that draw from random streams of their own: one for each process or fork."""

import re
from typing import Any

from stumpery.options import check_whole, listed
from stumpery.random import new_generator
from stumpery.types import State

FIRST_STREAM = 2**32  # a seed's streams from here on are those of copies; no new model starts from one of them
OWN_STREAM = re.compile(r"(^|[.:])(rng|learner\.key)$")  # a model's, or a member's, random state among its arrays


def reseeded(state: State, seed: int) -> State:
    """The same state with other random streams: `seed` decides them, the options keep the seed of the first model."""
    check_whole("seed", seed, 0, 2**63 - 1)
    arrays = dict(state.arrays)
    for stream, name in enumerate(sorted(filter(OWN_STREAM.search, arrays)), FIRST_STREAM):
        words = new_generator(seed, stream)
        arrays[name] = words if arrays[name].dtype == words.dtype else words.view(arrays[name].dtype)[:2]
    return State(state.options, arrays)


def seed_of(new_params: Any) -> int | None:
    """The seed among river's parameters of a copy that keeps what was learned; a ValueError where there are others."""
    others = sorted(set(new_params or ()) - {"seed"})
    if others:
        raise ValueError(f"new_params hold {listed(others)}; a copy with include_attributes can change its seed only")
    return None if not new_params else new_params["seed"]
