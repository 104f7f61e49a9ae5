"""A member: one process that serves a log, and what the others see of it."""

import os
import socket
from typing import Protocol

from msgspec import Struct

from stumpery.service.settings import Role, SiteSettings


class Member(Struct, kw_only=True, frozen=True):
    """A process that serves a log.

    Args:
        name: Its name, which a restart keeps.
        run: A random text of this run of it.
        role: What it does.
        address: Where it listens.
        is_ready: Whether it records events.
        number: The last event of the log that it has applied.
        n_behind: Events that it had not applied when it looked last.
        epoch: The epoch of the leader that it knows.
        events_per_s: Events a second that it wrote lately.
        hash_number: The event after which `hash` was taken; 0 before the first.
        hash: The SHA-256 of its replica, in hexadecimal.
        n_told: How often this run has told how it is.
        heard: Milliseconds since 1970 when it was heard of.
    """

    name: str
    run: str
    role: Role
    address: str
    is_ready: bool
    number: int
    n_behind: int
    epoch: int
    events_per_s: float
    hash_number: int
    hash: str
    n_told: int = 0
    heard: int = 0


class Seen(Struct, frozen=True):
    """A member, and the milliseconds since it was heard of, by the clock that its entry was written with."""

    member: Member
    age_ms: int


class Members(Protocol):
    """Where the processes of a site see each other."""

    def tell(self, member: Member) -> None:
        """Say how this process is."""

    def seen(self) -> list[Seen]:
        """All processes that were heard of lately."""

    def leave(self, name: str) -> None:
        """Take a process out that ends."""


def name_of(settings: SiteSettings) -> str:
    """The name of this process: by default its machine and port, which a restart keeps."""
    if settings.name is not None:
        return settings.name
    machine = "".join(each if each.isalnum() or each in "_-." else "-" for each in socket.gethostname())[:40] or "host"
    return f"{machine.lstrip('.')}-{settings.port or os.getpid()}"
