"""The members of ensembles: what a learner must be able to do, and their states in one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from stumpery import files
from stumpery.models import snapshot_of
from stumpery.system.allocation import reserve
from stumpery.types import State

Arrays = dict[str, NDArray[Any]]
MEMBER_BYTES = 1000  # that a member takes, at least


def states_of(members: Sequence[Any], mark: str = "") -> tuple[list[Any], Arrays]:
    """Kinds and options, and all arrays, each under its member's number; a ValueError names one that is not ours."""
    listed: list[Any] = []
    arrays: Arrays = {}
    for place, member in enumerate(members):
        kind = type(member).__name__
        if not files.is_ours(member):
            raise ValueError(f"a {kind} among the models is none of Stumpery's own, so this cannot be saved")
        ours: Any = member
        options, own = snapshot_of(ours)
        listed.append([kind, options])
        arrays |= {f"{mark}{place}:{name}": array for name, array in own.items()}
    return listed, arrays


def restored(listed: Sequence[Any], arrays: Arrays, mark: str = "") -> list[Any]:
    """The members again; their arrays are taken out of `arrays`, in place."""
    own: list[Arrays] = [{} for _ in listed]
    places = {f"{mark}{place}": place for place in range(len(listed))}
    for name in list(arrays):
        start, _, rest = name.partition(":")
        if start in places:
            own[places[start]][rest] = arrays.pop(name)
    reserve(MEMBER_BYTES * len(listed))
    return [
        files.class_named(kind).from_state(State(options, mine))
        for (kind, options), mine in zip(listed, own, strict=True)
    ]


def mean_number(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean."""
    total = sum(weights)
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / total if total else 0.0


def mean_probabilities(outputs: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> dict[Any, float]:
    """The weighted mean of probabilities, brought to a sum of 1; empty where nobody says anything."""
    probabilities: dict[Any, float] = {}
    for weight, output in zip(weights, outputs, strict=True):
        for label, probability in output.items():
            probabilities[label] = probabilities.get(label, 0.0) + weight * probability
    whole = sum(probabilities.values())
    return (
        {label: probability / whole for label, probability in probabilities.items()} if whole > 0.0 else probabilities
    )


def likeliest(probabilities: Mapping[Any, float]) -> Any:
    """The class with the largest probability, the first of equal ones; None where there is none."""
    return max(probabilities, key=lambda label: probabilities[label]) if probabilities else None
