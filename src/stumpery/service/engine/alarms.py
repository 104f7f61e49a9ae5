"""Alarms: what a person should look at, found from the replica every few seconds, and sent to a webhook."""

import json
import logging
import threading
import time
import urllib.request
from collections import Counter, deque
from typing import Any

from msgspec import Struct

from stumpery.service.events import DecisionMade
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.replica.site_replica import SiteReplica

logger = logging.getLogger(__name__)
EVERY_S = 5.0
WINDOW = 1_000  # decisions that are looked at
MIN_DECISIONS = 200
MISSING_SHARE = 0.9  # of the last quarter of the window, of a column that most earlier ones had
WEBHOOK_TIMEOUT_S = 5.0


class Alarm(Struct):
    """An alarm of a policy, since a time of the log in milliseconds."""

    policy: str
    kind: str
    sentence: str
    since: int


class Alarms:
    """Watches the policies of a site; what it remembers is of this process, and begins anew with it.

    Args:
        webhook: An address that gets each new alarm as JSON; None sends nothing.
    """

    def __init__(self, webhook: str | None) -> None:
        self._webhook = webhook
        self._open: dict[tuple[str, str], Alarm] = {}
        self._decisions: dict[str, deque[tuple[str, frozenset[str]]]] = {}
        self._n_rewards: dict[str, tuple[int, int]] = {}
        self._n_drifts: dict[str, int] = {}
        self._at = 0.0

    def shown(self) -> list[Alarm]:
        """The alarms that are open, the latest first."""
        return sorted(self._open.values(), key=lambda alarm: -alarm.since)

    def see(self, policy: str, made: DecisionMade) -> None:
        """Remember a decision's action and the columns that it had."""
        kept = self._decisions.get(policy)
        if kept is None:
            kept = self._decisions[policy] = deque(maxlen=WINDOW)
        context = made.context or {}
        kept.append((made.action, frozenset(name for name, value in context.items() if value is not None)))

    def look_if_due(self, replica: SiteReplica) -> None:
        """Look at all policies every few seconds; new alarms are logged and sent."""
        if time.monotonic() < self._at:
            return
        self._at = time.monotonic() + EVERY_S
        self.look(replica)

    def look(self, replica: SiteReplica) -> None:
        """Look at all policies: alarms begin, stay and end."""
        found: dict[tuple[str, str], Alarm] = {}
        for name, policy in replica.policies.items():
            for kind, sentence in self._of_policy(name, policy).items():
                before = self._open.get((name, kind))
                found[name, kind] = Alarm(name, kind, sentence, before.since if before else replica.time)
        new = [alarm for key, alarm in found.items() if key not in self._open]
        self._open = found
        for alarm in new:
            logger.warning("alarm of policy %r: %s", alarm.policy, alarm.sentence)
            if self._webhook is not None:
                threading.Thread(target=_send, args=(self._webhook, alarm), daemon=True).start()

    def _of_policy(self, name: str, policy: PolicyReplica) -> dict[str, str]:
        found = {**self._of_drift(name, policy), **self._of_rewards(name, policy)}
        lift = policy.estimates.difference.interval()
        if lift is not None and lift[1] < 0.0:
            found["below the baseline"] = f"rewards are below the control group's, by {-lift[1]:.4g} or more"
        kept = self._decisions.get(name, ())
        if len(kept) >= MIN_DECISIONS:
            counts = Counter(action for action, _ in kept)
            never = [action for action in policy.settings.actions if not counts[action]]
            if never:
                found["action never chosen"] = f"{never[0]!r} was not chosen in {len(kept)} decisions"
            gone = _gone([columns for _, columns in kept])
            if gone is not None:
                found["column missing"] = f"column {gone!r} has gone missing"
        return found

    def _of_drift(self, name: str, policy: PolicyReplica) -> dict[str, str]:
        n_drifts = getattr(policy.model, "n_drifts", 0)
        before = self._n_drifts.setdefault(name, n_drifts)
        return {"drift": f"{n_drifts - before} drifts were detected since the start"} if n_drifts > before else {}

    def _of_rewards(self, name: str, policy: PolicyReplica) -> dict[str, str]:
        """Rewards have stopped where many decisions were made since the last one, though there had been some."""
        rewards, decisions = policy.counts["rewards"], policy.counts["decisions"]
        last_rewards, at = self._n_rewards.get(name, (-1, 0))
        if rewards != last_rewards:
            self._n_rewards[name] = rewards, decisions
            return {}
        since = decisions - at
        if rewards and since >= max(WINDOW, 20 * decisions // max(rewards, 1)):
            return {"rewards stopped": f"no reward came for the last {since} decisions"}
        return {}


def _gone(columns: list[frozenset[str]]) -> str | None:
    """A column that most earlier decisions had, and almost none of the last quarter."""
    middle = len(columns) * 3 // 4
    early, late = columns[:middle], columns[middle:]
    counts = [Counter(name for each in part for name in each) for part in (early, late)]
    for name, n in counts[0].items():
        if n > MISSING_SHARE * len(early) and counts[1][name] < (1.0 - MISSING_SHARE) * len(late):
            return name
    return None


def _send(webhook: str, alarm: Alarm) -> None:
    body: Any = {"policy": alarm.policy, "kind": alarm.kind, "sentence": alarm.sentence, "since": alarm.since}
    request = urllib.request.Request(  # noqa: S310 - an address from the settings, checked there
        webhook, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request, timeout=WEBHOOK_TIMEOUT_S).close()  # noqa: S310
    except OSError as error:
        logger.warning("an alarm was not sent to the webhook: %s", error)
