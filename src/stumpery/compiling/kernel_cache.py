"""The disk cache of compiled kernels: pickled machine code, authenticated before it is unpickled.

Numba keeps compiled functions as pickles, and unpickling runs code. So nothing is unpickled that this user has not
written: each file begins with an HMAC-SHA256 of its name, its folder's name and its content, under a random key that
lies elsewhere and that only the user can read. A file that was planted, changed, cut or swapped is compiled anew.
Folders and files that belong to another user, or that others may write, are not used at all.

Numba's own cache has an index for each function; here a file's name is a hash of all that its machine code depends on:
the function, the types of its arguments and the processor. Numba looks only at the file in which a kernel stands, not
at those of the kernels that it calls, nor at the compiler's settings. So the folder's name is a hash of all kernel
sources and of the settings: a change anywhere compiles anew, and nothing stale is ever run.
"""

import hashlib
import hmac
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

N_CACHES_KEPT = 6
KEY_BYTES = 32
DIGEST_BYTES = hashlib.sha256().digest_size
ABANDONED_S = 3600.0  # nobody writes one file for so long
TAG = "CACHEDIR.TAG"  # tells our folders from others, and backups that they need not keep them (bford.info/cachedir)
TAG_CONTENT = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of Stumpery: they can be made again.\n"


