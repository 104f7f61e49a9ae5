"""The compiler's settings, named here and nowhere else.

`@kernel` compiles a function with Numba, keeps the machine code on disk and releases the interpreter lock while it
runs. Switches, read once from the environment:

- `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for debuggers and coverage;
- `STUMPERY_BOUNDS_CHECK=1` makes a kernel raise where it would read past an array's end;
- `STUMPERY_CACHE` names the folder for compiled kernels instead of the user's cache folder, `STUMPERY_CACHE_KEY` the
  file with their key (see `folders.py`).

`kernel_cache.py` keeps compiled kernels on the disk; a change of any kernel file compiles all of them anew.

`@part` is for functions that only kernels call; a kernel that another one calls is a part there, too. `compiling/`
says how parts are compiled, and why that takes much less time. In a part, and in a kernel that another one calls, an
index that is known only when it runs must be 0 or more: it is not checked, and does not count from the end.

`prefetch` asks for memory that will be needed soon: trees jump about in more of it than the processor's caches hold.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config

from stumpery.compiling import KNOWN
from stumpery.compiling.intrinsics import same_bits, touch
from stumpery.compiling.lending import with_lent_arguments
from stumpery.compiling.once import undisturbed
from stumpery.compiling.parts import PartCompiler
from stumpery.kernel_cache import cache_of

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


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or take its machine code from the disk."""
    if INTERPRETED:
        return _quiet(function)
    compiled = numba.njit(**SETTINGS)(function)
    compiled._cache = cache_of(function, bounds_check=BOUNDS_CHECK)
    inner: Any = part(function)  # what kernels get that call this one
    compiled.get_call_template, compiled.get_overload = inner.get_call_template, inner.get_overload
    compiled.compile = undisturbed(compiled.compile)
    return compiled  # type: ignore[no-any-return]


def part(function: Function) -> Function:
    """Compile `function` only as a part of the kernels that call it: Python cannot, and they compile much faster."""
    if INTERPRETED:
        return _quiet(function)
    options: dict[str, Any] = {"pipeline_class": PartCompiler} if KNOWN else {}
    compiled = numba.njit(no_cpython_wrapper=True, **SETTINGS, **options)(function)
    compiled.get_call_template = with_lent_arguments(compiled.get_call_template)
    return compiled  # type: ignore[no-any-return]


def _quiet(function: Function) -> Function:
    """Run as plain Python; integers wrap around and 1/0 is infinite there as they are in machine code."""

    @wraps(function)
    def interpreted(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return interpreted  # type: ignore[return-value]


@part
def prefetch(array: np.ndarray, row: int) -> None:
    """Ask for a row of a C-contiguous array that will be needed soon; nothing else changes."""
    if INTERPRETED:
        return
    size = array.strides[0]
    start = np.int64(row) * size
    for place in range(0, size, LINE):
        touch(array, start + place)
    touch(array, start + size - 1)


@part
def prefetch_byte(array: np.ndarray, byte: int) -> None:
    """Ask for the line of memory that holds one byte of an array, counted from its start."""
    if INTERPRETED:
        return
    touch(array, byte)


@part
def bits_of(number: np.floating) -> np.unsignedinteger:
    """The bits of a number, as a whole one of as many; a view of an array takes long to compile."""
    if INTERPRETED:
        return number.view(np.uint32 if number.itemsize == np.uint32().itemsize else np.uint64)
    return same_bits(number)  # type: ignore[no-any-return]
