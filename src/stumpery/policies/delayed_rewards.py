"""Delayed rewards: decisions wait for theirs, and each is learned when its wait ends."""

import logging
import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.locks import Locked
from stumpery.options import check_number, check_one_of, check_whole, shown
from stumpery.policies.arguments import as_number
from stumpery.policies.policy import Policy
from stumpery.types import Decision

logger = logging.getLogger(__name__)

REWARD_RULES = ("first", "last", "sum", "max")


def combined_reward(rule: str, rewards: Sequence[float], reward_range: tuple[float, float]) -> float:
    """The reward that is learned of a decision with one or several; a sum is cut to the range."""
    if rule == "sum":
        low, high = reward_range
        return min(max(sum(rewards), low), high)
    return rewards[-1] if rule == "last" else max(rewards) if rule == "max" else rewards[0]


@dataclass
class OpenReward:
    """An open decision, the end of its wait, and its reward so far; rewards are combined as they come."""

    decision: Decision
    until: float
    reward: float | None = None


@dataclass(kw_only=True, eq=False)
class DelayedRewards(Locked):
    """Delayed rewards of a policy: decisions wait for theirs, and each is learned when its wait ends.

    Where clicks come early and "no click" is only known after some time, clicks that are learned as they come make
    every action that was just tried look perfect. Here all rewards are learned after the same wait, with a default
    reward where none has come. All is in memory: what is open at the end of the process is not learned. The decision
    service does the same on a durable log. Threads may share it.

    Args:
        policy: The policy that decided, and learns.
        wait: How long a decision waits for its reward, 0 or more, in units of the clock: seconds by default.
        default_reward: What is learned where no reward has come; None learns nothing.
        rewards: Which of several rewards is learned: the "first", the "last", their "sum", cut to the policy's
            `reward_range`, or the "max".
        max_open: The most open decisions, 1 to 10^9; where another one comes, the oldest is dropped and not learned.
        clock: A function that gives the time, by default `time.monotonic`; where it goes backwards, or is not finite,
            time stands still.

    >>> import stumpery as st
    >>> policy, minutes = st.RewardForest(actions=["tent", "jacket"], seed=7), iter(range(100))
    >>> waiting = st.DelayedRewards(policy=policy, wait=10, clock=lambda: next(minutes))
    >>> for visitor in ("ann", "bob"):
    ...     waiting.open(policy.decide({"device": "phone"}), event_id=visitor)
    >>> waiting.reward("ann", 1.0)
    True
    >>> waiting.learn_due()
    0
    >>> for _ in range(8):
    ...     n_learned = waiting.learn_due()
    >>> n_learned, len(waiting), waiting.reward("bob", 1.0)
    (1, 0, False)
    """

    policy: Policy
    wait: float
    default_reward: float | None = 0.0
    rewards: str = "first"
    max_open: int = 100_000
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    n_dropped: int = field(default=0, init=False)
    n_refused: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise InvalidInput(f"policy is {shown(self.policy)}; it must be a policy")
        check_number("wait", self.wait, 0.0)
        if self.default_reward is not None:
            check_number("default_reward", self.default_reward, *self.policy.reward_range)
        check_one_of("rewards", self.rewards, REWARD_RULES)
        check_whole("max_open", self.max_open, 1, 10**9)
        if not callable(self.clock):
            raise InvalidInput(f"clock is {shown(self.clock)}; it must be a function that gives the time")
        self._open: dict[Hashable, OpenReward] = {}  # in the order in which their waits end
        self._now = -math.inf

    def __len__(self) -> int:
        return len(self._open)

    def open(self, decision: Decision, *, event_id: Hashable) -> None:
        """Open a decision, under an id by which its reward will come; where there are too many, drop the oldest."""
        if not isinstance(decision, Decision):
            raise InvalidInput(f"decision is {shown(decision)}; it must be a Decision, as `decide` returns it")
        _check_event_id(event_id)
        if event_id in self._open:
            raise InvalidInput(f"event_id is {shown(event_id)}, which is open already; each decision needs its own")
        now = self._time()
        if len(self._open) == self.max_open:
            del self._open[next(iter(self._open))]
            if not self.n_dropped:
                logger.warning("%d decisions are open; the oldest are dropped without being learned", self.max_open)
            self.n_dropped += 1
        self._open[event_id] = OpenReward(decision, now + self.wait)

    def reward(self, event_id: Hashable, reward: float) -> bool:
        """Keep a reward until the wait of its decision ends; False if the decision is not open, or not any more."""
        value, (low, high) = as_number(reward), self.policy.reward_range
        if not low <= value <= high:
            raise InvalidInput(f"reward is {shown(reward)}; it must be a number from {low:g} to {high:g}")
        _check_event_id(event_id)
        waiting = self._open.get(event_id)
        if waiting is None or waiting.until <= self._time():
            return False
        come = [value] if waiting.reward is None else [waiting.reward, value]
        waiting.reward = sum(come) if self.rewards == "sum" else combined_reward(self.rewards, come, (low, high))
        return True

    def learn_due(self) -> int:
        """Learn all decisions whose wait has ended, the oldest first; returns how many were learned.

        Call it now and then, such as before each decision. One that the policy refuses, such as one of an action that
        has been removed, is left out and counted in `n_refused`.
        """
        now, n_learned = self._time(), 0
        while self._open:
            event_id, waiting = next(iter(self._open.items()))
            if waiting.until > now:
                break
            del self._open[event_id]
            n_learned += self._learn(event_id, waiting)
        return n_learned

    def _learn(self, event_id: Hashable, waiting: OpenReward) -> bool:
        reward = self.default_reward
        if waiting.reward is not None:
            reward = combined_reward(self.rewards, [waiting.reward], self.policy.reward_range)
        if reward is None:
            return False
        try:
            self.policy.learn(waiting.decision, reward)
        except InvalidInput as error:
            logger.warning("the decision %s is not learned: %s", shown(event_id), error)
            self.n_refused += 1
            return False
        return True

    def _time(self) -> float:
        now: Any = self.clock()
        if not isinstance(now, Real):
            raise InvalidInput(f"clock gives {shown(now)}; it must give the time as a number")
        if math.isfinite(now):
            self._now = max(self._now, float(now))
        return self._now


def _check_event_id(event_id: Any) -> None:
    try:
        hash(event_id)
    except TypeError:
        allowed = "a string, a number or another hashable value"
        raise InvalidInput(f"event_id is {shown(event_id)}; it must be {allowed}") from None
