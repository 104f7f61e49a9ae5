"""Events of the log: everything that changes a policy, a decision or a reward, as JSON with a tag.

An event holds the outcome, not the request: a replica that applies it takes no decision of its own, so equal logs give
equal bits.
"""

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from stumpery.service.settings import PolicySettings

ERASURE = "erasure"  # in the place of the id of a decision, so that these rows are found
Value = str | int | float | bool | None
ServedContext = dict[str, Value]


class RewardStatus(StrEnum):
    """What became of a reward: learned at once, kept to the end of the wait, or recorded only."""

    LEARNED = "learned"
    KEPT = "kept"
    EARLY = "early"
    LATE = "late"
    DUPLICATE = "duplicate"


class PolicyCreated(Struct, tag="policy created", frozen=True):
    """A policy with its settings, or a copy of another as it is then."""

    settings: PolicySettings
    copy_of: str | None = None


class PolicyChanged(Struct, tag="policy changed", frozen=True):
    """New settings of a policy; kind, options, columns, seed, actions and range of rewards stay."""

    settings: PolicySettings


class PolicyDeleted(Struct, tag="policy deleted", frozen=True):
    """The end of a policy and its open decisions."""


class PolicyPromoted(Struct, tag="policy promoted", frozen=True):
    """A policy and its challenger exchange their models."""

    challenger: str


class PolicyRolledBack(Struct, tag="policy rolled back", frozen=True):
    """A policy has the model again that it had after an earlier event."""

    number: int


class ActionAdded(Struct, tag="action added", frozen=True):
    """A new action, and what it is like."""

    action: str
    features: dict[str, Value] | None = None


class ActionRemoved(Struct, tag="action removed", frozen=True):
    """An action that is not offered any more."""

    action: str


class DecisionMade(Struct, tag="decision", frozen=True, omit_defaults=True):
    """A decision: the context, the action, its probability, and the draw that chose it.

    `ranking` are the likeliest actions, `version` is the number of the last event that the policy had learned, `asked`
    a hash of the request, and `until` the log's time when the wait ends. An erased one has lost its values and is never
    learned. `group` is "control" where the baseline was taken, `imitation` the action and probability that an
    apprentice would have taken, `shadows` each shadow policy's probability of the action.
    """

    context: ServedContext | None
    action: str
    probability: float
    draw: float
    version: int
    until: int
    ranking: list[tuple[str, float]] = []
    available: list[str] | None = None
    asked: str | None = None
    is_deferred: bool = False
    is_erased: bool = False
    group: str | None = None
    imitation: tuple[str, float] | None = None
    shadows: dict[str, float] = {}


class DecisionActivated(Struct, tag="activation", frozen=True):
    """A deferred decision was shown, or it was not and is never learned."""

    is_shown: bool = True


class RewardCame(Struct, tag="reward", frozen=True, omit_defaults=True):
    """A reward of a decision, and what became of it; `reward` is an id of its own."""

    value: float
    status: RewardStatus
    reward: str | None = None


class DecisionSettled(Struct, tag="settled", frozen=True, omit_defaults=True):
    """The wait of a decision ended: the value to learn, if any."""

    value: float | None = None
    is_default: bool = False


class ClockRead(Struct, tag="clock", frozen=True):
    """The log's time, without anything else."""


class LeaderChosen(Struct, tag="leader", frozen=True):
    """From here on this process leads, in this run of it: no other writes default rewards, until a higher epoch."""

    name: str
    run: str
    epoch: int


class ReplicasHashed(Struct, tag="hash", frozen=True):
    """The row after which all processes hash their replica, so that the hashes can be compared."""


class ContextsErased(Struct, tag="erasure", frozen=True):
    """Contexts of earlier decisions were erased, so many: snapshots from before hold what was learned from them."""

    n: int


Event = (
    PolicyCreated
    | PolicyChanged
    | PolicyDeleted
    | PolicyPromoted
    | PolicyRolledBack
    | ActionAdded
    | ActionRemoved
    | DecisionMade
    | DecisionActivated
    | RewardCame
    | DecisionSettled
    | ClockRead
    | LeaderChosen
    | ReplicasHashed
    | ContextsErased
)
_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(Event)


def encoded(event: Any) -> bytes:
    """An event as JSON."""
    return _ENCODER.encode(event)


def decoded(content: bytes) -> Any:
    """The event that `encoded` wrote."""
    return _DECODER.decode(content)
