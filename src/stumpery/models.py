"""Base class of all models: frozen options, and state that can be copied and saved.

Options are the fields of a model's dataclass and stay as they were given; all else is state, in attributes whose names
start with an underscore. Copies, clones and pickles are made through the state (see `saving/saveable.py`). Several
threads may share a model (see `locks.py`).
"""

from abc import ABCMeta
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import MISSING, fields
from reprlib import Repr
from typing import Any, ClassVar, Self, TypeVar

from stumpery.errors import InvalidInput
from stumpery.locks import Locked, exclusive
from stumpery.options import listed, shown
from stumpery.saving.reseeding import reseeded
from stumpery.saving.saveable import Saveable
from stumpery.types import State

Kind = TypeVar("Kind", bound="Model")


class ModelType(ABCMeta):
    """The class of all models' classes: it says when a model is complete, from when on its options are frozen."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        """Make a model."""
        model = super().__call__(*arguments, **options)
        model._is_complete = True
        return model


class Model(Saveable, Locked, metaclass=ModelType):
    """Base of every model: options are frozen, and its public methods and properties take the model's lock."""

    _is_complete = False  # from then on the options are frozen
    _unsaved: ClassVar[tuple[str, ...]] = ()  # options that no file holds, but every copy

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            type.__setattr__(cls, "__repr__", cls.__repr__)  # else `dataclass` writes one with all options

    # Options.

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and self._is_complete and name in getattr(self, "__dataclass_fields__", ()):
            stays = f"{name} is an option of {type(self).__name__} and stays as it is"
            raise InvalidInput(f"{stays}; make a new one, for example with clone")
        super().__setattr__(name, value)

    def _set_option(self, name: str, value: Any) -> None:
        """Change an option that follows the state: actions that come and go, a schema that learns names."""
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """The recipe: all options that are not the defaults, long ones shortened."""
        shown = [each for each in fields(self) if each.init and each.repr]  # type: ignore[arg-type]
        given = [(each.name, getattr(self, each.name)) for each in shown if not _is_default(each, self)]
        return f"{type(self).__name__}({', '.join(f'{name}={_SHORT.repr(value)}' for name, value in given)})"

    # State.

    state = exclusive(Saveable.state)

    @exclusive
    def snapshot(self) -> State:
        """The options and a copy of the arrays, as they are at one moment."""
        options, arrays = self.state()
        return State(options, {name: array.copy() for name, array in arrays.items()})

    @property
    @exclusive
    def n_bytes(self) -> int:
        """The memory that the model's arrays hold, and those of the models within it."""
        groups = [member if isinstance(member, list) else [member] for member in self._members().values()]
        within = sum(int(getattr(member, "n_bytes", 0)) for group in groups for member in group)
        return sum(array.nbytes for array in self._arrays().values()) + within

    # Copies.

    @exclusive
    def clone(
        self,
        new_params: Mapping[str, Any] | None = None,
        include_attributes: bool = False,
        *,
        seed: int | None = None,
    ) -> Self:
        """A new model of the same options that has learned nothing, as in river; `new_params` are other options.

        With `include_attributes` it is a copy with what was learned, and a `seed` gives it random streams of its own,
        for another process or fork. `seed=7` is short for `new_params={"seed": 7}`.
        """
        if not isinstance(new_params, Mapping | None):
            raise InvalidInput(f"new_params is {shown(new_params)}; it must be a dict of options or None")
        params = {**(new_params or {}), **({} if seed is None else {"seed": seed})}
        others = sorted(params.keys() - {"seed", *self._unsaved}) if include_attributes else []
        if others:
            changeable, what = " and ".join(("seed", *self._unsaved)), f"new_params hold {listed(others)}"
            raise InvalidInput(f"{what}; a copy with include_attributes can change its {changeable} only")
        own = Saveable._options(self)
        unknown = sorted(params.keys() - own.keys())
        if unknown:
            raise InvalidInput(f"{type(self).__name__} has no option {listed(unknown)}; it has {listed([*own])}")
        if not include_attributes:  # a model among the options would learn in place
            seed = params.get("seed")
            new = {name: unlearned(value, seed) if is_learner(value) else value for name, value in own.items()}
            return type(self)(**{**new, **params})
        seed = params.pop("seed", None)
        if seed is None and not params:
            return self._copied()
        state = self._copied_state()
        state = State({**state.options, **params}, state.arrays)
        return self.from_state(state if seed is None else reseeded(state, seed))

    def _copied_state(self) -> State:
        """The state with the options that no file holds."""
        options, arrays = self.snapshot()
        return State({**options, **{name: getattr(self, name) for name in self._unsaved}}, arrays)

    def _copied(self) -> Self:
        try:
            state = self._copied_state()
        except InvalidInput:  # models of others stand within, which have no state that we know
            copy = _empty(type(self))
            copy._become(self.__getstate__())
            return copy
        return self.from_state(state)

    def __copy__(self) -> Self:
        """A copy with what was learned; it shares nothing with the first."""
        return self._copied()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy with what was learned; it shares nothing with the first."""
        return self._copied()

    @exclusive
    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process is as one that was saved and loaded."""
        try:
            return type(self).from_state, (self._copied_state(),)
        except InvalidInput:  # models of others stand within
            return _empty, (type(self),), self.__getstate__()

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        """All attributes but the lock, copied."""
        return deepcopy({name: value for name, value in self.__dict__.items() if name not in Locked.__annotations__})

    def _become(self, attributes: Mapping[str, Any]) -> None:
        """Have the attributes of another model of this class, all but its lock."""
        own = {name: self.__dict__[name] for name in Locked.__annotations__}
        self.__dict__ |= {**attributes, **own}


def is_learner(value: Any) -> bool:
    """Whether an option is a model that learns, ours or river's."""
    return hasattr(value, "learn_one") and not isinstance(value, type)


def unlearned(learner: Any, seed: int | None = None) -> Any:
    """A copy that has learned nothing, with another `seed` if it has one; others' learners as they copy themselves."""
    if not isinstance(learner, Model):
        return learner.clone() if hasattr(learner, "clone") else deepcopy(learner)
    has_seed = seed is not None and hasattr(learner, "seed")
    return learner.clone(seed=seed if has_seed else None)


def _empty(kind: type[Kind]) -> Kind:
    """A model without attributes, before it gets those of another."""
    return kind.__new__(kind)


def _is_default(option: Any, model: Any) -> bool:
    value = getattr(model, option.name)
    default = option.default if option.default_factory is MISSING else option.default_factory()
    return type(value) is type(default) and bool(value == default)


_SHORT = Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 8
_SHORT.maxstring = _SHORT.maxother = 200
