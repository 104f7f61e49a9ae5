"""Messages of decisions: requests and answers."""

from msgspec import Struct

from stumpery.service.events import ServedContext, Value


class CandidateAction(Struct, forbid_unknown_fields=True):
    """An action to choose from, and what it is like."""

    action: str
    features: dict[str, Value] | None = None


class DecideRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A request for a decision.

    Args:
        context: Column names and values: texts, numbers, booleans or null.
        actions: The actions to choose from, each with its features; where the policy takes `new_actions`, those that
            it does not know are added to it.
        available: The names of the actions to choose from; by default all of the policy, or all `actions`.
        k: How many of the likeliest actions the ranking names.
        event_id: An id for the decision, by which its reward comes; by default a new one of 128 random bits.
        deferred: Whether nothing is learned before the decision is activated.
    """

    context: ServedContext | None = None
    actions: list[CandidateAction] | None = None
    available: list[str] | None = None
    k: int = 10
    event_id: str | None = None
    deferred: bool = False


class RankedAction(Struct):
    """An action and its probability."""

    action: str
    probability: float


class DecideAnswer(Struct, omit_defaults=True):
    """A decision: its id, the action, the probability with which it was drawn, and the likeliest actions.

    `version` is the number of the last event that the policy had learned; a fallback was not logged and takes no
    reward.
    """

    event_id: str | None
    action: str
    probability: float
    version: int
    ranking: list[RankedAction] = []
    repeated: bool = False
    fallback: bool = False
