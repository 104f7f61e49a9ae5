"""Open decisions: those whose wait for a reward has not ended, in the order in which it will."""

from heapq import heapify, heappop, heappush

from msgspec import Struct

from stumpery.service.events import DecisionMade, RewardCame, decoded

Reward = tuple[float, str | None]  # the value, and an id of its own


class OpenDecision(Struct, array_like=True, gc=False):
    """A decision that waits for its reward; the garbage collector need not look at it, since it is in no cycle.

    `content` is its event as JSON, `rewards` are those that came, `is_learned` says whether one was learned.
    """

    number: int
    until: int
    content: bytes
    is_active: bool = True
    is_learned: bool = False
    rewards: tuple[Reward, ...] = ()

    def made(self) -> DecisionMade:
        """The decision itself."""
        made: DecisionMade = decoded(self.content)
        return made


class EarlyRewards(Struct, array_like=True):
    """Rewards that came before their decision, and the log's time until which they are kept."""

    until: int
    rewards: list[Reward]


class OpenDecisions:
    """The open decisions of one policy, by id, and rewards that came before theirs.

    The two heaps are indices that are rebuilt from the decisions: `_waiting` for those to be settled, `_learned` for
    those to be forgotten at the end of their wait.
    """

    def __init__(self, decisions: dict[str, OpenDecision], early: dict[str, EarlyRewards]) -> None:
        self.decisions, self.early = decisions, early
        self._waiting = [(each.until, each.number, event) for event, each in decisions.items() if not each.is_learned]
        self._learned = [(each.until, each.number, event) for event, each in decisions.items() if each.is_learned]
        heapify(self._waiting)
        heapify(self._learned)

    def __len__(self) -> int:
        return len(self.decisions)

    def add(self, event: str, decision: OpenDecision) -> None:
        """Open a decision; rewards that came before it are its own now."""
        came = self.early.pop(event, None)
        if came is not None:
            decision.rewards = (*decision.rewards, *came.rewards)
        self.decisions[event] = decision
        heappush(self._waiting, (decision.until, decision.number, event))

    def add_early(self, event: str, reward: RewardCame, until: int) -> None:
        """Keep a reward whose decision has not come."""
        kept = self.early.setdefault(event, EarlyRewards(until, []))
        kept.rewards.append((reward.value, reward.reward))

    def set_learned(self, event: str, decision: OpenDecision) -> None:
        """Mark a decision whose reward is learned: it is kept to recognise duplicates, without its context."""
        decision.is_learned, decision.content = True, b""
        heappush(self._learned, (decision.until, decision.number, event))

    def close(self, event: str) -> OpenDecision | None:
        """Take a decision out."""
        return self.decisions.pop(event, None)

    def next_due(self, time: int) -> tuple[str, OpenDecision] | None:
        """The first decision that is to be settled by that time."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= time:
            _, number, event = waiting[0]
            decision = self.decisions.get(event)
            if decision is not None and decision.number == number and not decision.is_learned:
                return event, decision
            heappop(waiting)
        return None

    def purge(self, time: int) -> None:
        """Forget what the log's time has passed: learned decisions after their wait, and early rewards."""
        learned = self._learned
        while learned and learned[0][0] <= time:
            _, number, event = heappop(learned)
            if event in self.decisions and self.decisions[event].number == number:
                del self.decisions[event]
        while self.early:
            first = next(iter(self.early))
            if self.early[first].until > time:
                break
            del self.early[first]
