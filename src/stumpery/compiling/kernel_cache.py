"""The disk cache of compiled kernels: pickled machine code, authenticated before it is unpickled.

Numba stores compiled functions as pickles, and unpickling runs code. So only files written by this user are unpickled:
each file begins with an HMAC-SHA256 of its name, its folder's name and its content. The key is random, stored elsewhere
and readable by the user alone. A file that was planted, changed, truncated or swapped is recompiled. Folders and
files that belong to another user, or that others may write, are not used at all.

Numba's own cache has an index file per function. Here a file's name is a hash of what its machine code depends on: the
function, its argument types and the processor. Numba invalidates a kernel when its own source file changes, but not
when a kernel that it calls changes, or a compiler setting. So the folder's name is a hash of all kernel sources and
settings: any change recompiles all kernels, and no stale kernel runs.

Misses are logged at debug level under the name of this module.
"""

import hashlib
import hmac
import io
import logging
import os
import pickle
import re
import sys
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core.caching import Cache, NullCache
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from stumpery.compiling import EXTENDED
from stumpery.system.folders import (
    ANY_BY_OTHERS,
    UnsafePathError,
    cache_key_path,
    cache_root,
    check_own_folder,
    check_root,
    make_own,
    read_own,
    write_own,
)

logger = logging.getLogger(__name__)

N_CACHES_KEPT = 6  # folders of other versions and settings that are kept
KEY_BYTES = 32
DIGEST_BYTES = hashlib.sha256().digest_size
MAX_WRITE_S = 3600.0  # older partial files were left by killed processes
TAG = "CACHEDIR.TAG"  # marks our folders, and tells backup programs to skip them (bford.info/cachedir)
TAG_CONTENT = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of Stumpery: they can be made again.\n"


