"""Cache folders and their permissions: paths, and checks that no other user can write there."""

import os
import stat
from contextlib import suppress
from pathlib import Path

POSIX = os.name == "posix"  # elsewhere owner and mode say nothing, and access control lists protect files
WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
ANY_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO
OPEN_TO_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
OPEN_TO_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class UnsafePathError(Exception):
    """Another user may have written or may replace a file or folder."""


def cache_root() -> Path:
    """The folder for compiled kernels and downloaded data: STUMPERY_CACHE, or the user's cache folder."""
    named = os.environ.get("STUMPERY_CACHE")
    if named:
        return Path(named)
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "stumpery"


def cache_key_path() -> Path:
    """The file with the key of the kernel cache: STUMPERY_CACHE_KEY, or one in the user's state folder."""
    named = os.environ.get("STUMPERY_CACHE_KEY")
    if named:
        return Path(named)
    user = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(user) / "stumpery" / "kernels.key"


def make_own(folder: Path) -> None:
    """Create a folder and its parents, if missing, writable by the user alone."""
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
    except FileNotFoundError:
        make_own(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)


def check_root(root: Path) -> None:
    """Raise unless only the user and root can replace files in `root`, which need not exist yet."""
    if not POSIX:
        return
    real = Path(os.path.realpath(root))
    existing = next(folder for folder in (real, *real.parents) if folder.exists())
    if not existing.is_dir():
        raise NotADirectoryError(existing)
    if existing == real:
        status = real.stat()
        if status.st_uid not in (os.geteuid(), 0):
            raise UnsafePathError(f"{real} belongs to another user (uid {status.st_uid})")
        if status.st_mode & WRITE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
            raise UnsafePathError(f"other users may write {real} (mode {stat.S_IMODE(status.st_mode):04o})")
    for folder in filter(Path.exists, real.parents):
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UnsafePathError(f"every user may rename files in {folder} (mode {stat.S_IMODE(mode):04o})")


def check_own_folder(folder: Path) -> None:
    """Raise unless this is a folder (no link) that belongs to the user and that only the user may write."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafePathError(f"{folder} is a link or a file, not a folder")
    _check_own(folder, status, WRITE_BY_OTHERS)


def read_own(path: Path, *, forbidden: int = WRITE_BY_OTHERS) -> bytes:
    """Read a regular file that belongs to the user and whose mode has no `forbidden` bits."""
    with os.fdopen(os.open(path, OPEN_TO_READ), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePathError(f"{path} is not a regular file")
        _check_own(path, status, forbidden)
        return file.read()


def write_own(path: Path, content: bytes, *, mode: int = 0o644, replace: bool = True) -> None:
    """Write a file atomically: under a temporary name, then renamed.

    With `replace=False` an existing file is an error, and the content is synced to the disk.
    """
    part = path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with os.fdopen(os.open(part, OPEN_TO_CREATE, mode), "wb") as file:
            file.write(content)
            if not replace:
                file.flush()
                os.fsync(file.fileno())
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _check_own(path: Path, status: os.stat_result, forbidden: int) -> None:
    if not POSIX:
        return
    if status.st_uid != os.geteuid():
        raise UnsafePathError(f"{path} belongs to another user (uid {status.st_uid})")
    if status.st_mode & forbidden:
        may = "write" if status.st_mode & WRITE_BY_OTHERS else "read"
        raise UnsafePathError(f"other users may {may} {path} (mode {stat.S_IMODE(status.st_mode):04o})")
