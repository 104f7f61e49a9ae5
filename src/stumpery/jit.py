"""The compiler's settings, named here and nowhere else.

`@kernel` compiles a function with Numba, keeps the machine code on disk and releases the interpreter lock while it
runs. Switches, read once from the environment:

- `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for debuggers and coverage;
- `STUMPERY_BOUNDS_CHECK=1` makes a kernel raise where it would read past an array's end;
- `STUMPERY_PLAIN=1` compiles without the extensions of `compiling/`, by Numba alone: slower, but the same results;
- `STUMPERY_CACHE` names the folder for compiled kernels instead of the user's cache folder, `STUMPERY_CACHE_KEY` the
  file with their key (see `folders.py`).

`kernel_cache.py` keeps compiled kernels on the disk; a change of any kernel file compiles all of them anew.

`@internal` is for internal functions, which only kernels call; a kernel that another one calls is one there, too. A
signed index that is known only at run time must be 0 or more: compiled with the extensions, a negative one raises an
IndexError, whoever calls; elsewhere it counts from the end.

`prefetch` asks for memory that will be needed soon: trees jump about in more of it than the processor's caches hold.
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
LINE = 64  # bytes that the processor fetches at once
C_LOG2 = ctypes.CDLL(None if os.name == "posix" else "ucrtbase").log2f  # what compiled code calls
C_LOG2.restype, C_LOG2.argtypes = ctypes.c_float, [ctypes.c_float]


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or take its machine code from the disk."""
    if INTERPRETED:
        return _quiet(function)
    extensions: dict[str, Any] = {"pipeline_class": KernelCompiler} if EXTENDED else {}
    compiled = numba.njit(**SETTINGS, **extensions)(function)
    compiled._cache = cache_of(function, bounds_check=BOUNDS_CHECK)
    compiled.compile = _uninterrupted(compiled.compile)
    if EXTENDED:
        inner: Any = internal(function)  # what kernels get that call this one
        compiled.get_call_template, compiled.get_overload = inner.get_call_template, inner.get_overload
    return compiled  # type: ignore[no-any-return]


def internal(function: Function) -> Function:
    """Compile `function` only inside the kernels that call it, which compile much faster; Python cannot call it."""
    if INTERPRETED:
        return _quiet(function)
    options = {"no_cpython_wrapper": True, **SETTINGS}
    compile_: Any = InternalFunction if EXTENDED else numba.njit
    return compile_(function, **options)  # type: ignore[no-any-return]


def _uninterrupted(compile_: Function) -> Function:
    """Compile, or load machine code, before Ctrl-C has its effect: in the midst of LLVM's work it ends the process."""

    @wraps(compile_)
    def compiled(*arguments: Any) -> Any:
        with defer_interrupts():
            return compile_(*arguments)

    return compiled  # type: ignore[return-value]


def _quiet(function: Function) -> Function:
    """Run as plain Python; integers wrap around and 1/0 is infinite there as they are in machine code."""

    @wraps(function)
    def interpreted(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return interpreted  # type: ignore[return-value]


@internal
def prefetch(array: np.ndarray, row: int) -> None:
    """Ask for a row of a C-contiguous array that will be needed soon; nothing else changes."""
    if INTERPRETED:
        return
    size = array.strides[0]
    start = np.int64(row) * size
    for place in range(0, size, LINE):
        prefetch_line(array, start + place)
    prefetch_line(array, start + size - 1)


@internal
def prefetch_byte(array: np.ndarray, byte: int) -> None:
    """Ask for the line of memory that holds one byte of an array, counted from its start."""
    if INTERPRETED:
        return
    prefetch_line(array, byte)


@internal
def bitcast(number: np.floating) -> np.unsignedinteger:
    """The bits of a number, as a whole one of as many; a view of an array takes long to compile."""
    if INTERPRETED:
        return number.view(np.uint32 if number.itemsize == np.uint32().itemsize else np.uint64)
    return bitcast_intrinsic(number)  # type: ignore[no-any-return]


@internal
def log2_of(number: np.float32) -> np.float32:
    """The logarithm of base 2, by the C library in all modes: NumPy's own differs in its last bits."""
    if INTERPRETED:
        return np.float32(C_LOG2(number))
    return np.log2(number)  # type: ignore[no-any-return]
