"""Locks of models, which make all models thread-safe.

A model holds arrays that its kernels change in place, without the interpreter's lock. So each model has a lock of its
own, a re-entrant readers-writer lock, and every public method and property of a subclass takes it: alone, unless the
method is marked `@concurrent`, which lets it run together with others so marked. Whatever threads do with a model, the
result is that of one call after the other; the price is waiting. Methods that start with an underscore are called with
the lock held, and take none.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import wraps
from threading import Event, RLock, get_ident
from typing import Any, Self, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])
LOCKED = "_takes_lock"  # marks methods that take the lock themselves
CONCURRENT = "_is_concurrent"
POLL_S = 0.1


class Readers(set[int]):
    """The threads that run concurrent methods of a model; the holder of its mutex is alone while there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = False
        self._has_left = Event()

    def refuse_own(self) -> None:
        """Refuse to wait for the thread itself."""
        if get_ident() in self:
            raise RuntimeError("a concurrent method of a model called one that is not: mark both or none")

    def wait(self) -> None:
        """Wait until there are no readers; called with the mutex held, so that no new ones can start."""
        self.refuse_own()
        self.is_awaited = True
        try:
            while True:
                self._has_left.clear()
                if not self:
                    return
                self._has_left.wait(POLL_S)
        finally:
            self.is_awaited = False

    def notify(self) -> None:
        """Wake the waiting thread after one has left; it also polls, in case an interruption prevents this call."""
        self._has_left.set()


def exclusive(method: Method) -> Method:
    """A method during which no other thread uses the model."""

    @wraps(method)
    def locked(self: "Locked", /, *arguments: Any, **options: Any) -> Any:
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
    def locked(self: "Locked", /, *arguments: Any, **options: Any) -> Any:
        readers, me = self._readers, get_ident()
        if me in readers:
            return method(self, *arguments, **options)
        try:
            with self._mutex:
                readers.add(me)
            return method(self, *arguments, **options)
        finally:
            readers.discard(me)  # first, and not by a Python function: an interruption could come as that begins
            if readers.is_awaited:
                readers.notify()

    setattr(locked, CONCURRENT, True)
    return locking(locked)  # type: ignore[return-value]


def merging(method: Method) -> Method:
    """A method that merges another model: it is copied first, so that no thread ever waits for two locks."""
    alone = exclusive(method)

    @wraps(method)
    def locked(self: "Locked", other: Any) -> Any:
        return alone(self, copy(other) if isinstance(other, Locked) else other)

    return locking(locked)  # type: ignore[return-value]


def locking(method: Method) -> Method:
    """A method that takes the model's mutex itself: for very short ones, a wrapper would cost more than the lock.

    In a model with concurrent methods this is not enough: the method must also wait for the readers.
    """
    setattr(method, LOCKED, True)
    return method


class Locked:
    """An object with a lock, which its public methods and properties acquire."""

    _mutex: Any  # an RLock
    _readers: Readers

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        """An object with its lock; its fields are set by `__init__`."""
        made = super().__new__(cls)
        made.__dict__.update(_mutex=RLock(), _readers=Readers())
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if inspect.isfunction(member) and not hasattr(member, LOCKED):
                overrides_concurrent = hasattr(getattr(super(cls, cls), name, None), CONCURRENT)
                setattr(cls, name, concurrent(member) if overrides_concurrent else exclusive(member))
            elif isinstance(member, property) and member.fget is not None and not hasattr(member.fget, LOCKED):
                setattr(cls, name, property(exclusive(member.fget), member.fset, member.fdel, member.__doc__))


@contextmanager
def all_exclusive(models: Sequence[Locked]) -> Iterator[None]:
    """A block during which no other thread uses any of these models; their locks are always taken in one order."""
    with ExitStack() as stack:
        for model in sorted(models, key=id):
            stack.enter_context(model._mutex)
            if model._readers:
                model._readers.wait()
        yield
