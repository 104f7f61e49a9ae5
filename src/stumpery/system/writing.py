"""Atomic file writing: whole or not at all, and synced to the disk when the call returns."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from stumpery.errors import InvalidInput
from stumpery.options import shown

fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # elsewhere partial files of killed processes stay
MAX_TRIES = 100  # attempts to create a partial file
MAX_NAME = 150  # bytes of a file name; the partial files of longer ones are named by a hash
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with whole_file(path) as part, _readable_errors(path):
        part.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it is renamed to `path` once it is on the disk, and deleted on failure.

    The partial file lies beside `path` and is locked while it is written. Partial files of killed processes are
    deleted. If `path` is a link, its target is written.
    """
    with _readable_errors(path):
        path = resolved(path)
        check_target(path)
        _remove_left_over(path)
        part, lock = _new_part(path)
    try:
        yield part
        with _readable_errors(path):
            if path.exists():
                check_target(path)
                part.chmod(path.stat().st_mode & 0o777)
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            part.replace(path)
            _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def as_path(path: Any) -> Path:
    """Convert a str or os.PathLike to a Path; a ValueError refuses anything else."""
    name = path if isinstance(path, str) else os.fspath(path) if isinstance(path, os.PathLike) else None
    if not isinstance(name, str):
        raise InvalidInput(f"path is {shown(path)}; it must be a text or a pathlib.Path")
    if not name or "\0" in name:
        raise InvalidInput(f"path is {shown(name)}; it must name a file")
    return Path(name)


def resolved(path: Path) -> Path:
    """Resolve all links of a path; raises an OSError for a circle of links."""
    try:
        target = path.resolve()
    except RuntimeError:
        target = path
    if target.is_symlink():  # as resolve leaves it
        raise OSError(errno.ELOOP, "its links form a circle")
    return target


def kind_of(path: Path) -> str:
    """Describe what is at a path that is not a regular file."""
    return KINDS.get(stat.S_IFMT(path.stat().st_mode), "not a regular file")


def check_target(path: Path) -> None:
    """Refuse a path where no file can be written, by an OSError."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file's path is needed")
    if not path.parent.is_dir() or not path.name:
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name or 'a file'} in")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is {kind_of(path)}; only a regular file is replaced")


def _prefix(path: Path) -> str:
    name = path.name
    if len(name.encode("utf-8", "surrogateescape")) > MAX_NAME:
        name = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return f".{name}."


def _new_part(path: Path) -> tuple[Path, int | None]:
    """Create a partial file beside `path`; returns it and the descriptor of its lock, or None without locks."""
    for _ in range(MAX_TRIES):
        part = path.with_name(f"{_prefix(path)}{uuid4().hex}.part")
        lock = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if fcntl is None:
            os.close(lock)  # Windows cannot rename an open file
            return part, None
        _locked(lock, waits=True)
        if part.exists():  # the name is unique, and locked files are not deleted
            return part, lock
        os.close(lock)  # deleted by another process before it was locked
    raise FileNotFoundError(errno.ENOENT, f"{MAX_TRIES} partial files were deleted before they could be locked")


def _remove_left_over(path: Path) -> None:
    """Delete the partial files of this path that no process has locked."""
    if fcntl is None:
        return
    ours = re.compile(re.escape(_prefix(path)) + r"[0-9a-f]{32}\.part")
    names: list[str] = []
    with suppress(OSError):  # a folder may be writable but not readable
        names = [entry.name for entry in path.parent.iterdir()]
    for part in (path.with_name(name) for name in names if ours.fullmatch(name)):
        with suppress(OSError):  # already deleted, or owned by another user
            if not stat.S_ISREG(part.lstat().st_mode):
                continue
            lock = os.open(part, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _locked(lock, waits=False) and os.path.samestat(part.lstat(), os.fstat(lock)):
                    part.unlink()
            finally:
                os.close(lock)


def _locked(descriptor: int, *, waits: bool) -> bool:
    """Lock an open file for as long as it is open; whether that was done."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:  # another process holds it, or the file system knows no locks
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Have the folder's list of names on the disk, where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # it may be written to, but not be read
        return
    try:
        with suppress(OSError):  # some network file systems do not know how
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    """Re-raise system errors with the path and the reason in one sentence."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # raised here
            raise
        new = type(error)(f"{path} cannot be written: {error.strerror}")
        new.errno = error.errno
        raise new from None
