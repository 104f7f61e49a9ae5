"""Rewards and activations of decisions, and what is learned when a wait ends."""

from msgspec import Struct

from stumpery.options import shown
from stumpery.service import events
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.limits import check_length
from stumpery.service.errors import RefusedRequest, RequestConflict, TooManyRequests, UnknownName
from stumpery.service.events import DecisionActivated, DecisionMade, RewardCame, RewardStatus
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.replica.reward_rule import settlement, status_of_reward
from stumpery.service.settings import LimitSettings

MAX_SETTLED = 1_000  # in one turn, in which other processes wait


class RewardRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A reward of a decision.

    Args:
        event_id: The id of the decision.
        value: The reward.
        reward_id: An id of the reward itself, so that it can be sent again; needed where several are summed up.
    """

    event_id: str
    value: float
    reward_id: str | None = None


class RewardAnswer(Struct):
    """What became of a reward: learned, kept to the end of the wait, early, late (recorded only), or a duplicate."""

    status: RewardStatus


class ActivateRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A deferred decision was shown, or a decision was not shown and is not to be learned."""

    event_id: str
    shown: bool = True


class ActivateAnswer(Struct):
    """Whether the decision is learned from now on; a second time changes nothing."""

    active: bool


def reward(journal: Journal, limits: LimitSettings, name: str, request: RewardRequest) -> RewardAnswer:
    """Record a reward, and learn it by the policy's rule."""
    policy = journal.replica.policy(name)
    low, high = policy.settings.reward_range
    if not low <= request.value <= high:
        raise RefusedRequest(f"value is {shown(request.value)}; it must be a number from {low:g} to {high:g}")
    check_length("event_id", request.event_id, limits)
    check_length("reward_id", request.reward_id, limits)
    status = _status(journal, limits, name, policy, request)
    if status is not RewardStatus.DUPLICATE:
        journal.add(name, request.event_id, RewardCame(request.value, status, request.reward_id))
    return RewardAnswer(status)


def _status(
    journal: Journal, limits: LimitSettings, name: str, policy: PolicyReplica, request: RewardRequest
) -> RewardStatus:
    decision = policy.open.decisions.get(request.event_id)
    if decision is not None:
        status = status_of_reward(policy.settings, request.event_id, decision, request.value, request.reward_id)
        is_late = decision.until <= journal.time and status is not RewardStatus.DUPLICATE
        return RewardStatus.LATE if is_late else status
    found = [events.decoded(row.content) for row in journal.find(name, request.event_id)]
    if any(isinstance(each, DecisionMade) for each in found):
        return _status_after_the_wait(policy, request, [each for each in found if isinstance(each, RewardCame)])
    if not policy.settings.early_rewards_s:
        raise UnknownName(f"policy {name!r} has made no decision {request.event_id!r}")
    if len(policy.open.early) >= limits.early_rewards:
        raise TooManyRequests(f"policy {name!r} has {len(policy.open.early)} early rewards, which is the limit")
    return _status_before_the_decision(policy, request)


def _status_after_the_wait(policy: PolicyReplica, request: RewardRequest, came: list[RewardCame]) -> RewardStatus:
    takes_one = policy.settings.rewards == "first"
    for earlier in came:
        if earlier.reward == request.reward_id and (takes_one or request.reward_id is not None):
            return _compared(request, earlier.value)
    return RewardStatus.LATE


def _status_before_the_decision(policy: PolicyReplica, request: RewardRequest) -> RewardStatus:
    early = policy.open.early.get(request.event_id)
    for value, name in early.rewards if early else ():
        if name == request.reward_id and (policy.settings.rewards == "first" or name is not None):
            return _compared(request, value)
    return RewardStatus.EARLY


def _compared(request: RewardRequest, earlier: float) -> RewardStatus:
    if earlier != request.value:
        sentence = f"decision {request.event_id!r} has its reward of {earlier:g} already; this one is {request.value:g}"
        raise RequestConflict(sentence)
    return RewardStatus.DUPLICATE


def activate(journal: Journal, name: str, request: ActivateRequest) -> ActivateAnswer:
    """Activate a deferred decision, or take back one that was not shown."""
    policy = journal.replica.policy(name)
    decision = policy.open.decisions.get(request.event_id)
    if decision is None:
        if not any(
            isinstance(events.decoded(row.content), DecisionMade) for row in journal.find(name, request.event_id)
        ):
            raise UnknownName(f"policy {name!r} has made no decision {request.event_id!r}")
        raise RequestConflict(f"the wait of decision {request.event_id!r} has ended, or it was taken back")
    if not request.shown and decision.is_learned:
        raise RequestConflict(f"the reward of decision {request.event_id!r} is learned already")
    if request.shown != decision.is_active or not request.shown:
        journal.add(name, request.event_id, DecisionActivated(request.shown))
    return ActivateAnswer(request.shown)


def is_any_due(journal: Journal) -> bool:
    """Whether the wait of a decision has ended."""
    return any(policy.open.next_due(journal.time) for policy in journal.replica.policies.values())


def settle(journal: Journal) -> None:
    """Settle decisions whose wait has ended, at most MAX_SETTLED of them."""
    remaining = MAX_SETTLED
    for name, policy in journal.replica.policies.items():
        while remaining:
            due = policy.open.next_due(journal.time)
            if due is None:
                break
            event, decision = due
            journal.add(name, event, settlement(policy.settings, decision))
            remaining -= 1
