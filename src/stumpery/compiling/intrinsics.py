"""Steps that Python has no words for, or that Numba takes too long for."""

import operator
from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.cpython.builtins import do_minmax
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def touch(context: Any, array: Any, place: Any) -> Any:
    """Ask for the line of memory that holds a byte of a C-contiguous array, counted from its start."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        start = builder.bitcast(memory, llvm.IntType(8).as_pointer())
        word = llvm.IntType(32)
        kind = llvm.FunctionType(llvm.VoidType(), (start.type, word, word, word))
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, (builder.gep(start, [arguments[1]]), word(0), word(3), word(1)))  # to read, and to keep
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def same_bits(context: Any, number: Any) -> Any:
    """A number's bits, as a whole one of as many."""
    width = types.unliteral(number).bitwidth

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvm.IntType(width))

    return {32: types.uint32, 64: types.uint64}[width](number), generate


@intrinsic  # type: ignore[untyped-decorator]
def _whole(context: Any, number: Any) -> Any:
    """Python's `int` of a number."""
    kind = types.unliteral(number)
    if not isinstance(kind, types.Integer | types.Float | types.Boolean):
        return None

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return target.cast(builder, arguments[0], kind, signature.return_type)

    return (kind if isinstance(kind, types.Integer) else types.intp)(kind), generate


def _choice(better: Any) -> Any:
    """The one of two numbers that is better, as Python's `max` and `min` choose."""

    @intrinsic  # type: ignore[untyped-decorator]
    def chosen(context: Any, first: Any, second: Any) -> Any:
        kinds = types.unliteral(first), types.unliteral(second)
        if not all(isinstance(kind, types.Integer | types.Float | types.Boolean) for kind in kinds):
            return None

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return do_minmax(target, builder, kinds, arguments, better)

        return context.unify_types(*kinds)(*kinds), generate

    return chosen


# What Python calls a builtin, with how many arguments, and its short form.
INLINE = (int, 1, _whole), (max, 2, _choice(operator.gt)), (min, 2, _choice(operator.lt))
