"""The rule of rewards: what becomes of one that comes late, twice, corrected, or before its decision."""

from stumpery.policies.delayed_rewards import combined_reward
from stumpery.service.errors import RequestConflict
from stumpery.service.events import DecisionSettled, RewardStatus
from stumpery.service.replica.open_decisions import OpenDecision
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
    values = [value for value, _ in decision.rewards]
    return DecisionSettled(combined_reward(settings.rewards, values, settings.reward_range))