class Store(NamedTuple):
    """A folder of authenticated files, and the key that authenticates them."""

    folder: Path
    key: bytes

    def read(self, name: str) -> memoryview | None:
        """The content of a file that this user has written under this name in this folder, or None."""
        try:
            data = memoryview(read_own(self.folder / name))
        except (OSError, UnsafePathError):
            return None
        content = data[DIGEST_BYTES:]
        return content if hmac.compare_digest(data[:DIGEST_BYTES], self._digest(name, content)) else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; delete the partial files of killed processes."""
        write_own(self.folder / name, self._digest(name, content) + content)
        for part in self.folder.glob("*.tmp"):
            if time.time() - part.lstat().st_mtime > MAX_WRITE_S:
                part.unlink()

    def _digest(self, name: str, content: bytes | memoryview) -> bytes:
        digest = hmac.new(self.key, f"{self.folder.name}/{name}/".encode(), "sha256")
        digest.update(content)
        return digest.digest()


class KernelCache(Cache):  # type: ignore[misc]
    """Numba's cache of one function: a file per combination of argument types and processor."""

    def __init__(self, function: Any, store: Store, name: str) -> None:
        self._py_func, self._store, self._name = function, store, name
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folder, for Numba's statistics."""
        return str(self._store.folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for these argument types; None if there is no valid file."""
        try:
            if EXTENDED:
                rtsys.initialize(target_context)  # reference counting; the rest is needed only to compile
            else:
                target_context.refresh()
            loaded = self._load_overload(signature, target_context)
        except Exception:  # an authentic file can refer to what no longer exists, such as a renamed class
            loaded = None
        if loaded is None:
            logger.debug("kernel cache miss: %s%s", self._py_func.__qualname__, signature)
        return loaded

    def save_overload(self, signature: Any, data: Any) -> None:
        """Write a compiled function; ignored where the disk is full or read-only, as that only slows the next start."""
        with suppress(OSError):
            self._save_overload(signature, data)

    def flush(self) -> None:
        """Delete all files of this function."""
        with suppress(OSError):
            for path in self._store.folder.glob(f"{self._name}-*.nbc"):
                path.unlink()

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        key = self._index_key(signature, target_context.codegen())
        content = self._store.read(self._file_name(key)) if self._enabled else None
        if content is None:
            return None
        stored_key, reduced = KernelUnpickler(io.BytesIO(content)).load()
        return CompileResult._rebuild(target_context, *reduced) if stored_key == key else None

    def _save_overload(self, signature: Any, data: Any) -> None:
        if not self._enabled:
            return
        if data.library.has_dynamic_globals or data.lifted:
            warnings.warn(f"{self._name} cannot be cached: it holds addresses", RuntimeWarning, stacklevel=2)
            return
        key = self._index_key(signature, data.codegen)
        self._store.write(self._file_name(key), dumps((key, data._reduce())))

    def _file_name(self, key: Any) -> str:
        return f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}.nbc"


class KernelUnpickler(pickle.Unpickler):
    """Unpickles authenticated kernels, without importing modules of Numba that only its compiler needs.

    Numba imports the modules of all functions that a kernel was compiled from, for their globals, which compiled code
    does not use. One of them, of Numba's linear algebra, imports SciPy's.
    """

    def find_class(self, module: str, name: str) -> Any:
        """What a pickle names."""
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The environment of a compiled function: what of it compiled code uses."""
    if module in sys.modules or not module.startswith("numba."):
        return _rebuild_env(module, constants, name)
    environment = lookup_environment(name)
    if environment is None:
        environment = Environment({"__name__": module})
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


def cache_of(function: Any, *, bounds_check: bool) -> Any:
    """The disk cache of a kernel; a null cache where there is no safe folder or no source file."""
    store = kernel_store(bounds_check)
    name = _name_of(function)
    return NullCache() if store is None or name is None else KernelCache(function, store, name)


@cache
def kernel_store(bounds_check: bool) -> Store | None:
    """The store of this version's kernels, or None; a warning says why a folder or key is refused."""
    try:
        return Store(_open_folder(fingerprint(bounds_check=bounds_check)), _read_key())
    except UnsafePathError as refusal:
        text = f"the disk cache of compiled kernels is not used: {refusal}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home folder
        logger.debug("there is no disk cache of compiled kernels: %s", error)
    return None


def fingerprint(*, bounds_check: bool) -> str:
    """A hash of all kernel sources, of the compiler's version and of its settings; names the cache folder."""
    mode = "checked" if bounds_check else "fast", EXTENDED, numba.__version__, sys.implementation.cache_tag
    digest = hashlib.sha256(repr(mode).encode())
    for path in kernel_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernel_files() -> list[Path]:
    """Every source file of the package that may define kernels or how they are compiled and cached."""
    package = Path(__file__).parents[1]
    single = [package / f"{name}.py" for name in ("jit", "random")]
    return [*sorted((package / "compiling").glob("*.py")), *single, *sorted(package.rglob("*_kernels.py"))]


def _name_of(function: Any) -> str | None:
    """A prefix for the files of a function: its name and a hash of where it is defined; None without a source file."""
    source = Path(function.__code__.co_filename)
    origin = [function.__module__, function.__qualname__, str(function.__code__.co_firstlineno)]
    if source not in _package_files():
        if not source.is_file():
            return None
        origin += [str(source.absolute()), hashlib.sha256(source.read_bytes()).hexdigest()]
    short = re.sub(r"\W", "", function.__name__, flags=re.ASCII)
    return f"{short}-{hashlib.sha256(repr(origin).encode()).hexdigest()[:16]}"


@cache
def _package_files() -> frozenset[Path]:
    return frozenset(kernel_files())


def _open_folder(name: str) -> Path:
    """The folder of this version's kernels, created if missing; it may be read-only."""
    root = cache_root().absolute()
    check_root(root)
    kernels = root / "kernels"
    folder = kernels / name
    is_new = not folder.exists()
    for path in (kernels, folder):
        make_own(path)
        check_own_folder(path)
    with suppress(OSError):
        if is_new or not (folder / TAG).exists():
            write_own(folder / TAG, TAG_CONTENT)
        os.utime(folder)
    if is_new:
        with suppress(OSError):
            _delete_old_caches(kernels)
    return folder


def _delete_old_caches(kernels: Path) -> None:
    caches = sorted(filter(_is_cache, kernels.iterdir()), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in caches[N_CACHES_KEPT:]:
        with suppress(OSError):  # another process may be doing the same; a folder with other files stays
            logger.debug("deleting compiled kernels of another version: %s", folder)
            files = [path for path in folder.iterdir() if path.suffix in (".nbc", ".tmp")]
            for path in (*files, folder / TAG):
                path.unlink()
            folder.rmdir()


def _is_cache(folder: Path) -> bool:
    """Whether a folder is a kernel cache that this package created; no other folder is ever deleted."""
    if not re.fullmatch("[0-9a-f]{16}", folder.name):
        return False
    try:
        check_own_folder(folder)
        return read_own(folder / TAG) == TAG_CONTENT
    except (OSError, UnsafePathError):
        return False


def _read_key() -> bytes:
    """The user's key, created if missing."""
    try:
        path = cache_key_path()
    except RuntimeError as error:
        raise UnsafePathError("there is no home folder for their key; STUMPERY_CACHE_KEY names a file") from error
    try:
        if not os.path.lexists(path):
            make_own(path.parent)
            with suppress(FileExistsError):  # another process was first: use its key
                write_own(path, os.urandom(KEY_BYTES), mode=0o600, replace=False)
        key = read_own(path, forbidden=ANY_BY_OTHERS)
    except OSError as error:
        raise UnsafePathError(
            f"their key {path} can be neither read nor made ({error.strerror}); STUMPERY_CACHE_KEY names another file"
        ) from error
    if len(key) != KEY_BYTES:
        raise UnsafePathError(f"{path} is not a key of {KEY_BYTES} bytes; remove it to get a new one")
    return key