class Store(NamedTuple):
    """A folder of authenticated files, and their key."""

    folder: Path
    key: bytes

    def read(self, name: str) -> memoryview | None:
        """The content of a file that this user has written under this name in this folder, or None."""
        try:
            found = memoryview(read_own(self.folder / name))
        except (OSError, UnsafePathError):
            return None
        content = found[DIGEST_BYTES:]
        return content if hmac.compare_digest(found[:DIGEST_BYTES], self._code(name, content)) else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all; remove what processes that were killed have left."""
        write_own(self.folder / name, self._code(name, content) + content)
        for part in self.folder.glob("*.tmp"):
            if time.time() - part.lstat().st_mtime > ABANDONED_S:
                part.unlink()

    def _code(self, name: str, content: bytes | memoryview) -> bytes:
        code = hmac.new(self.key, f"{self.folder.name}/{name}/".encode(), "sha256")
        code.update(content)
        return code.digest()


class KernelCache(Cache):  # type: ignore[misc]
    """Numba's cache of one function: a file in the store for each combination of argument types and processor."""

    def __init__(self, function: Any, store: Store, name: str) -> None:
        self._py_func, self._store, self._name = function, store, name
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folder, for Numba's statistics."""
        return str(self._store.folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for these types, or None; whatever is wrong with a file, it is compiled anew."""
        try:
            if EXTENDED:
                rtsys.initialize(target_context)  # counts references; all else is initialised only to compile
            else:
                target_context.refresh()
            return self._load_overload(signature, target_context)
        except Exception:  # an authentic file can hold what is no longer there, as a class that was renamed
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep a compiled function, unless the disk is full or may not be written: that only costs the next start."""
        with suppress(OSError):
            self._save_overload(signature, data)

    def flush(self) -> None:
        """Forget all of this function."""
        with suppress(OSError):
            for path in self._store.folder.glob(f"{self._name}-*.nbc"):
                path.unlink()

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        key = self._index_key(signature, target_context.codegen())
        content = self._store.read(self._file_name(key)) if self._enabled else None
        if content is None:
            return None
        found, reduced = pickle.loads(content)  # noqa: S301 - authenticated: this user wrote it
        return CompileResult._rebuild(target_context, *reduced) if found == key else None

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


def cache_of(function: Any, *, bounds_check: bool) -> Any:
    """The disk cache of a kernel; one that keeps nothing where there is no safe folder, or no file of its source."""
    store = kernel_store(bounds_check)
    name = _name_of(function)
    return NullCache() if store is None or name is None else KernelCache(function, store, name)


@cache
def kernel_store(bounds_check: bool) -> Store | None:
    """Where the kernels of this version are kept, or None; one warning says why a folder or key is refused."""
    try:
        return Store(_open_folder(fingerprint(bounds_check=bounds_check)), _read_key())
    except UnsafePathError as refusal:
        text = f"compiled kernels are neither loaded from the disk nor kept there: {refusal}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except (OSError, RuntimeError):  # the second: a user without a home
        pass
    return None


def fingerprint(*, bounds_check: bool) -> str:
    """A hash of all kernel sources, of the compiler's version and of its settings."""
    mode = "checked" if bounds_check else "fast", EXTENDED, numba.__version__, sys.implementation.cache_tag
    digest = hashlib.sha256(repr(mode).encode())
    for path in kernel_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernel_files() -> list[Path]:
    """Every file of the package in which kernels may stand, and those that say how they are compiled and kept."""
    package = Path(__file__).parents[1]
    single = [package / f"{name}.py" for name in ("jit", "random")]
    return [*sorted((package / "compiling").glob("*.py")), *single, *sorted(package.rglob("*_kernels.py"))]


def _name_of(function: Any) -> str | None:
    """A name for the files of a function: its own and a hash of where it stands; None without a file."""
    source = Path(function.__code__.co_filename)
    place = [function.__module__, function.__qualname__, str(function.__code__.co_firstlineno)]
    if source not in _package_files():
        if not source.is_file():
            return None
        place += [str(source.absolute()), hashlib.sha256(source.read_bytes()).hexdigest()]
    short = re.sub(r"\W", "", function.__name__, flags=re.ASCII)
    return f"{short}-{hashlib.sha256(repr(place).encode()).hexdigest()[:16]}"


@cache
def _package_files() -> frozenset[Path]:
    return frozenset(kernel_files())


def _open_folder(name: str) -> Path:
    """The folder for this version's kernels, made if it is missing; it may be one that can only be read."""
    root = cache_root().absolute()
    check_root(root)
    kernels = root / "kernels"
    folder = kernels / name
    is_new = not folder.exists()
    for each in (kernels, folder):
        make_own(each)
        check_own_folder(each)
    with suppress(OSError):
        if is_new or not (folder / TAG).exists():
            write_own(folder / TAG, TAG_CONTENT)
        os.utime(folder)
    if is_new:
        with suppress(OSError):
            _forget_old_caches(kernels)
    return folder


def _forget_old_caches(kernels: Path) -> None:
    made = sorted(filter(_is_made_here, kernels.iterdir()), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in made[N_CACHES_KEPT:]:
        with suppress(OSError):  # another process may be doing the same, and what else lies there stays with its folder
            files = [path for path in folder.iterdir() if path.suffix in (".nbc", ".tmp")]
            for path in (*files, folder / TAG):
                path.unlink()
            folder.rmdir()


def _is_made_here(folder: Path) -> bool:
    """Whether a folder is a cache that this package made; nobody else's is ever deleted."""
    if not re.fullmatch("[0-9a-f]{16}", folder.name):
        return False
    try:
        check_own_folder(folder)
        return read_own(folder / TAG) == TAG_CONTENT
    except (OSError, UnsafePathError):
        return False


def _read_key() -> bytes:
    """The user's key, made if it is missing."""
    try:
        path = cache_key_path()
    except RuntimeError as error:
        raise UnsafePathError("there is no home folder for their key; STUMPERY_CACHE_KEY names a file") from error
    try:
        if not os.path.lexists(path):
            make_own(path.parent)
            with suppress(FileExistsError):  # another process was first: its key is taken
                write_own(path, os.urandom(KEY_BYTES), mode=0o600, replace=False)
        key = read_own(path, forbidden=ANY_BY_OTHERS)
    except OSError as error:
        raise UnsafePathError(
            f"their key {path} can be neither read nor made ({error.strerror}); STUMPERY_CACHE_KEY names another file"
        ) from error
    if len(key) != KEY_BYTES:
        raise UnsafePathError(f"{path} is not a key of {KEY_BYTES} bytes; remove it to get a new one")
    return key
