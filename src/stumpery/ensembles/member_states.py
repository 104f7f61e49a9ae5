"""States of an ensemble's members, saved in one file with the ensemble."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from stumpery import files
from stumpery.models import snapshot_of
from stumpery.system.allocation import reserve
from stumpery.types import State

Arrays = dict[str, NDArray[Any]]
MEMBER_BYTES = 1000  # that a member takes, at least


def states_of(members: Sequence[Any], prefix: str = "") -> tuple[list[Any], Arrays]:
    """The members' kinds and options, and their arrays under each member's number; others' models are refused."""
    listed: list[Any] = []
    arrays: Arrays = {}
    for index, member in enumerate(members):
        kind = type(member).__name__
        if not files.is_ours(member):
            raise ValueError(f"a {kind} among the models is none of Stumpery's own, so this cannot be saved")
        ours: Any = member
        options, own = snapshot_of(ours)
        listed.append([kind, options])
        arrays |= {f"{prefix}{index}:{name}": array for name, array in own.items()}
    return listed, arrays


def restored(listed: Sequence[Any], arrays: Arrays, prefix: str = "") -> list[Any]:
    """Rebuild the members; their arrays are taken out of `arrays`, in place."""
    own: list[Arrays] = [{} for _ in listed]
    indices = {f"{prefix}{index}": index for index in range(len(listed))}
    for name in list(arrays):
        start, _, rest = name.partition(":")
        if start in indices:
            own[indices[start]][rest] = arrays.pop(name)
    reserve(MEMBER_BYTES * len(listed))
    return [
        files.class_named(kind).from_state(State(options, mine))
        for (kind, options), mine in zip(listed, own, strict=True)
    ]
