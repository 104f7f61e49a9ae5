"""Statistics of one policy, from the events of the log: rewards, actions, exploration, lag, recent decisions."""

from bisect import bisect_left
from collections import OrderedDict, deque
from dataclasses import dataclass
from math import inf
from typing import Any

from stumpery.service import events
from stumpery.service.dashboard.time_buckets import TimeBuckets
from stumpery.service.events import RewardStatus
from stumpery.service.log.event_log import LogRow

MAX_OPEN = 200_000  # decisions whose rewards are awaited; of older ones rewards are not shown
N_RECENT = 30
SHOWN_COLUMNS, SHOWN_LETTERS = 12, 60  # of a context that is shown
LAGS_S = (1, 5, 30, 60, 300, 600, 3_600, 86_400)


@dataclass(slots=True)
class AwaitedDecision:
    """A decision whose reward may still come."""

    time: int
    n_actions: int
    shown: dict[str, Any]


class PolicyStatistics:
    """What a policy has decided and earned."""

    def __init__(self) -> None:
        self.times = TimeBuckets()
        self.recent: deque[dict[str, Any]] = deque(maxlen=N_RECENT)
        self.lags = [0] * (len(LAGS_S) + 1)
        self.n_late = self.n_not_followed = 0
        self._awaited: OrderedDict[str, AwaitedDecision] = OrderedDict()
        self._n_actions = 1

    def apply(self, row: LogRow, event: Any) -> None:
        """Take in the next event of the policy."""
        match event:
            case events.PolicyCreated() | events.PolicyChanged():
                self._n_actions = len(event.settings.actions)
            case events.ActionAdded():
                self._n_actions += 1
            case events.ActionRemoved():
                self._n_actions -= 1
            case events.DecisionMade():
                self._decide(row, event)
            case events.RewardCame():
                self._reward(row, event)
            case events.DecisionSettled():
                self._settle(row, event)

    def _decide(self, row: LogRow, made: events.DecisionMade) -> None:
        n_actions = len(made.available) if made.available else self._n_actions
        is_explored = bool(made.ranking) and made.ranking[0][0] != made.action
        self.times.at(row.time).add_decision(made.action, row.number, is_explored=is_explored)
        shown = {
            "event_id": row.event,
            "time": row.time,
            "action": made.action,
            "probability": made.probability,
            "context": _shown_context(made.context),
            "reward": None,
        }
        self.recent.append(shown)
        self._awaited[row.event or ""] = AwaitedDecision(row.time, n_actions, shown)
        if len(self._awaited) > MAX_OPEN:
            self._awaited.popitem(last=False)
            self.n_not_followed += 1

    def _reward(self, row: LogRow, event: events.RewardCame) -> None:
        decision = self._awaited.get(row.event or "")
        if event.status is RewardStatus.LATE:
            self.n_late += 1
        if decision is None or event.status not in (RewardStatus.LEARNED, RewardStatus.KEPT):
            return
        self.lags[bisect_left(LAGS_S, (row.time - decision.time) / 1000)] += 1
        if event.status is RewardStatus.LEARNED:
            self._earn(row.event or "", decision, event.value, is_default=False)

    def _settle(self, row: LogRow, event: events.DecisionSettled) -> None:
        decision = self._awaited.get(row.event or "")
        if decision is None:
            return
        if event.value is None:
            del self._awaited[row.event or ""]
        else:
            self._earn(row.event or "", decision, event.value, is_default=event.is_default)

    def _earn(self, event: str, decision: AwaitedDecision, value: float, *, is_default: bool) -> None:
        decision.shown["reward"] = value
        action, probability = decision.shown["action"], decision.shown["probability"]
        bucket = self.times.at(decision.time)
        bucket.add_reward(action, value, probability, decision.n_actions, is_default=is_default)
        del self._awaited[event]

    def summary(self) -> dict[str, Any]:
        """All that the page shows of the policy, as plain values.

        Estimates are of the time before the oldest decision whose reward is awaited.
        """
        total = self.times.total()
        oldest = next((decision.time for decision in self._awaited.values()), None)
        complete_until = inf if oldest is None else oldest
        complete = self.times.total(complete_until)
        width_ms, rows = self.times.rows(complete_until)
        return {
            "decisions": total.n_decisions,
            "rewards": total.n_rewards,
            "defaults": total.n_defaults,
            "late": self.n_late,
            "not_followed": self.n_not_followed,
            "awaited": len(self._awaited),
            "oldest_awaited": oldest,
            "earned": complete.earned(),
            "uniform": complete.uniform.estimate(),
            "effective_size": complete.uniform.effective_size(),
            "comparison": complete.comparison(),
            "explored": total.n_explored,
            "actions": dict(total.actions.most_common()),
            "lags": [[bound, n] for bound, n in zip([*LAGS_S, None], self.lags, strict=True)],
            "width_ms": width_ms,
            "times": rows,
            "recent": list(reversed(self.recent)),
        }


def _shown_context(context: events.ServedContext | None) -> dict[str, Any]:
    """The first columns of a context, long texts shortened."""
    columns = list((context or {}).items())[:SHOWN_COLUMNS]
    return {name: value[:SHOWN_LETTERS] if isinstance(value, str) else value for name, value in columns}
