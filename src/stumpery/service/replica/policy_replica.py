"""A replica of one policy: its model and its open decisions, as the events of the log make them."""

import hashlib
from typing import Any

import msgspec

from stumpery.errors import StumperyError
from stumpery.policies import Policy
from stumpery.service import events
from stumpery.service.events import RewardStatus
from stumpery.service.log.event_log import LogRow
from stumpery.service.replica.estimates import Estimates
from stumpery.service.replica.models import digest_of, new_model
from stumpery.service.replica.open_decisions import EarlyRewards, OpenDecision, OpenDecisions
from stumpery.service.replica.reward_rule import first_value, learns_at_once
from stumpery.service.settings import PolicySettings
from stumpery.types import Decision

MIN_BATCH, MAX_LESSONS = 32, 1_024  # so few rewards are learned one by one; so many are learned at once


class ReplicaTables(msgspec.Struct, forbid_unknown_fields=True):
    """What a snapshot holds of a policy beside its model."""

    settings: PolicySettings
    version: int
    counts: dict[str, int]
    decisions: dict[str, OpenDecision]
    early: dict[str, EarlyRewards]
    estimates: Estimates = msgspec.field(default_factory=Estimates)
    created: int | msgspec.UnsetType = msgspec.UNSET  # not in digests, as snapshots of older versions lack it


