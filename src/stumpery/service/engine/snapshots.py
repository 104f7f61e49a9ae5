"""Snapshots of a site: the models and tables after a row of the log, so that a start replays its tail alone.

A snapshot is a folder named by the number of that row, with a file per model, a file of tables, and a manifest with
their SHA-256. It is written under a temporary name and renamed, so a folder with a number is complete. A damaged one is
passed over for an older one and more of the log.
"""

import hashlib
import logging
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import msgspec

from stumpery.errors import CorruptFile, StumperyError
from stumpery.policies import Policy
from stumpery.saving.files import load, save
from stumpery.service.events import ERASURE, LeaderChosen
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.replica.policy_replica import PolicyReplica, ReplicaTables
from stumpery.service.replica.site_replica import SiteReplica

logger = logging.getLogger(__name__)
SNAPSHOT_FOLDER = "snapshots"
MANIFEST, TABLES = "manifest.json", "tables.msgpack"
KEPT_SNAPSHOTS = 3
UNFINISHED_S = 3_600.0  # after this a snapshot that was never completed is deleted


class SnapshotManifest(msgspec.Struct):
    """What a snapshot holds: the position in the log, its policies in order, the SHA-256 of each file, who leads.

    `row` is the SHA-256 of the row at the position, by which a log with other events is told apart.
    """

    number: int
    time: int
    policies: list[str]
    files: dict[str, str]
    leader: LeaderChosen | None = None
    row: str | None = None


class Snapshots:
    """The snapshots of a site in a folder.

    Args:
        folder: The folder; it is created with the first snapshot.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        """The numbers of the rows after which there are snapshots, the latest first."""
        found = [path.name for path in self.folder.glob("*") if path.name.isdigit()] if self.folder.exists() else []
        return sorted(map(int, found), reverse=True)

    def save(self, replica: SiteReplica) -> Path:
        """Write a snapshot, and delete the oldest ones."""
        replica.learn()
        part = self.folder / f".{replica.number}.{os.getpid()}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        target = self.folder / str(replica.number)
        try:
            self._write(part, replica)
            shutil.rmtree(target, ignore_errors=True)
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        _sync(self.folder)
        for number in self.numbers()[KEPT_SNAPSHOTS:]:
            shutil.rmtree(self.folder / str(number), ignore_errors=True)
        self._delete_unfinished()
        return target

    def _delete_unfinished(self) -> None:
        """Delete what processes left that were killed while they wrote a snapshot; another one may be writing now."""
        for part in self.folder.glob(".*.part"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > UNFINISHED_S:
                    shutil.rmtree(part, ignore_errors=True)

    def _write(self, part: Path, replica: SiteReplica) -> None:
        names = list(replica.policies)
        for index, name in enumerate(names):
            save(replica.policies[name].model, part / f"{index}.safetensors")
        tables = msgspec.msgpack.encode([replica.policies[name].tables() for name in names])
        _write_synced(part / TABLES, tables)
        files = {path.name: _hash(path) for path in sorted(part.iterdir())}
        row = None if replica.last is None else _hash_of_row(replica.last)
        manifest = SnapshotManifest(replica.number, replica.time, names, files, replica.leader, row)
        _write_synced(part / MANIFEST, msgspec.json.encode(manifest))

    def load(self, number: int) -> SiteReplica:
        """The replica of one snapshot; an error says what is wrong with it."""
        folder, manifest = self.folder / str(number), self._manifest(number)
        with ThreadPoolExecutor() as pool:  # a hash leaves the interpreter to the decoder
            hashes = pool.map(_hash, [folder / Path(name).name for name in manifest.files])
            tables = msgspec.msgpack.decode((folder / TABLES).read_bytes(), type=list[ReplicaTables])
        for (name, digest), found in zip(manifest.files.items(), hashes, strict=True):
            if found != digest:
                raise msgspec.ValidationError(f"its file {name} is not what was written")
        replica = SiteReplica()
        replica.number, replica.time, replica.leader = manifest.number, manifest.time, manifest.leader
        for index, (name, each) in enumerate(zip(manifest.policies, tables, strict=True)):
            model = load(folder / f"{index}.safetensors")
            if not isinstance(model, Policy):
                raise CorruptFile(f"its file {index}.safetensors holds no policy")
            replica.policies[name] = PolicyReplica.restored(each, model)
        replica.link()
        return replica

    def _manifest(self, number: int) -> SnapshotManifest:
        return msgspec.json.decode((self.folder / str(number) / MANIFEST).read_bytes(), type=SnapshotManifest)

    def restore(self, log: EventLog, *, before: int | None = None) -> SiteReplica:
        """The replica after the whole log, or up to a row: from the latest usable snapshot, and the rows after it."""
        end = log.last()[0] if before is None else before
        replica = self._latest(log, end)
        if replica.number < log.first() - 1:
            raise CorruptFile(f"the log begins with row {log.first()}, and no usable snapshot holds what was before")
        replica.recall = lambda number: self.restore(log, before=number)
        replica.replay(takewhile(lambda row: row.number <= end, log.rows(replica.number)))
        return replica

    def _latest(self, log: EventLog, end: int) -> SiteReplica:
        """The replica of the latest usable snapshot up to a row; an empty one if there is none."""
        self._forget(last_erasure(log))
        for number in self.numbers():
            if number > end:
                continue
            try:
                replica, row = self.load(number), log.row(number)
                if row is not None and self._manifest(number).row not in (None, _hash_of_row(row)):
                    raise CorruptFile(f"the log has another event at {number}")
                replica.last = row
                return replica
            except (StumperyError, ValueError, OSError) as error:
                logger.warning("the snapshot at %d is damaged and passed over: %s", number, error)
        return SiteReplica()

    def _forget(self, erased: int) -> None:
        """Delete snapshots from before an erasure, whose models have learned from what was erased."""
        for number in self.numbers():
            if number < erased:
                logger.warning("the snapshot at %d is deleted: contexts were erased after it", number)
                shutil.rmtree(self.folder / str(number), ignore_errors=True)


def last_erasure(log: EventLog) -> int:
    """The number of the last event by which contexts were erased; 0 if there is none."""
    return max((row.number for row in log.rows_of("", ERASURE)), default=0)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_of_row(row: LogRow) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(row)).hexdigest()


def _sync(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
