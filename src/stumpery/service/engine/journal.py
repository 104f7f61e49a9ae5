"""The journal: events that are applied to the replica and wait for the next commit."""

import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from stumpery.service.events import DecisionMade, PolicyRolledBack, decoded, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.replica.site_replica import SiteReplica

MAX_LOOKED_UP = 10_000  # decisions in one turn
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
        on_decision: Called with the policy and each decision, also those of other processes.
    """

    def __init__(
        self, log: EventLog, replica: SiteReplica, clock: Callable[[], int] = wall_clock, on_decision: OnDecision = None
    ) -> None:
        self.log, self.replica = log, replica
        self._on_decision = on_decision
        self._clock = clock
        self.time = replica.time
        self._rows: list[LogRow] = []
        self._looked_up: dict[str, list[LogRow]] = {}
        self.is_sound = True  # whether the replica holds committed events alone, outside of a turn

    def read_clock(self) -> int:
        """The log's time: that of the clock, but never less than before."""
        self.time = max(self._clock(), self.time, self.replica.time)
        return self.time

    def follow(self, rows: Iterable[LogRow]) -> None:
        """Apply rows that other processes have committed."""
        for row in rows:
            event = decoded(row.content)
            if isinstance(event, PolicyRolledBack):
                self.log.take_time()
            self.replica.apply(row, event)
            self._show(row.policy, event)

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
        self.is_sound = False
        self._show(policy, content)
        return row

    def _show(self, policy: str, event: Any) -> None:
        if self._on_decision is not None and isinstance(event, DecisionMade):
            self._on_decision(policy, event)

    def commit(self) -> int:
        """Append all waiting events to the log; their number. They are durable when the turn has ended."""
        rows, self._rows = self._rows, []
        self._looked_up.clear()
        if rows:
            self.log.append(rows)
        return len(rows)

    def look_up(self, decisions: Iterable[tuple[str, str]]) -> None:
        """Read the rows of decisions that are not open, by policy and id, all at once, for this turn."""
        policies = self.replica.policies
        closed = {
            event: None for name, event in decisions if name in policies and event not in policies[name].open.decisions
        }
        events = list(islice(closed, MAX_LOOKED_UP))
        self._looked_up = {event: [] for event in events}
        for row in self.log.rows_of_all(events) if events else ():
            self._looked_up[row.event or ""].append(row)

    def find(self, policy: str, event: str) -> list[LogRow]:
        """All rows of a decision, also those that wait; none of a deleted policy of the same name."""
        created = self.replica.policies[policy].created if policy in self.replica.policies else 0
        waiting = [row for row in self._rows if row.event == event and row.policy == policy]
        looked_up = self._looked_up.get(event)
        if looked_up is None:
            looked_up = self.log.rows_of(policy, event)
        found = [row for row in looked_up if row.policy == policy] + waiting
        return [row for row in found if row.number >= created]
