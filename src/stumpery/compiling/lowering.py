"""Lowering of array indices without wraparound: a signed index that is known only at run time must be 0 or more.

Numba lets a negative index count from the end, which costs a comparison and an addition for every access and made
forests 10 % slower. Here it raises an IndexError, which costs a branch that is never taken. A negative constant
(`values[-1]`) counts from the end as in Numba.
"""

from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils, typing
from numba.core.ir_utils import find_const, get_definition, guard
from numba.core.lowering import Lower

NO_REFERENCE_COUNTS = "stumpery_no_reference_counts"  # in a function's metadata
DATA, SHAPE, STRIDES = 4, 5, 6  # positions of an array's members in its data model
NEGATIVE = "a negative index counts from the end only where it is a constant"
_SIZES: dict[str, int] = {}


class _Builder(llvm.IRBuilder):  # type: ignore[misc]
    """LLVM's builder; members of a NamedTuple passed by pointer are loaded one by one."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A member of a struct."""
        address = getattr(agg, "loaded_from", None)
        if address is None:
            return super().extract_value(agg, idx, name)
        path = (idx,) if isinstance(idx, int) else tuple(idx)
        return self.load(cgutils.gep_inbounds(self, address, 0, *path))


class CheckedLower(Lower):  # type: ignore[misc]
    """Numba's lowering with checked array indices, and without reference counts where none are needed."""

    context: Any

    def __init__(self, *arguments: Any, metadata: Any) -> None:
        super().__init__(*arguments, metadata=metadata)
        enable_nrt = self.context.enable_nrt and not metadata.get(NO_REFERENCE_COUNTS)
        self.context = self.context.subtarget(enable_nrt=enable_nrt, get_abi_sizeof=self._size_of)

    def setup_function(self, fndesc: Any) -> None:
        """Set up lowering of a function, with our builder."""
        super().setup_function(fndesc)
        self.builder = _Builder(self.entry_block)

    def _size_of(self, kind: Any) -> int:
        """The size of an LLVM type in bytes, memoised: LLVM compiles a module to answer."""
        name = str(kind)
        if name not in _SIZES:
            _SIZES[name] = kind.get_abi_size(self.context.target_data)
        return _SIZES[name]

    def lower_getitem(self, kind: Any, expression: Any, array: Any, index: Any, signature: Any) -> Any:
        """Read an element or a view of an array."""
        signature = self._checked(index, signature)
        address = self._element(array, index, signature)
        if address is None:
            return super().lower_getitem(kind, expression, array, index, signature)
        stored = self.typeof(array.name).dtype
        return self.context.cast(self.builder, self.context.unpack_value(self.builder, stored, address), stored, kind)

    def lower_setitem(self, array: Any, index: Any, value: Any, signature: Any) -> Any:
        """Write an element of an array."""
        signature = self._checked(index, signature)
        address = self._element(array, index, signature)
        if address is None:
            return super().lower_setitem(array, index, value, signature)
        stored = self.typeof(array.name).dtype
        element = self.context.cast(self.builder, self.loadvar(value.name), self.typeof(value.name), stored)
        return self.context.pack_value(self.builder, stored, element, address)

    def _checked(self, index: Any, signature: Any) -> Any:
        """Check an index; return the signature with unsigned integers, which Numba does not wrap around."""
        array, wanted, *rest = signature.args
        if not isinstance(array, types.Array):
            return signature
        kind, value = self.typeof(index.name), self.loadvar(index.name)
        if not isinstance(kind, types.BaseTuple):
            checked = self._checked_integer(index, kind, value, wanted)
        else:
            tuple_ = guard(get_definition, self.func_ir, index)
            axes = tuple_.items if getattr(tuple_, "op", None) == "build_tuple" else [None] * len(kind)
            values = [self.builder.extract_value(value, axis) for axis in range(len(kind))]
            integers = map(self._checked_integer, axes, kind.types, values, wanted.types)
            checked = types.BaseTuple.from_types(tuple(integers))
        return typing.signature(signature.return_type, array, checked, *rest)

    def _checked_integer(self, variable: Any, kind: Any, value: Any, wanted: Any) -> Any:
        """Raise an IndexError where an integer is negative; return the type that it is used as."""
        if not isinstance(wanted, types.Integer) or not wanted.signed:
            return wanted
        constant = guard(find_const, self.func_ir, variable) if variable else None
        if constant is not None:
            return types.uintp if constant >= 0 else wanted
        value = self.context.cast(self.builder, value, kind, wanted)
        with cgutils.if_unlikely(self.builder, self.builder.icmp_signed("<", value, value.type(0))):
            function = self.func_ir.func_id.func_name
            self.call_conv.return_user_exc(self.builder, IndexError, (NEGATIVE,), loc=self.loc, func_name=function)
        return types.uintp

    def _element(self, array: Any, index: Any, signature: Any) -> Any:
        """The address of an element; None for a view or an index with anything but unsigned integers."""
        kind, wanted = self.typeof(array.name), signature.args[1]
        kinds = wanted.types if isinstance(wanted, types.BaseTuple) else (wanted,)
        if not isinstance(kind, types.Array) or not kind.aligned or not 0 < len(kinds) == kind.ndim:
            return None
        if any(not isinstance(each, types.Integer) or each.signed for each in kinds):
            return None
        struct, value = self.loadvar(array.name), self.loadvar(index.name)
        index_type = self.typeof(index.name)
        values, value_types = [value], [index_type]
        if isinstance(index_type, types.BaseTuple):
            values = [self.builder.extract_value(value, axis) for axis in range(kind.ndim)]
            value_types = index_type.types
        return cgutils.get_item_pointer2(
            self.context,
            self.builder,
            data=self.builder.extract_value(struct, DATA),
            shape=[self.builder.extract_value(struct, (SHAPE, axis)) for axis in range(kind.ndim)],
            strides=[self.builder.extract_value(struct, (STRIDES, axis)) for axis in range(kind.ndim)],
            layout=kind.layout,
            inds=[self.context.cast(self.builder, *each, types.intp) for each in zip(values, value_types, strict=True)],
            boundscheck=self.context.enable_boundscheck,
        )
