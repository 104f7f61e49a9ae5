"""The rule of rewards: what becomes of one that comes late, twice, corrected, or before its decision."""

from stumpery.service.errors import RequestConflict
from stumpery.service.events import DecisionSettled, RewardStatus
from stumpery.service.replica.open_decisions import OpenDecision, Reward
from stumpery.service.settings import PolicySettings


def status_of_reward(
    settings: PolicySettings, event: str, decision: OpenDecision, value: float, reward: str | None
) -> RewardStatus:
    """What becomes of a reward that comes within the wait; a RequestConflict if it contradicts an earlier one."""
    for earlier, name in decision.rewards:
        repeated = name == reward if reward is not None or name is not None else settings.rewards == "first"
        if repeated and earlier == value:
            return RewardStatus.DUPLICATE
        if repeated:
            which = f"its reward {reward!r}" if reward is not None else "its reward"
            raise RequestConflict(f"decision {event!r} has {which} of {earlier:g} already; this one is {value:g}")
    is_learned = learns_at_once(settings) and decision.is_active and not decision.rewards
    return RewardStatus.LEARNED if is_learned else RewardStatus.KEPT


def learns_at_once(settings: PolicySettings) -> bool:
    """Whether a reward is learned when it comes."""
    return settings.learn_at_once and settings.rewards == "first"


def first_value(decision: OpenDecision) -> float:
    """The reward that a policy which takes the first one learns."""
    return decision.rewards[0][0]


def settlement(settings: PolicySettings, decision: OpenDecision) -> DecisionSettled:
    """What is learned at the end of the wait: the rewards taken together, or the default where none came."""
    if not decision.is_active:
        return DecisionSettled()
    if not decision.rewards:
        return DecisionSettled(settings.default_reward, is_default=True)
    return DecisionSettled(_together(settings, decision.rewards))


def _together(settings: PolicySettings, rewards: tuple[Reward, ...]) -> float:
    values = [value for value, _ in rewards]
    low, high = settings.reward_range
    if settings.rewards == "sum":
        return min(max(sum(values), low), high)
    return values[-1] if settings.rewards == "last" else max(values) if settings.rewards == "max" else values[0]
