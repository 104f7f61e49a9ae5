"""The compiler's settings, named here and nowhere else.

`@kernel` compiles a function with Numba, keeps the machine code on disk and releases the interpreter lock while it
runs. Three switches, read once from the environment:

- `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for debuggers and coverage;
- `STUMPERY_BOUNDS_CHECK=1` makes a kernel raise where it would read past an array's end;
- `STUMPERY_CACHE` names the folder for compiled kernels instead of the user's cache folder (see `folders.py`).

Numba's own cache looks only at the file in which a kernel stands, not at the files of the kernels that it calls, nor
at the bounds-check switch. So the cache folder's name is a hash of all kernel sources and of the mode: a change
anywhere compiles anew, and nothing stale is ever run.

`@part` is for functions that only kernels call; a kernel that another one calls is a part there, too. `compiling/`
says how parts are compiled, and why that takes much less time. In a part, and in a kernel that another one calls, an
index that is known only when it runs must be 0 or more: it is not checked, and does not count from the end.

`prefetch` asks for memory that will be needed soon: trees jump about in more of it than the processor's caches hold.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys

from stumpery.compiling import KNOWN
from stumpery.compiling.intrinsics import same_bits, touch
from stumpery.compiling.lending import with_lent_arguments
from stumpery.compiling.once import undisturbed
from stumpery.compiling.parts import PartCompiler
from stumpery.folders import cache_root

Function = TypeVar("Function", bound=Callable[..., Any])

INTERPRETED = bool(config.DISABLE_JIT)
BOUNDS_CHECK = os.environ.get("STUMPERY_BOUNDS_CHECK", "0") not in ("", "0")
SETTINGS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": BOUNDS_CHECK,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
N_CACHES_KEPT = 6
DIGEST = hashlib.sha256().digest_size
LINE = 64  # bytes that the processor fetches at once


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, or take its machine code from the disk."""
    if INTERPRETED:
        return _quiet(function)
    compiled = numba.njit(**SETTINGS)(function)
    folder = kernel_cache()
    if folder is not None:
        # The setting is read when the cache is made; put back at once, the caller's own Numba code is untouched.
        before, config.CACHE_DIR = config.CACHE_DIR, folder
        try:
            compiled._cache = _ForgivingCache(function)
        finally:
            config.CACHE_DIR = before
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


class _SealedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files, each with a digest at its end, which Numba does not read: damaged machine code is never run."""

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
            raise ValueError(f"{name} is damaged")
        return super()._load_data(name)


class _ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but what is damaged on the disk is made again, and a full disk only costs the next start.

    Numba would also bring all that it compiles with before it takes machine code from the disk: half a second.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            if not KNOWN:
                return super().load_overload(signature, target_context)
            rtsys.initialize(target_context)  # who holds an array is counted there
            return self._load_overload(signature, target_context)
        except Exception:  # whatever a damaged file makes of the loader
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, data)


@cache
def kernel_cache() -> str | None:
    """The folder for this version's machine code; None, and no caching, where nothing can be written."""
    try:
        folder = cache_root() / "kernels" / fingerprint()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _forget_old_caches(folder.parent)
    except (OSError, RuntimeError):  # the second: a user without a home
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def kernel_files() -> list[Path]:
    """Every file of the package in which kernels may stand."""
    package = Path(__file__).parent
    compiler = [*sorted((package / "compiling").glob("*.py")), package / "jit.py", package / "random.py"]
    return [*compiler, *sorted(package.rglob("*_kernels.py"))]


def fingerprint() -> str:
    """A hash of all kernel sources and of the mode."""
    digest = hashlib.sha256(b"checked" if BOUNDS_CHECK else b"fast")
    for path in kernel_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _forget_old_caches(root: Path) -> None:
    with suppress(OSError):  # another process may be doing the same
        folders = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for stale in folders[N_CACHES_KEPT:]:
            shutil.rmtree(stale, ignore_errors=True)


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
def bits_of(number: np.float32) -> np.uint32:
    """The bits of a number, as a whole one; a view of an array takes long to compile."""
    if INTERPRETED:
        return np.float32(number).view(np.uint32)
    return same_bits(number)  # type: ignore[no-any-return]
