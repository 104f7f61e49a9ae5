"""States of models: how a model becomes options and arrays, and an equal model again.

`Saveable.state` and `Saveable.from_state` are templates, written once. A model says by a few hooks what its options and
arrays are, which models stand within it, and what a valid state is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from inspect import isabstract
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.options import listed
from stumpery.system.allocation import reserve
from stumpery.types import State

Options = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
MEMBER_LISTS = {"_members": "", "_recipes": "recipe "}  # options that list models, and what marks their arrays
FAMILIES = ("policies", "clicks", "streaming", "ensembles", "selection", "reinforcement", "summaries", "encoding")
PIECE_BYTES, MIN_PIECES = 2**16, 64
MEMBER_BYTES = 1000  # that a member takes, at least


class Saveable:
    """Base of models that can be saved: the state is the options as plain values, and arrays."""

    def state(self) -> State:
        """The options and the live arrays, which change with the model."""
        options, arrays = self._options(), dict(self._saved_arrays())
        for name, member in self._members().items():
            if name in MEMBER_LISTS:
                options[name], member_arrays = states_of(member, MEMBER_LISTS[name])
            else:
                options[name], member_arrays = snapshot_of(checked_ours(member))
                member_arrays = {f"{name}.{each}": array for each, array in member_arrays.items()}
            arrays |= member_arrays
        return State(options, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        for name, kind in cls._member_kinds(options).items():
            options[name] = kind.from_state(State(options[name], taken(arrays, f"{name}.")))
        for name, mark in MEMBER_LISTS.items():
            if name in options:
                options[name] = restored(options[name], arrays, mark)
        learned = {name: options.pop(name) for name in list(options) if name.startswith("_")}
        model = cls._new(cls._arguments(options, arrays, learned))
        model._restore(arrays, learned)
        if learned:
            raise CorruptFile(f"it has {listed(sorted(learned))}, which it should not have")
        model._validate_state()
        return model

    # Hooks by which a model describes its state.

    def _options(self) -> Options:
        """The options as plain values; what was learned and is no array has a name that starts with `_`."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]

    def _arrays(self) -> Arrays:
        """Every array of the state, live: what is copied into them is the state."""
        return {}

    def _saved_arrays(self) -> Arrays:
        """The arrays in the form in which they are saved."""
        return self._arrays()

    def _members(self) -> Mapping[str, Any]:
        """Models within this one, each under the name of its option, or lists of them under a name of MEMBER_LISTS."""
        return {}

    @classmethod
    def _member_kinds(cls, options: Options) -> Mapping[str, type["Saveable"]]:
        """The classes of the models that stand in saved options."""
        return {}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        """The constructor's arguments from saved options."""
        return options

    @classmethod
    def _new(cls, arguments: Options) -> Self:
        """A model that has learned nothing."""
        return cls(**arguments)

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        """Restore saved arrays and learned values; those used are taken out of `learned`, in place."""
        restore(self._arrays(), arrays)

    def _validate_state(self) -> None:
        """Validate the restored state, and rebuild what is not saved."""


def restore(into: Arrays, saved: Mapping[str, NDArray[Any]]) -> None:
    """Copy saved arrays over a new model's own, in place, after all names, types and shapes were compared."""
    if into.keys() != saved.keys():
        raise CorruptFile(f"its arrays are {sorted(saved)}, not {sorted(into)}")
    for name, array in into.items():
        if saved[name].dtype != array.dtype or saved[name].shape != array.shape:
            what = f"{saved[name].dtype}{saved[name].shape}"
            raise CorruptFile(f"its array {name!r} is {what}, not {array.dtype}{array.shape}")
        if array.dtype == np.bool_ and (saved[name].view(np.uint8) > 1).any():
            raise CorruptFile(f"its array {name!r} has a value that is neither true nor false")
    for name, array in into.items():
        _copy(array, saved[name])


def _copy(into: NDArray[Any], saved: NDArray[Any]) -> None:
    """Copy one array over another, in place, without writing pages of memory where both are zeros.

    Most of a model with much room is zeros that the system has not given memory yet.
    """
    n_pieces = into.nbytes // PIECE_BYTES
    if n_pieces < MIN_PIECES or not (into.flags.c_contiguous and saved.flags.c_contiguous):
        np.copyto(into, saved)
        return
    ours, theirs = into.reshape(-1).view(np.uint8), saved.reshape(-1).view(np.uint8)
    whole = n_pieces * PIECE_BYTES
    ours[whole:] = theirs[whole:]
    pairs = ours[:whole].reshape(n_pieces, -1), theirs[:whole].reshape(n_pieces, -1)
    for piece in np.flatnonzero(pairs[0].max(axis=1) | pairs[1].max(axis=1)):
        pairs[0][piece] = pairs[1][piece]


def taken(arrays: Arrays, start: str) -> Arrays:
    """The arrays whose names have this prefix, without it; they are taken out of `arrays`, in place."""
    return {name.removeprefix(start): arrays.pop(name) for name in list(arrays) if name.startswith(start)}


def snapshot_of(model: Any) -> State:
    """A consistent copy of the state of a model within another, which other threads may be using."""
    state: State = model.snapshot() if hasattr(model, "snapshot") else model.state()
    return state


def states_of(members: Sequence[Any], prefix: str = "") -> tuple[list[Any], Arrays]:
    """Kinds and options of all members, and their arrays by member index; an InvalidInput names a foreign member."""
    states: list[Any] = []
    arrays: Arrays = {}
    for index, member in enumerate(members):
        options, member_arrays = snapshot_of(checked_ours(member))
        states.append([type(member).__name__, options])
        arrays |= {f"{prefix}{index}:{name}": array for name, array in member_arrays.items()}
    return states, arrays


def restored(states: Sequence[Any], arrays: Arrays, prefix: str = "") -> list[Any]:
    """The members rebuilt; their arrays are taken out of `arrays`, in place."""
    arrays_of: list[Arrays] = [{} for _ in states]
    indices = {f"{prefix}{index}": index for index in range(len(states))}
    for name in list(arrays):
        start, _, rest = name.partition(":")
        if start in indices:
            arrays_of[indices[start]][rest] = arrays.pop(name)
    reserve(MEMBER_BYTES * len(states))
    return [
        class_named(kind).from_state(State(options, member_arrays))
        for (kind, options), member_arrays in zip(states, arrays_of, strict=True)
    ]


def class_named(kind: str) -> Any:
    """The public class with this name, whose models can be saved; a CorruptFile if there is none."""
    for family in FAMILIES:
        package = import_module(f"stumpery.{family}")
        candidate = getattr(package, kind) if kind in package.__all__ else None
        if hasattr(candidate, "from_state") and not isabstract(candidate):
            return candidate
    raise CorruptFile(f"this version of Stumpery has no model of the kind {kind!r}")


def checked_ours(member: Any) -> Any:
    """A model within another; an InvalidInput says that one of a foreign class cannot be saved."""
    if not is_ours(member):
        kind = type(member).__name__
        raise InvalidInput(f"a {kind} among the models is none of Stumpery's own, so this cannot be saved")
    return member


def is_ours(model: Any) -> bool:
    """Whether a model's class is a public one that can be saved, not just one of the same name."""
    try:
        return class_named(type(model).__name__) is type(model)
    except CorruptFile:
        return False
