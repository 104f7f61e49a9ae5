"""Leader election: one process at a time writes default rewards, snapshots and alarms; the log says which one.

Who leads is an event of the log, with an epoch. A process reads the log to its end in the turn in which it writes, so
one that was thought dead finds the higher epoch before it could write anything of the old one.
"""

import logging
import secrets
import time

from stumpery.service.events import LeaderChosen
from stumpery.service.members.heartbeats import Heartbeats
from stumpery.service.members.member import Member, Members, Seen, name_of
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import SiteSettings

logger = logging.getLogger(__name__)
TELL_S = 0.5  # between two heartbeats


class Leading:
    """Whether this process leads, and what it knows of the others.

    Args:
        settings: Its name, role and lease.
        members: Where the processes see each other.
    """

    def __init__(self, settings: SiteSettings, members: Members) -> None:
        self.name, self.run = name_of(settings), secrets.token_hex(8)
        self.seen: list[Seen] = []
        self.is_replaced = False  # whether a later process runs under the same name
        self._heartbeats, self._n_told = Heartbeats(), 0
        self._settings, self._members = settings, members
        self.address = f"{settings.host}:{settings.port}"
        self._told_at, self._told_number = 0.0, 0
        self._led = False

    def is_due(self) -> bool:
        """Whether it is time to tell the others how this process is."""
        return time.monotonic() - self._told_at >= TELL_S

    def tell(self, replica: SiteReplica, *, n_behind: int, n_committed: int, is_ready: bool) -> None:
        """Tell the others how this process is, and see how they are; nothing where another has taken its name."""
        now = time.monotonic()
        self._look()
        if self.is_replaced:
            self._told_at = now
            return
        self._n_told += 1
        n_new, elapsed = n_committed - self._told_number, max(now - self._told_at, TELL_S)
        self._told_at, self._told_number = now, n_committed
        hash_number, hash_ = replica.hashed
        self._members.tell(
            Member(
                name=self.name,
                run=self.run,
                role=self._settings.role,
                address=self.address,
                is_ready=is_ready,
                number=replica.number,
                n_behind=n_behind,
                epoch=0 if replica.leader is None else replica.leader.epoch,
                events_per_s=n_new / elapsed,
                hash_number=hash_number,
                hash=hash_,
                n_told=self._n_told,
            )
        )
        self._look()

    def _look(self) -> None:
        self.seen = self._heartbeats.aged(self._members.seen())
        own = next((each.member for each in self.seen if each.member.name == self.name), None)
        self.is_replaced = self.is_replaced or (self._n_told > 0 and own is not None and own.run != self.run)

    def leads(self, replica: SiteReplica) -> bool:
        """Whether this run of the process leads, by the log."""
        leader = replica.leader
        leads = leader is not None and (leader.name, leader.run) == (self.name, self.run)
        if leads != self._led and leader is not None:
            self._led = leads
            logger.info("%s leads from now on, in epoch %d", leader.name, leader.epoch)
        return leads

    def claim(self, replica: SiteReplica) -> LeaderChosen | None:
        """The event by which this process begins to lead, if it is to; None leaves all as it is."""
        if self._settings.role == "decider" or self.leads(replica) or not self._is_vacant(replica):
            return None
        self._look()  # the leader may have been heard of since
        if not self._is_vacant(replica):
            return None
        return LeaderChosen(self.name, self.run, 1 if replica.leader is None else replica.leader.epoch + 1)

    def _is_vacant(self, replica: SiteReplica) -> bool:
        """Whether nobody leads, an earlier run of this process does, or one that a learner replaces."""
        leader = replica.leader
        if self.is_replaced:
            return False
        if leader is None or leader.name == self.name:
            return True
        found = next((each for each in self.seen if each.member.name == leader.name), None)
        if found is None or found.member.run != leader.run or found.age_ms > 1000 * self._settings.lease_s:
            return True
        return self._settings.role == "learner" and found.member.role != "learner"

    def leave(self) -> None:
        """Take this process out."""
        if not self.is_replaced:
            self._members.leave(self.name)
