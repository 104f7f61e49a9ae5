"""The journal: events that are applied to the replica and wait for the next commit."""

import time
from collections.abc import Callable
from typing import Any

from stumpery.service.events import DecisionMade, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.replica.site_replica import SiteReplica

OnDecision = Callable[[str, DecisionMade], None] | None


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Journal:
    """The writing end of the log: gives events their number and time, and commits them in groups.

    Args:
        log: The event log.
        replica: The state after the log, which each event is applied to at once.
        clock: Milliseconds; where it goes backwards, the log's time stands still until it has caught up.
        on_decision: Called with the policy and each decision.
    """

    def __init__(
        self, log: EventLog, replica: SiteReplica, clock: Callable[[], int] = wall_clock, on_decision: OnDecision = None
    ) -> None:
        self.log, self.replica = log, replica
        self._on_decision = on_decision
        self._clock = clock
        self.time = replica.time
        self._rows: list[LogRow] = []

    def read_clock(self) -> int:
        """The log's time: that of the clock, but never less than before."""
        self.time = max(self._clock(), self.time)
        return self.time

    @property
    def next_number(self) -> int:
        """The number of the next event."""
        return self.replica.number + 1

    @property
    def n_waiting(self) -> int:
        """The number of events that wait for a commit."""
        return len(self._rows)

    def add(self, policy: str, event: str | None, content: Any) -> LogRow:
        """Apply an event, and keep it for the next commit."""
        row = LogRow(self.next_number, self.time, policy, event, encoded(content))
        self.replica.apply(row, content)
        self._rows.append(row)
        if self._on_decision is not None and isinstance(content, DecisionMade):
            self._on_decision(policy, content)
        return row

    def commit(self) -> int:
        """Make all waiting events durable, in one group; their number."""
        rows, self._rows = self._rows, []
        if rows:
            self.log.append(rows)
        return len(rows)

    def find(self, policy: str, event: str) -> list[LogRow]:
        """All rows of a decision, also those that wait."""
        waiting = [row for row in self._rows if row.event == event and row.policy == policy]
        return self.log.rows_of(policy, event) + waiting
