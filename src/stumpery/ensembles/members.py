"""The members of ensembles: what a learner must be able to do, and their states in one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from stumpery import files
from stumpery.types import State

Arrays = dict[str, NDArray[Any]]


def states_of(members: Sequence[Any], mark: str = "") -> tuple[list[Any], Arrays]:
    """Kinds and options, and all arrays, each under its member's number; a ValueError names one that is not ours."""
    listed: list[Any] = []
    arrays: Arrays = {}
    for place, member in enumerate(members):
        kind = type(member).__name__
        if not files.is_ours(member):
            raise ValueError(f"a {kind} among the models is none of Stumpery's own, so this cannot be saved")
        ours: Any = member
        options, own = ours.state()
        listed.append([kind, options])
        arrays |= {f"{mark}{place}:{name}": array for name, array in own.items()}
    return listed, arrays


def restored(listed: Sequence[Any], arrays: Arrays, mark: str = "") -> list[Any]:
    """The members again; their arrays are taken out of `arrays`, in place."""
    members = []
    for place, (kind, options) in enumerate(listed):
        start = f"{mark}{place}:"
        own = {name.removeprefix(start): arrays.pop(name) for name in list(arrays) if name.startswith(start)}
        members.append(files.class_named(kind).from_state(State(options, own)))
    return members


def mean_number(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean."""
    total = sum(weights)
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / total if total else 0.0


def mean_chances(outputs: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> dict[Any, float]:
    """The weighted mean of chances, brought to a sum of 1; empty where nobody says anything."""
    chances: dict[Any, float] = {}
    for weight, output in zip(weights, outputs, strict=True):
        for label, chance in output.items():
            chances[label] = chances.get(label, 0.0) + weight * chance
    whole = sum(chances.values())
    return {label: chance / whole for label, chance in chances.items()} if whole > 0.0 else chances


def likeliest(chances: Mapping[Any, float]) -> Any:
    """The class with the largest chance, the first of equal ones; None where there is none."""
    return max(chances, key=lambda label: chances[label]) if chances else None
