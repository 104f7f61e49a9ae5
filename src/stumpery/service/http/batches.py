"""Decisions and rewards, one in a request or several."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from stumpery.errors import StumperyError
from stumpery.service.engine import deciding, rewarding
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.messages import DecideAnswer, DecideRequest
from stumpery.service.engine.rewarding import RewardAnswer, RewardRequest
from stumpery.service.errors import RefusedRequest, status_of
from stumpery.service.http.operation import Path, Task
from stumpery.service.settings import LimitSettings


class ItemError(Struct):
    """What is wrong with one of several requests, by its index from 0."""

    index: int
    error: str
    status: int


class DecideManyRequest(Struct, forbid_unknown_fields=True):
    """Several requests for decisions."""

    decisions: list[DecideRequest]


class DecideManyAnswer(Struct):
    """An answer for each, null where it was refused; `errors` says why."""

    answers: list[DecideAnswer | None]
    errors: list[ItemError]


class RewardManyRequest(Struct, forbid_unknown_fields=True):
    """Several rewards."""

    rewards: list[RewardRequest]


class RewardManyAnswer(Struct):
    """An answer for each, null where it was refused; `errors` says why."""

    answers: list[RewardAnswer | None]
    errors: list[ItemError]


def decide(limits: LimitSettings, path: Path, body: DecideRequest) -> Task:
    """The task of a request for a decision."""
    name = path["name"]
    return lambda journal: deciding.decide(journal, limits, name, body)


def decide_many(limits: LimitSettings, path: Path, body: DecideManyRequest) -> Task:
    """The task of several requests for decisions."""
    _check_batch(limits, body.decisions)
    task = partial(_each, decide, limits, path, body.decisions)
    return lambda journal: DecideManyAnswer(*task(journal))


def reward(limits: LimitSettings, path: Path, body: RewardRequest) -> Task:
    """The task of a reward."""
    name = path["name"]
    return lambda journal: rewarding.reward(journal, limits, name, body)


def reward_many(limits: LimitSettings, path: Path, body: RewardManyRequest) -> Task:
    """The task of several rewards."""
    _check_batch(limits, body.rewards)
    task = partial(_each, reward, limits, path, body.rewards)
    return lambda journal: RewardManyAnswer(*task(journal))


def _check_batch(limits: LimitSettings, requests: list[Any]) -> None:
    if len(requests) > limits.batch:
        raise RefusedRequest(f"there are {len(requests)} requests in one; the limit is {limits.batch}")


def n_requests(body: Any) -> int:
    """How many requests a body holds, by which a key's rate counts."""
    if isinstance(body, DecideManyRequest):
        return max(1, len(body.decisions))
    return max(1, len(body.rewards)) if isinstance(body, RewardManyRequest) else 1


def named_decisions(policy: str, body: Any) -> list[tuple[str, str]]:
    """The decisions that a body names, by policy and id."""
    many = getattr(body, "decisions", None) or getattr(body, "rewards", None) or [body]
    ids = [getattr(each, "event_id", None) for each in many]
    return [(policy, event) for event in ids if event is not None]


def _each(
    make: Callable[..., Task], limits: LimitSettings, path: Path, bodies: list[Any], journal: Journal
) -> tuple[list[Any], list[ItemError]]:
    """The answers to several requests, and the errors of those that are refused."""
    answers: list[Any] = []
    errors: list[ItemError] = []
    for index, body in enumerate(bodies):
        try:
            answers.append(make(limits, path, body)(journal))
        except StumperyError as error:
            answers.append(None)
            errors.append(ItemError(index, str(error), status_of(error)))
    return answers, errors
