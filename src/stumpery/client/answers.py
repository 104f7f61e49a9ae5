"""Answers of the decision service, as records, and its refusals, as exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stumpery.errors import InvalidInput, StumperyError


class RefusedByService(InvalidInput):
    """A request that the service refused, in its own words; nothing has changed there.

    `status` is the HTTP status, such as 404 for an unknown policy or 409 for an id that was used otherwise.

    >>> RefusedByService("there is no policy 'front'", 404).status
    404
    """

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class ServiceUnreachable(StumperyError):  # noqa: N818
    """The service did not answer, also not after all retries; it is safe to send the same request again.

    >>> issubclass(ServiceUnreachable, StumperyError)
    True
    """


@dataclass(frozen=True)
class ServedAction:
    """An action of a ranking, and its probability.

    Args:
        action: Name of the action.
        probability: Probability with which it would have been drawn.

    >>> ServedAction("news", 0.9).action
    'news'
    """

    action: str
    probability: float


@dataclass(frozen=True)
class ServedDecision:
    """Decision of the service: what to do, and the id by which its reward comes.

    Args:
        event_id: Id of the decision; None for a fallback, which takes no reward.
        action: The chosen action.
        probability: Probability with which it was drawn.
        version: Number of the last event that the policy had learned.
        ranking: The likeliest actions, in this order.
        repeated: Whether this is the first answer again, to a request that was sent twice.
        fallback: Whether the service could not record it, and chose the fallback action.

    >>> ServedDecision.of({"event_id": "e1", "action": "news", "probability": 0.9, "version": 3}).action
    'news'
    """

    event_id: str | None
    action: str
    probability: float
    version: int
    ranking: tuple[ServedAction, ...] = ()
    repeated: bool = False
    fallback: bool = False

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "ServedDecision":
        """The record of a JSON answer; fields that this version does not know are left out."""
        ranking = tuple(ServedAction(each["action"], each["probability"]) for each in answer.get("ranking", ()))
        known = {name: answer[name] for name in cls.__dataclass_fields__ if name in answer and name != "ranking"}
        return cls(**known, ranking=ranking)
