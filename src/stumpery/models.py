"""The base of all models: frozen options, state that can be copied and saved, and a lock for several threads.

The options of a model, the fields of its dataclass, stay as they were given; all else is state, in attributes whose
names start with an underscore. Copies, clones and pickles are made through the state (see `saveable.py`).

A model holds arrays that its kernels change in place, without the interpreter's lock. So each model has a lock of its
own, a re-entrant readers-writer lock, and every public method and property of a subclass takes it: alone, unless the
method is marked `@concurrent`, which lets it run together with others so marked. Whatever threads do with a model, the
result is that of one call after the other; the price is waiting. Methods that start with an underscore are called with
the lock held, and take none.
"""

import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy, deepcopy
from dataclasses import MISSING, fields
from functools import wraps
from reprlib import Repr
from threading import Event, RLock, get_ident
from typing import Any, ClassVar, Self, TypeVar

from stumpery.errors import InvalidInput
from stumpery.options import listed
from stumpery.reseeding import reseeded
from stumpery.saveable import Saveable
from stumpery.types import State

Method = TypeVar("Method", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound="Model")
LOCKED = "_takes_lock"  # marks methods that take the lock themselves
CONCURRENT = "_is_concurrent"
LOOK_AGAIN_S = 0.1


class Readers(set[int]):
    """The threads that run concurrent methods of a model; whoever holds its mutex while there are none is alone."""

    def __init__(self) -> None:
        super().__init__()
        self._is_awaited = False
        self._somebody_left = Event()

    def refuse_own(self) -> None:
        """Refuse to wait for the thread itself."""
        if get_ident() in self:
            raise RuntimeError("a concurrent method of a model called one that is not: mark both or none")

    def wait(self) -> None:
        """Wait until there are none; called with the mutex held, so that none can come."""
        self.refuse_own()
        self._is_awaited = True
        try:
            while True:
                self._somebody_left.clear()
                if not self:
                    return
                self._somebody_left.wait(LOOK_AGAIN_S)
        finally:
            self._is_awaited = False

    def notify(self) -> None:
        """Say that one has left; where an interruption keeps a thread from doing so, who waits looks again soon."""
        if self._is_awaited:
            self._somebody_left.set()


def exclusive(method: Method) -> Method:
    """A method during which no other thread uses the model."""

    @wraps(method)
    def locked(self: "Model", /, *arguments: Any, **options: Any) -> Any:
        if self._readers:
            self._readers.refuse_own()  # before the mutex, which another thread may hold while it waits for this one
        with self._mutex:
            if self._readers:
                self._readers.wait()
            return method(self, *arguments, **options)

    return locking(locked)  # type: ignore[return-value]


def concurrent(method: Method) -> Method:
    """A method that several threads may run at once: it changes nothing that another concurrent one reads.

    It calls no public method that is not concurrent.
    """

    @wraps(method)
    def locked(self: "Model", /, *arguments: Any, **options: Any) -> Any:
        readers, me = self._readers, get_ident()
        if me in readers:
            return method(self, *arguments, **options)
        try:
            with self._mutex:
                readers.add(me)
            return method(self, *arguments, **options)
        finally:
            readers.discard(me)  # first, and not by a Python function: an interruption could come as that begins
            readers.notify()

    setattr(locked, CONCURRENT, True)
    return locking(locked)  # type: ignore[return-value]


def merging(method: Method) -> Method:
    """A method that takes another model in: that one is copied first, so that no thread ever waits for two locks."""
    alone = exclusive(method)

    @wraps(method)
    def locked(self: "Model", other: Any) -> Any:
        return alone(self, copy(other) if isinstance(other, Model) else other)

    return locking(locked)  # type: ignore[return-value]


def locking(method: Method) -> Method:
    """A method that takes the model's mutex itself, as the shortest ones do: a wrapper would cost more than the lock.

    Where a model has concurrent methods this is not enough: it must also wait for the readers.
    """
    setattr(method, LOCKED, True)
    return method


class ModelType(ABCMeta):
    """The class of all models' classes: it says when a model is complete, from when on its options are frozen."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        """Make a model."""
        model = super().__call__(*arguments, **options)
        model._is_complete = True
        return model


class Model(Saveable, metaclass=ModelType):
    """Base of every model: options are frozen, and its public methods and properties take the model's lock."""

    _mutex: Any  # an RLock
    _readers: Readers
    _is_complete = False  # from then on the options are frozen
    _unsaved: ClassVar[tuple[str, ...]] = ()  # options that no file holds, but every copy

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        """A model with a lock of its own; its fields are set by `__init__`."""
        model = super().__new__(cls)
        model.__dict__.update(_mutex=RLock(), _readers=Readers())
        return model

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            type.__setattr__(cls, "__repr__", cls.__repr__)  # else `dataclass` writes one with all options
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if inspect.isfunction(member) and not hasattr(member, LOCKED):
                overrides_concurrent = hasattr(getattr(super(cls, cls), name, None), CONCURRENT)
                setattr(cls, name, concurrent(member) if overrides_concurrent else exclusive(member))
            elif isinstance(member, property) and member.fget is not None and not hasattr(member.fget, LOCKED):
                setattr(cls, name, property(exclusive(member.fget), member.fset, member.fdel, member.__doc__))

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
        return deepcopy({name: value for name, value in self.__dict__.items() if name not in Model.__annotations__})

    def _become(self, attributes: Mapping[str, Any]) -> None:
        """Have the attributes of another model of this class, all but its lock."""
        own = {name: self.__dict__[name] for name in ("_mutex", "_readers")}
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


@contextmanager
def all_exclusive(models: Sequence[Model]) -> Iterator[None]:
    """A block during which no other thread uses any of these models; their locks are always taken in one order."""
    with ExitStack() as stack:
        for model in sorted(models, key=id):
            stack.enter_context(model._mutex)
            if model._readers:
                model._readers.wait()
        yield
