"""A replica of a site: all its policies after a part of the log."""

import hashlib
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

from stumpery.errors import CorruptFile
from stumpery.service import events
from stumpery.service.errors import UnknownName
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.replica.policy_replica import PolicyReplica

Event = Any
Recall = Callable[[int], "SiteReplica"]


class SiteReplica:
    """The policies of a site, after the row `number` of the log, at the log's `time`.

    Args:
        recall: Gives the replica as it was after an earlier row, for roll-backs.
    """

    def __init__(self, recall: Recall | None = None) -> None:
        self.policies: dict[str, PolicyReplica] = {}
        self.recall = recall
        self._earlier: SiteReplica | None = None
        self.number = 0
        self.time = 0
        self.last: LogRow | None = None  # None before the first row that it applied itself
        self.leader: events.LeaderChosen | None = None
        self.hashes = False  # whether it hashes itself where the log says so
        self.hashed = (0, "")  # after which row it did last, and the hash

    @classmethod
    def of_log(cls, log: EventLog, end: int | None = None) -> "SiteReplica":
        """The replica after all rows of a log, or up to one of them, from the first."""
        replica = cls(recall=lambda number: cls.of_log(log, number))
        last = log.last()[0] if end is None else end
        replica.replay(takewhile(lambda row: row.number <= last, log.rows()))
        return replica

    def policy(self, name: str) -> PolicyReplica:
        """A policy by its name."""
        try:
            return self.policies[name]
        except KeyError:
            raise UnknownName(f"there is no policy {name!r}") from None

    def apply(self, row: LogRow, event: Event) -> None:
        """Apply the next event of the log."""
        if row.number != self.number + 1 or row.time < self.time:
            raise CorruptFile(f"the log is damaged: row {row.number} at {row.time} follows row {self.number}")
        change = SITE_EVENTS.get(type(event))
        if change is not None:
            change(self, row, event)
            self.link()
        elif row.policy:
            self.policies[row.policy].apply(row, event)
        self.number, self.time, self.last = row.number, row.time, row
        if self.hashes and type(event) is events.ReplicasHashed:
            self.hashed = self.number, self.digest()

    def earlier(self, number: int) -> "SiteReplica":
        """The replica after an earlier row, which is kept for the roll-back that follows."""
        if self.recall is None:
            raise CorruptFile(f"the log is needed to go back to row {number}")
        if self._earlier is None or self._earlier.number != number:
            self._earlier = self.recall(number)
        return self._earlier

    def replay(self, rows: Iterable[LogRow]) -> None:
        """Apply rows of the log, and learn all of them."""
        for row in rows:
            self.apply(row, events.decoded(row.content))
        self.learn()

    def learn(self) -> None:
        """Learn all rewards that are waiting."""
        for policy in self.policies.values():
            policy.learn()

    def digest(self) -> str:
        """The SHA-256 of all policies, in hexadecimal."""
        self.learn()
        each = [f"{name} {policy.digest()}" for name, policy in sorted(self.policies.items())]
        return hashlib.sha256("\n".join(each).encode()).hexdigest()

    def link(self) -> None:
        """Tell each policy which shadow policies learn from it."""
        for name, policy in self.policies.items():
            shadows = {each: shadow for each, shadow in self.policies.items() if shadow.settings.shadow_of == name}
            policy.followers = shadows

    def _create(self, row: LogRow, event: events.PolicyCreated) -> None:
        if event.copy_of is None:
            self.policies[row.policy] = PolicyReplica(event.settings)
            self.policies[row.policy].created = row.number
            return
        source = self.policies[event.copy_of]
        source.learn()
        copy = PolicyReplica(event.settings, source.model.clone(include_attributes=True))
        copy.version, copy.counts, copy.created = source.version, dict(source.counts), row.number
        self.policies[row.policy] = copy

    def _delete(self, row: LogRow, event: events.PolicyDeleted) -> None:
        del self.policies[row.policy]

    def _change(self, row: LogRow, event: events.PolicyChanged) -> None:
        self.policies[row.policy].apply(row, event)

    def _promote(self, row: LogRow, event: events.PolicyPromoted) -> None:
        champion, challenger = self.policies[row.policy], self.policies[event.challenger]
        champion.learn()
        challenger.learn()
        theirs = challenger.model, challenger.settings, challenger.version
        challenger.take_model(champion.model, champion.settings, champion.version)
        champion.take_model(*theirs)

    def _roll_back(self, row: LogRow, event: events.PolicyRolledBack) -> None:
        policy, earlier = self.policies[row.policy], self.earlier(event.number).policy(row.policy)
        self._earlier = None  # its model is the policy's now
        policy.learn()
        policy.take_model(earlier.model, earlier.settings, earlier.version)

    def _lead(self, row: LogRow, event: events.LeaderChosen) -> None:
        self.leader = event


SITE_EVENTS: dict[type, Any] = {
    events.PolicyCreated: SiteReplica._create,
    events.PolicyDeleted: SiteReplica._delete,
    events.PolicyChanged: SiteReplica._change,
    events.PolicyPromoted: SiteReplica._promote,
    events.PolicyRolledBack: SiteReplica._roll_back,
    events.LeaderChosen: SiteReplica._lead,
}
