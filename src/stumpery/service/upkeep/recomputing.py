"""Recomputing decisions: each is drawn again by a replica that has learned what its process had learned by then.

A decision names the last event that its process had learned. Processes learn behind the log, each at its own pace, so a
reader ahead of the replica finds the decisions that were made with what is known now.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from stumpery.errors import StumperyError
from stumpery.service import events
from stumpery.service.engine.deciding import drawn
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.events import DecisionMade, PolicyChanged
from stumpery.service.log.event_log import LogRow
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import PolicySettings

MAX_AHEAD = 20_000  # events by which a process may have learned behind its decision


class MadeDecision(NamedTuple):
    """A decision that is to be recomputed, and the settings that were changed shortly before it."""

    number: int
    made: DecisionMade
    changed: tuple[int, PolicySettings] | None


class Recomputation:
    """Draws the decisions of a log again, and counts those that differ.

    Args:
        replica: The state before the first row; it is moved.
    """

    def __init__(self, replica: SiteReplica) -> None:
        self.n_equal = self.n_different = self.n_unknown = self.n_erased = 0
        self.first_different: int | None = None
        self._replica = replica
        self._ahead: deque[tuple[LogRow, Any]] = deque()
        self._waiting: dict[tuple[str, int], dict[int, MadeDecision]] = defaultdict(dict)
        self._changes: dict[str, tuple[int, PolicySettings]] = {}

    def run(self, rows: Iterable[LogRow]) -> None:
        """Apply rows, and recompute their decisions."""
        for row in rows:
            self._read(row)
            if len(self._ahead) > MAX_AHEAD:
                self._apply(*self._ahead.popleft())
        while self._ahead:
            self._apply(*self._ahead.popleft())

    def __str__(self) -> str:
        n = self.n_equal + self.n_different
        found = f"{n:,} decisions, all with the probability that was logged"
        if self.n_different:
            found = f"{self.n_different:,} of {n:,} decisions differ, the first at event {self.first_different}"
        erased = f"; {self.n_erased:,} are erased" if self.n_erased else ""
        return found + erased + (f"; {self.n_unknown:,} are older than what is known" if self.n_unknown else "")

    def _read(self, row: LogRow) -> None:
        event = events.decoded(row.content)
        if isinstance(event, DecisionMade):
            made = MadeDecision(row.number, event, self._changes.get(row.policy))
            self._waiting[row.policy, event.version][row.number] = made
        elif isinstance(event, PolicyChanged):
            self._changes[row.policy] = row.number, event.settings
        self._ahead.append((row, event))

    def _apply(self, row: LogRow, event: Any) -> None:
        """Apply a row; before a policy learns from it, compare the decisions that were made with what it knew."""
        if isinstance(event, DecisionMade):
            self._decide(row, event)
        self._replica.apply(row, event)
        for name, policy in self._replica.policies.items():
            if policy.has_lessons:
                for each in self._waiting.pop((name, policy.version), {}).values():
                    self._compare(policy, each)
                policy.learn()

    def _decide(self, row: LogRow, event: DecisionMade) -> None:
        """Compare a decision that was made with all that the log held; others were compared before."""
        policy, key = self._replica.policy(row.policy), (row.policy, event.version)
        found = self._waiting[key].pop(row.number, None)
        if not self._waiting[key]:
            del self._waiting[key]
        if found is None:
            return
        if policy.version == event.version:
            self._compare(policy, found)
        else:
            self.n_unknown += 1

    def _compare(self, policy: PolicyReplica, found: MadeDecision) -> None:
        made = found.made
        if made.is_erased:
            self.n_erased += 1
            return
        settings = policy.settings
        if found.changed is not None and found.changed[0] > self._replica.number:
            policy.settings = found.changed[1]
        try:
            is_equal = _is_equal(policy, found)
        finally:
            policy.settings = settings
        self.n_equal += is_equal
        self.n_different += not is_equal
        if not is_equal and self.first_different is None:
            self.first_different = found.number


def _is_equal(policy: PolicyReplica, found: MadeDecision) -> bool:
    made = found.made
    try:
        again = drawn(policy, DecideRequest(context=made.context, available=made.available), found.number)
    except StumperyError:
        return False
    action, probability = again.actions[again.position], again.probabilities[again.position]
    return (action, probability, again.draw) == (made.action, made.probability, made.draw)
