"""A file system for SQLite that remembers what was not synced, to show what a power cut may leave on the disk."""

import apsw
import numpy as np

SECTOR = 512


class DiskFile:
    """What of a file is on the disk for certain, and the changes since: each may or may not have reached it."""

    def __init__(self):
        self.synced = b""
        self.pending = []

    def sync(self):
        self.synced = self.after(self.pending)
        self.pending = []

    def after(self, changes):
        content = bytearray(self.synced)
        for offset, data in changes:
            if data is None:
                del content[offset:]
                continue
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
        return bytes(content)

    def after_a_cut(self, rng):
        """The content after a power cut: of what was not synced any subset of sectors may be there."""
        changes = []
        is_all = rng.random() < 0.2
        for offset, data in self.pending:
            if data is None:
                changes += [(offset, None)] if rng.random() < 0.5 else []
                continue
            pieces = [(offset + at, data[at : at + SECTOR]) for at in range(0, len(data), SECTOR)]
            changes += [piece for piece in pieces if is_all or rng.random() < 0.5]
        return self.after(changes)


class PowerCutVFS(apsw.VFS):
    """Passes everything on to the system's files, and keeps the state of the disk beside them.

    `before_change` is called before each write, truncation, sync and deletion.
    """

    def __init__(self, name):
        self.files, self.before_change = {}, lambda: None
        super().__init__(name, "")

    def xOpen(self, name, flags):  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return PowerCutFile(self, path, name, flags)

    def xDelete(self, name, sync_folder):  # noqa: N802
        self.before_change()
        self.files.pop(name, None)
        super().xDelete(name, sync_folder)

    def image(self, seed):
        """What each file may hold after a power cut now."""
        rng = np.random.default_rng(seed)
        return {path: file.after_a_cut(rng) for path, file in self.files.items()}


class PowerCutFile(apsw.VFSFile):
    """A file of that file system."""

    def __init__(self, vfs, path, name, flags):
        self._vfs = vfs
        self._disk = vfs.files.setdefault(path, DiskFile()) if path else DiskFile()
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        self._vfs.before_change()
        self._disk.pending.append((offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size):  # noqa: N802
        self._vfs.before_change()
        self._disk.pending.append((size, None))
        super().xTruncate(size)

    def xSync(self, flags):  # noqa: N802
        self._vfs.before_change()
        super().xSync(flags)
        self._disk.sync()
