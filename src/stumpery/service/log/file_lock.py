"""Locks between processes on a file: held with others or alone, and released by the system when a process ends."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

fcntl: Any = import_module("fcntl") if os.name == "posix" else None


class FileLock:
    """A lock on a file, which is created; where the system has no such locks, it holds nobody back.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600) if fcntl else None

    def take(self, *, is_shared: bool = False) -> bool:
        """Take the lock if no other process keeps it away; whether it was taken."""
        if self._file is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_NB | (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX))
        except OSError:
            return False
        return True

    def wait(self) -> None:
        """Take the lock, after those who have it."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let others have the lock."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock and close its file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
