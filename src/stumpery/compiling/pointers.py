"""Passing NamedTuples of arrays by pointer.

Numba passes a NamedTuple of arrays as hundreds of words, unpacked and packed again at every call. Internal functions
get its address instead (`NamedTuplePointer`) and load the fields that they use. `pinned` prepares an argument once for
many calls from Python.
"""

from typing import Any, TypeVar

import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.core.typing.typeof import typeof
from numba.extending import NativeValue, register_model, unbox

from stumpery.compiling import EXTENDED

Record = TypeVar("Record", bound=tuple[Any, ...])
POINTER = "pointer to "  # prefix of the names of these types

_types: dict[Any, "NamedTuplePointer"] = {}  # by layout; models have few


class NamedTuplePointer(types.Type):  # type: ignore[misc]
    """Numba's type of a NamedTuple with arrays that is passed by pointer."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self._classes = _classes_in(record)
        super().__init__(name=f"{POINTER}{record}")

    @property
    def key(self) -> Any:
        """Identity of the type: its name, and the NamedTuple classes, which the name does not tell apart."""
        return self.name, self._classes


def by_pointer(kind: Any) -> Any:
    """The type as which an internal function receives an argument or a field of one; no literal types."""
    is_record = isinstance(kind, types.BaseNamedTuple) and any(map(_has_arrays, kind.types))
    return NamedTuplePointer(kind) if is_record else types.unliteral(kind)


def _has_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_has_arrays, kind.types)))


def _classes_in(kind: Any) -> tuple[type, ...]:
    """The classes of a NamedTuple type and of the NamedTuples nested in it."""
    if not isinstance(kind, types.BaseTuple):
        return ()
    own_class = (kind.instance_class,) if isinstance(kind, types.BaseNamedTuple) else ()
    return (*own_class, *(each for field in kind.types for each in _classes_in(field)))


@register_model(NamedTuplePointer)
class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]
    """Data model of the pointer: `noalias`, as the memory does not change during the call."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.record).get_value_type().as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        value.add_attribute("noalias")
        return value


@lower_cast(types.BaseNamedTuple, NamedTuplePointer)  # type: ignore[untyped-decorator]
def _address_of(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    """The address of a NamedTuple: of its variable if it was just loaded from there, else of a copy on the stack."""
    if isinstance(value, llvm.LoadInstr) and builder.block.instructions[-1] is value:
        return value.operands[0]
    return cgutils.alloca_once_value(builder, value)


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = NamedTuplePointer

    def generic_resolve(self, owner: Any, name: str) -> Any:
        record = owner.record
        return by_pointer(record.types[record.fields.index(name)]) if name in record.fields else None


@lower_getattr_generic(NamedTuplePointer)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, owner: Any, value: Any, name: str) -> Any:
    """A field, loaded from memory; its address if it is a NamedTuple with arrays itself."""
    position = owner.record.fields.index(name)
    kind = owner.record.types[position]
    address = cgutils.gep_inbounds(builder, value, 0, position)
    if by_pointer(kind) != kind:
        return address
    loaded = builder.load(address)
    loaded.loaded_from = address  # `lowering.py` loads single members from there
    return impl_ret_borrowed(context, builder, kind, loaded)


class Pinned:
    """A NamedTuple laid out in memory as a kernel expects it, so that its arrays are not unboxed at each call."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self._words = np.array(_struct_words(record), np.int64)
        self.address = self._words.ctypes.data
        self._numba_type_ = _type_of(record)


def pinned(record: Record) -> Record:
    """A NamedTuple of arrays as a fast kernel argument; pin it again when one of its arrays is replaced.

    Type checkers take it for the record, as kernels do; Python finds the record in its attribute `record`.
    """
    return Pinned(record) if EXTENDED and not config.DISABLE_JIT else record  # type: ignore[return-value]


def _type_of(record: Any) -> NamedTuplePointer:
    """The type of a pinned NamedTuple; typing eighty arrays takes a millisecond, so types are kept by their layout."""
    layout = _layout(record)
    if layout not in _types:
        _types[layout] = NamedTuplePointer(typeof(record))
    return _types[layout]


def _layout(field: Any) -> Any:
    """What the type of a field depends on: its class, and an array's element type, dimensions and flags."""
    if isinstance(field, tuple):
        return (type(field), *map(_layout, field))
    return (field.dtype, field.ndim, field.flags.num) if isinstance(field, np.ndarray) else typeof(field)


def _struct_words(field: Any) -> list[int]:
    """The words of a NamedTuple, an array or a number as a C struct; its arrays are not reference-counted."""
    if isinstance(field, tuple):
        return [word for each in field for word in _struct_words(each)]
    if isinstance(field, np.ndarray):
        return [0, 0, field.size, field.itemsize, field.ctypes.data, *field.shape, *field.strides]
    if isinstance(field, bool) or not isinstance(field, float | int):
        raise TypeError(f"cannot pin {field!r}: it must be an array, a float, an int or a tuple of these")
    return [int(np.array(field).view(np.int64))]


@unbox(NamedTuplePointer)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, obj: Any, c: Any) -> Any:
    """The address of a pinned NamedTuple."""
    number = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(kind)))