class PolicyReplica:
    """The state of one policy after a part of the log; learning may lag behind, until `learn` is called."""

    def __init__(self, settings: PolicySettings, model: Policy | None = None) -> None:
        self.settings = settings
        self.model = new_model(settings) if model is None else model
        self.open = OpenDecisions({}, {})
        self.version = 0
        self.created = 0  # the number of its creation in the log: earlier rows are of a deleted policy of its name
        self.counts = dict.fromkeys(COUNTED, 0)
        self.estimates = Estimates()
        self.followers: dict[str, PolicyReplica] = {}  # shadow policies
        self._lessons: list[tuple[int, Decision, float]] = []

    @classmethod
    def restored(cls, tables: ReplicaTables, model: Policy) -> "PolicyReplica":
        """A replica from a snapshot."""
        replica = cls(tables.settings, model)
        replica.open = OpenDecisions(tables.decisions, tables.early)
        replica.estimates = tables.estimates
        replica.created = 0 if tables.created is msgspec.UNSET else tables.created
        replica.version, replica.counts = tables.version, dict.fromkeys(COUNTED, 0) | tables.counts
        return replica

    def tables(self) -> ReplicaTables:
        """What a snapshot holds beside the model; all events are learned first."""
        self.learn()
        return ReplicaTables(
            self.settings,
            self.version,
            self.counts,
            self.open.decisions,
            self.open.early,
            self.estimates,
            self.created,
        )

    def digest(self) -> str:
        """The SHA-256 of the model and the tables, in hexadecimal: equal digests mean equal bits."""
        tables = msgspec.json.encode(msgspec.structs.replace(self.tables(), created=msgspec.UNSET), order="sorted")
        return hashlib.sha256(digest_of(self.model).encode() + tables).hexdigest()

    # Events.

    def apply(self, row: LogRow, event: Any) -> None:
        """Apply the next event of this policy."""
        APPLY[type(event)](self, row, event)
        self.open.purge(row.time)

    def _decide(self, row: LogRow, event: events.DecisionMade) -> None:
        assert row.event is not None  # noqa: S101
        if not self.counts["decisions"]:
            self.model.decide(event.context)  # the first one fixes the columns
        self.counts["decisions"] += 1
        if event.imitation is not None:
            self._imitate(row.number, event, *event.imitation)
        decision = OpenDecision(row.number, event.until, row.content, is_active=not event.is_deferred)
        self.open.add(row.event, decision)
        if decision.rewards:
            self._learn_first(row, decision)

    def _activate(self, row: LogRow, event: events.DecisionActivated) -> None:
        decision = self.open.decisions.get(row.event or "")
        if decision is None:
            return
        if not event.is_shown:
            self.open.close(row.event or "")
        elif not decision.is_active:
            decision.is_active = True
            self._learn_first(row, decision)

    def _reward(self, row: LogRow, event: events.RewardCame) -> None:
        self.counts["rewards"] += 1
        if event.status is RewardStatus.EARLY:
            self.open.add_early(row.event or "", event, row.time + round(1000 * self.settings.early_rewards_s))
            return
        decision = self.open.decisions.get(row.event or "")
        if decision is None or event.status is RewardStatus.LATE:
            self.counts["late rewards"] += 1
            return
        decision.rewards = (*decision.rewards, (event.value, event.reward))
        if event.status is RewardStatus.LEARNED:
            self._learn_first(row, decision)

    def _settle(self, row: LogRow, event: events.DecisionSettled) -> None:
        decision = self.open.close(row.event or "")
        self.counts["default rewards"] += event.is_default and event.value is not None
        if decision is not None and event.value is not None:
            self._queue(row.number, decision, event.value)

    def _change(self, row: LogRow, event: events.PolicyChanged) -> None:
        self.settings = event.settings

    def _add_action(self, row: LogRow, event: events.ActionAdded) -> None:
        self.learn()
        if event.features is None:
            self.model.add_action(event.action)
        else:
            self.model.add_action(event.action, features=event.features)  # type: ignore[call-arg]
        self._set_actions()

    def _remove_action(self, row: LogRow, event: events.ActionRemoved) -> None:
        self.learn()
        self.model.remove_action(event.action)
        self._set_actions()

    def _set_actions(self) -> None:
        names = tuple(str(action) for action in self.model.actions)
        settings = self.settings
        fallback = settings.fallback if settings.fallback in names else None
        baseline = settings.baseline if settings.baseline in names else None
        self.settings = msgspec.structs.replace(settings, actions=names, fallback=fallback, baseline=baseline)

    def _read_clock(self, row: LogRow, event: events.ClockRead) -> None:
        pass

    # Learning.

    def _learn_first(self, row: LogRow, decision: OpenDecision) -> None:
        if learns_at_once(self.settings) and decision.is_active and decision.rewards and not decision.is_learned:
            self._queue(row.number, decision, first_value(decision))
            self.open.set_learned(row.event or "", decision)

    def _queue(self, number: int, decision: OpenDecision, value: float) -> None:
        if self.settings.is_paused:
            return
        made = decision.made()
        control = self.settings.control if made.imitation is None else 1.0
        self.estimates.add(value, is_control=made.group is not None, control=control)
        for name, probability in made.shadows.items():
            self.estimates.add_shadow(name, probability / made.probability, value)
        if made.is_erased:
            return
        for each in (self, *self.followers.values()):
            if each is not self or made.imitation is None:
                each._teach(number, Decision(made.action, made.probability, made.context), value)

    def _imitate(self, number: int, made: events.DecisionMade, action: str, probability: float) -> None:
        """Learn at once whether the apprentice would have taken its master's action."""
        agrees = action == made.action
        self.estimates.agreement.add(float(agrees))
        if not made.is_erased:
            reward = self.settings.reward_range[agrees]
            self._teach(number, Decision(action, probability, made.context), reward)

    def _teach(self, number: int, decision: Decision, value: float) -> None:
        self._lessons.append((number, decision, value))
        if len(self._lessons) >= MAX_LESSONS:
            self.learn()

    def take_model(self, model: Policy, settings: PolicySettings, version: int) -> None:
        """Take the model of another replica, as after a promotion, and begin the estimates anew."""
        self.model, self.estimates, self.version = model, Estimates(), version
        like = {name: getattr(settings, name) for name in ("kind", "options", "columns", "seed")}
        self.settings = msgspec.structs.replace(self.settings, **like)
        self._set_actions()

    @property
    def has_lessons(self) -> bool:
        """Whether there are rewards that wait to be learned."""
        return bool(self._lessons)

    def learn(self) -> None:
        """Learn the rewards that are waiting, in the log's order."""
        if not self._lessons:
            return
        lessons, self._lessons = self._lessons, []
        known = set(self.model.actions)
        usable = [(decision, value) for _, decision, value in lessons if decision.action in known]
        if len(usable) < MIN_BATCH or not self._learned_at_once(usable):
            for decision, value in usable:
                self._learn_one(decision, value)
        self.counts["learned"] += len(usable)
        self.version = lessons[-1][0]

    def _learned_at_once(self, lessons: list[tuple[Decision, float]]) -> bool:
        try:
            self.model.learn_many([decision for decision, _ in lessons], [value for _, value in lessons])
        except StumperyError:
            return False
        return True

    def _learn_one(self, decision: Decision, value: float) -> None:
        try:
            self.model.learn(decision, value)
        except StumperyError:
            self.counts["not learned"] += 1


COUNTED = ("decisions", "rewards", "late rewards", "default rewards", "learned", "not learned")
APPLY: dict[type, Any] = {
    events.DecisionMade: PolicyReplica._decide,
    events.DecisionActivated: PolicyReplica._activate,
    events.RewardCame: PolicyReplica._reward,
    events.DecisionSettled: PolicyReplica._settle,
    events.PolicyChanged: PolicyReplica._change,
    events.ActionAdded: PolicyReplica._add_action,
    events.ActionRemoved: PolicyReplica._remove_action,
    events.ClockRead: PolicyReplica._read_clock,
}
