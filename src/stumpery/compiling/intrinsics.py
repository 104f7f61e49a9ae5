"""Numba intrinsics for LLVM instructions that Python lacks: prefetch and bitcast."""

from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def prefetch_line(context: Any, array: Any, byte: Any) -> Any:
    """Prefetch the cache line of a byte of a C-contiguous array; `byte` is an offset from its start."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        start = builder.bitcast(memory, llvm.IntType(8).as_pointer())
        word = llvm.IntType(32)
        kind = llvm.FunctionType(llvm.VoidType(), (start.type, word, word, word))
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.gep(start, [arguments[1]])
        builder.call(prefetch, (address, word(0), word(3), word(1)))  # for reading, kept in all cache levels
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def bitcast_intrinsic(context: Any, number: Any) -> Any:
    """A number's bits as an unsigned integer of the same width."""
    width = types.unliteral(number).bitwidth

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], llvm.IntType(width))

    return {32: types.uint32, 64: types.uint64}[width](number), generate
