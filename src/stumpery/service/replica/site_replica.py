"""A replica of a site: all its policies after a part of the log."""

import hashlib
from collections.abc import Iterable
from typing import Any

from stumpery.errors import CorruptFile
from stumpery.service import events
from stumpery.service.errors import UnknownName
from stumpery.service.log.event_log import LogRow
from stumpery.service.replica.policy_replica import PolicyReplica

Event = Any


class SiteReplica:
    """The policies of a site, after the row `number` of the log, at the log's `time`."""

    def __init__(self) -> None:
        self.policies: dict[str, PolicyReplica] = {}
        self.number = 0
        self.time = 0

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
        if isinstance(event, events.PolicyCreated):
            self.policies[row.policy] = self._new_policy(event)
        elif isinstance(event, events.PolicyDeleted):
            del self.policies[row.policy]
        elif row.policy:
            self.policies[row.policy].apply(row, event)
        self.number, self.time = row.number, row.time

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
        return hashlib.sha256("\n".join([str(self.number), *each]).encode()).hexdigest()

    def _new_policy(self, event: events.PolicyCreated) -> PolicyReplica:
        if event.copy_of is None:
            return PolicyReplica(event.settings)
        source = self.policies[event.copy_of]
        source.learn()
        copy = PolicyReplica(event.settings, source.model.clone(include_attributes=True))
        copy.version, copy.counts = source.version, dict(source.counts)
        return copy
