"""Members in a folder, for the processes of one machine: a small file each, written whole and never synced."""

import logging
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from stumpery.service.members.member import Member, Seen

logger = logging.getLogger(__name__)
FORGOTTEN_MS = 3_600_000


class MemberFiles:
    """The members of a site on one machine.

    Args:
        folder: Where their files are; it is created.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tell(self, member: Member) -> None:
        """Say how this process is; where the disk is full, the others do not hear of it."""
        part = self._folder / f".{member.name}.part"
        try:
            self._folder.mkdir(exist_ok=True)
            part.write_bytes(msgspec.json.encode(msgspec.structs.replace(member, heard=_now())))
            part.replace(self._path(member.name))
        except OSError as error:
            logger.warning("the other processes cannot be told how this one is: %s", error)

    def seen(self) -> list[Seen]:
        """All processes that were heard of lately."""
        found, now = [], _now()
        for path in sorted(self._folder.glob("*.json")):
            with suppress(OSError, msgspec.DecodeError):
                member = msgspec.json.decode(path.read_bytes(), type=Member)
                found.append(Seen(member, max(0, now - member.heard)))
                if found[-1].age_ms > FORGOTTEN_MS:
                    found.pop()
                    path.unlink()
        return found

    def leave(self, name: str) -> None:
        """Take a process out that ends."""
        with suppress(OSError):
            self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _now() -> int:
    return time.time_ns() // 1_000_000
