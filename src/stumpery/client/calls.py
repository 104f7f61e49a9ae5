"""Calls of the service: what is sent, what is made of the answer, and when it is sent again.

A decision is sent with an id, and a reward with one of its own, so that sending it again changes nothing: the service
gives its first answer again.
"""

import json
import random
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from stumpery.client.answers import RefusedByService, ServedDecision
from stumpery.errors import InvalidInput
from stumpery.options import shown

Answer = TypeVar("Answer")
ServedContext = Mapping[str, str | int | float | bool | None]
DecisionOrId = ServedDecision | str
AGAIN = (429, 502, 503, 504)  # statuses after which the same request may succeed
FIRST_PAUSE_S, MAX_PAUSE_S = 0.1, 5.0
DEFAULT_K = 10  # actions of a ranking, as the service has it


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One request, and what to make of the JSON of its answer."""

    method: str
    path: str
    body: Any = None
    read: Callable[[Any], Answer] = lambda answer: answer

    @property
    def content(self) -> bytes | None:
        """The body as JSON; an InvalidInput if a value has no place in it."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"the request is no JSON: {error}") from None


def decide(
    policy: str, context: ServedContext | None, available: Iterable[str] | None, k: int, event_id: str | None
) -> Call[ServedDecision]:
    """A request for a decision."""
    return Call("POST", _path(policy, "decide"), _decision(context, available, k, event_id), ServedDecision.of)


def deferred(call: Call[ServedDecision]) -> Call[ServedDecision]:
    """The same decision, of which nothing is learned before it is activated."""
    return replace(call, body=call.body | {"deferred": True})


def decide_many(policy: str, contexts: Sequence[ServedContext | None]) -> Call[list[ServedDecision | None]]:
    """Requests for many decisions; None where one was refused."""
    body = {"decisions": [_decision(context, None, DEFAULT_K, None) for context in contexts]}

    def read(answer: Any) -> list[ServedDecision | None]:
        return [each and ServedDecision.of(each) for each in answer["answers"]]

    return Call("POST", _path(policy, "decide_many"), body, read)


def reward(policy: str, decision: DecisionOrId, value: float, reward_id: str | None) -> Call[str]:
    """A reward; its answer is what became of it."""
    body = _reward(decision, value, reward_id)
    return Call("POST", _path(policy, "reward"), body, lambda answer: str(answer["status"]))


def reward_many(policy: str, rewards: Iterable[tuple[DecisionOrId, float]]) -> Call[list[str | None]]:
    """Many rewards; None where one was refused."""
    body = {"rewards": [_reward(decision, value, None) for decision, value in rewards]}

    def read(answer: Any) -> list[str | None]:
        return [each and str(each["status"]) for each in answer["answers"]]

    return Call("POST", _path(policy, "reward_many"), body, read)


def activate(policy: str, decision: DecisionOrId, *, shown: bool) -> Call[bool]:
    """Word that a deferred decision was shown, or a decision was not."""
    body = {"event_id": id_of(decision), "shown": shown}
    return Call("POST", _path(policy, "activate"), body, lambda answer: bool(answer["active"]))


def explain(policy: str, decision: DecisionOrId) -> Call[dict[str, Any]]:
    """A decision as it was logged, and what the policy says of it now."""
    return Call("GET", _path(policy, f"explain/{quote(id_of(decision), safe='')}"))


def status(policy: str) -> Call[dict[str, Any]]:
    """Settings and counts of a policy."""
    return Call("GET", _path(policy))


def create(policy: str, settings: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """A policy by its settings."""
    return Call("PUT", _path(policy), dict(settings))


def id_of(decision: DecisionOrId) -> str:
    """The id by which the service knows a decision."""
    event = decision.event_id if isinstance(decision, ServedDecision) else decision
    if not isinstance(event, str) or not event:
        raise InvalidInput("a fallback was not recorded, so it takes no reward and has no explanation")
    return event


def result(call: Call[Answer], status_code: int, content: bytes) -> Answer:
    """What an answer says, or the service's refusal as an exception."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise RefusedByService(f"the answer with status {status_code} is not JSON", status_code) from None
    if status_code >= 400:
        sentence = answer.get("error") if isinstance(answer, dict) else None
        raise RefusedByService(str(sentence or f"the service answered with status {status_code}"), status_code)
    try:
        return call.read(answer)
    except (KeyError, TypeError, AttributeError):
        raise RefusedByService("the answer is not one of a decision service", status_code) from None


def checked_headers(address: Any, policy: Any, key: Any) -> dict[str, str]:
    """The headers of every request; an InvalidInput for an address, a policy or a key that cannot be."""
    if not isinstance(address, str) or re.fullmatch(r"https?://[!-~]+", address) is None:
        raise InvalidInput(f"address is {shown(address)}; it must be one such as 'http://127.0.0.1:8321'")
    if not isinstance(policy, str) or not policy:
        raise InvalidInput(f"policy is {shown(policy)}; it must be the name of a policy")
    if key is not None and (not isinstance(key, str) or re.fullmatch(r"[!-~]+", key) is None):
        raise InvalidInput("key must be a text of visible ASCII characters")  # it is not shown
    authorization = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"Content-Type": "application/json", **authorization}


def pause_s(attempt: int, retry_after: str | None) -> float:
    """Seconds before the next attempt: doubled each time, some of it random, at least what the service asks for."""
    asked = float(retry_after) if retry_after and retry_after.isdecimal() else 0.0
    own = FIRST_PAUSE_S * 2.0**attempt * random.uniform(0.5, 1.5)  # noqa: S311
    return min(max(asked, own), MAX_PAUSE_S)


def _path(policy: str, operation: str = "") -> str:
    return f"/v1/policies/{quote(policy, safe='')}" + (f"/{operation}" if operation else "")


def _decision(
    context: ServedContext | None, available: Iterable[str] | None, k: int, event_id: str | None
) -> dict[str, Any]:
    body: dict[str, Any] = {"event_id": event_id or secrets.token_hex(16), "k": k}
    if context is not None:
        if not isinstance(context, Mapping):
            raise InvalidInput(f"context is {shown(context)}; it must be a dict of columns and values")
        body["context"] = dict(context)
    if available is not None:
        body["available"] = list(available)
    return body


def _reward(decision: DecisionOrId, value: float, reward_id: str | None) -> dict[str, Any]:
    return {"event_id": id_of(decision), "value": value, "reward_id": reward_id or secrets.token_hex(8)}
