"""Bundles of arrays that are lent.

Numba passes a bundle of arrays as hundreds of words, each to be taken out and put in again at every call. Parts get it
lent (`Lent`): they are told where it lies, and read what they need. Python can lay a bundle's words out once (`held`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.core.typing.typeof import typeof
from numba.extending import NativeValue, register_model, unbox

from stumpery.compiling import KNOWN

LENT = "lent "  # how the names of lent bundles begin


class Lent(types.Type):  # type: ignore[misc]
    """A bundle with arrays, as parts get it: where it lies."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        self._classes = _classes_in(bundle)
        super().__init__(name=f"{LENT}{bundle}")

    @property
    def key(self) -> Any:
        """What tells it from others: its name tells all but which classes of bundles these are."""
        return self.name, self._classes


def lent(kind: Any) -> Any:
    """The type by which a part gets an argument, or a member of one: bundles lent, and no number known."""
    is_bundle = isinstance(kind, types.BaseNamedTuple) and any(map(_has_arrays, kind.types))
    return Lent(kind) if is_bundle and KNOWN else types.unliteral(kind)


def _has_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_has_arrays, kind.types)))


def _classes_in(kind: Any) -> tuple[type, ...]:
    """The classes of a bundle and of those within it."""
    if not isinstance(kind, types.BaseTuple):
        return ()
    own = (kind.instance_class,) if isinstance(kind, types.BaseNamedTuple) else ()
    return (*own, *(each for part in kind.types for each in _classes_in(part)))


def with_lent_arguments(find: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's search for a function that takes such arguments, for one that gets them as parts do; asked once."""
    known: dict[Any, Any] = {}

    def found(arguments: Any, named: Any) -> Any:
        key = tuple(map(lent, arguments)), tuple((name, lent(kind)) for name, kind in named.items())
        if key not in known:
            known[key] = find(key[0], dict(key[1]))
        return known[key]

    return found


@register_model(Lent)
class _LentModel(models.PrimitiveModel):  # type: ignore[misc]
    """An address. What lies there changes only after the call for which it was lent: what was read stays true."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.bundle).get_value_type().as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        value.add_attribute("noalias")
        return value


@lower_cast(types.BaseNamedTuple, Lent)  # type: ignore[untyped-decorator]
def _lend(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    """Where a bundle lies: its variable, if it was read from there for this call, or else a place of its own."""
    if isinstance(value, llvm.LoadInstr) and builder.block.instructions[-1] is value:
        return value.operands[0]
    return cgutils.alloca_once_value(builder, value)


@infer_getattr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = Lent

    def generic_resolve(self, owner: Any, name: str) -> Any:
        bundle = owner.bundle
        return lent(bundle.types[bundle.fields.index(name)]) if name in bundle.fields else None


@lower_getattr_generic(Lent)  # type: ignore[untyped-decorator]
def _member(context: Any, builder: Any, owner: Any, value: Any, name: str) -> Any:
    """A member of a lent bundle, read from memory, or again lent."""
    place = owner.bundle.fields.index(name)
    kind = owner.bundle.types[place]
    address = cgutils.gep_inbounds(builder, value, 0, place)
    if lent(kind) != kind:
        return address
    value = builder.load(address)
    value.lent_at = address  # for `lowering.py`, which reads single words from there
    return impl_ret_borrowed(context, builder, kind, value)


class Held:
    """A bundle whose words Python has laid out once, so that kernels need not take apart each of its arrays."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        self._words = np.array(_words_of(bundle), np.int64)
        self.address = self._words.ctypes.data
        self._numba_type_ = Lent(typeof(bundle))


def held(bundle: Any) -> Any:
    """A bundle of arrays as kernels get it soonest; it must be held anew when an array is replaced by another."""
    return Held(bundle) if KNOWN and not config.DISABLE_JIT else bundle


def _words_of(part: Any) -> list[int]:
    """What lies in memory of a bundle, an array or a number, word by word; nobody counts who holds these arrays."""
    if isinstance(part, tuple):
        return [word for each in part for word in _words_of(each)]
    if isinstance(part, np.ndarray):
        return [0, 0, part.size, part.itemsize, part.ctypes.data, *part.shape, *part.strides]
    if isinstance(part, bool) or not isinstance(part, float | int):
        raise TypeError(f"{part!r} cannot be held: it is neither an array nor a float nor an int, nor a bundle of such")
    return [int(np.array(part).view(np.int64))]


@unbox(Lent)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, obj: Any, c: Any) -> Any:
    """Where a held bundle lies."""
    number = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(kind)))
