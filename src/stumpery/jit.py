"""Just-in-time compilation: the decorators `@kernel` and `@internal`, and all compiler settings.

`@kernel` compiles a function with Numba, caches the machine code on disk and releases the interpreter lock (GIL) while
it runs. Environment variables, read at import:

- `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for debuggers and coverage;
- `STUMPERY_BOUNDS_CHECK=1` makes a kernel raise where it would read past an array's end;
- `STUMPERY_PLAIN=1` compiles without the extensions of `compiling/`, by Numba alone: slower, but the same results;
- `STUMPERY_CACHE` names the folder for compiled kernels instead of the user's cache folder, `STUMPERY_CACHE_KEY` the
  file with their key (see `system/folders.py`).

`compiling/kernel_cache.py` is the disk cache; a change of any kernel file recompiles all kernels.

`@internal` is for functions that only kernels call. A kernel that is called by another one is compiled as an internal
function there. A signed index that is known only at run time must be 0 or more: compiled with the extensions, a
negative one raises an IndexError; elsewhere it counts from the end.

`prefetch` loads memory into the processor's caches ahead of its use: forests are larger than these caches.
"""

import ctypes
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config

from stumpery.compiling import EXTENDED
from stumpery.compiling.internal import InternalFunction, KernelCompiler
from stumpery.compiling.intrinsics import bitcast_intrinsic, prefetch_line
from stumpery.compiling.kernel_cache import cache_of
from stumpery.system.interruption import defer_interrupts

Function = TypeVar("Function", bound=Callable[..., Any])

INTERPRETED = bool(config.DISABLE_JIT)
BOUNDS_CHECK = os.environ.get("STUMPERY_BOUNDS_CHECK", "0") not in ("", "0")
SETTINGS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": BOUNDS_CHECK,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
LINE = 64  # bytes of a cache line
C_LOG2 = ctypes.CDLL(None if os.name == "posix" else "ucrtbase").log2f  # as compiled code calls it
C_LOG2.restype, C_LOG2.argtypes = ctypes.c_float, [ctypes.c_float]


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or load its machine code from the disk cache."""
    if INTERPRETED:
        return _interpreted(function)
    extensions: dict[str, Any] = {"pipeline_class": KernelCompiler} if EXTENDED else {}
    compiled = numba.njit(**SETTINGS, **extensions)(function)
    compiled._cache = cache_of(function, bounds_check=BOUNDS_CHECK)
    compiled.compile = _defer_interrupts_while(compiled.compile)
    if EXTENDED:
        callee: Any = internal(function)  # compiled when another kernel calls this one
        compiled.get_call_template, compiled.get_overload = callee.get_call_template, callee.get_overload
    return compiled  # type: ignore[no-any-return]


def internal(function: Function) -> Function:
    """Compile `function` only as a part of the kernels that call it, which is much faster; Python cannot call it."""
    if INTERPRETED:
        return _interpreted(function)
    options = {"no_cpython_wrapper": True, **SETTINGS}
    compile_: Any = InternalFunction if EXTENDED else numba.njit
    return compile_(function, **options)  # type: ignore[no-any-return]


def _defer_interrupts_while(compile_: Function) -> Function:
    """Defer Ctrl-C while compiling or loading machine code: an interrupt within LLVM ends the process."""

    @wraps(compile_)
    def compiled(*arguments: Any) -> Any:
        with defer_interrupts():
            return compile_(*arguments)

    return compiled  # type: ignore[return-value]


def _interpreted(function: Function) -> Function:
    """Run as plain Python without NumPy's warnings: integers wrap around and 1/0 is infinite, as in machine code."""

    @wraps(function)
    def interpreted(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return interpreted  # type: ignore[return-value]


@internal
def prefetch(array: np.ndarray, row: int) -> None:
    """Prefetch a row of a C-contiguous array."""
    if INTERPRETED:
        return
    size = array.strides[0]
    start = np.int64(row) * size
    for offset in range(0, size, LINE):
        prefetch_line(array, start + offset)
    prefetch_line(array, start + size - 1)


@internal
def prefetch_byte(array: np.ndarray, byte: int) -> None:
    """Prefetch the cache line of one byte of a C-contiguous array; `byte` is an offset from its start."""
    if INTERPRETED:
        return
    prefetch_line(array, byte)


@internal
def bitcast(number: np.floating) -> np.unsignedinteger:
    """The bits of a float as an unsigned integer of the same width; compiles faster than a view of an array."""
    if INTERPRETED:
        return number.view(np.uint32 if number.itemsize == np.uint32().itemsize else np.uint64)
    return bitcast_intrinsic(number)  # type: ignore[no-any-return]


@internal
def log2_of(number: np.float32) -> np.float32:
    """The base-2 logarithm of the C library in all modes; NumPy's own differs in the last bits."""
    if INTERPRETED:
        return np.float32(C_LOG2(number))
    return np.log2(number)  # type: ignore[no-any-return]
