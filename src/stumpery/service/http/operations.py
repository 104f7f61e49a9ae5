"""Operations of the HTTP interface: path, right, body, and the task that answers it."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from stumpery.errors import StumperyError
from stumpery.service.dashboard.model_view import model_view
from stumpery.service.engine import administering, deciding, explaining, rewarding
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.messages import DecideAnswer, DecideRequest
from stumpery.service.engine.rewarding import ActivateAnswer, ActivateRequest, RewardAnswer, RewardRequest
from stumpery.service.errors import RefusedRequest, status_of
from stumpery.service.settings import LimitSettings, PolicySettings, Right

Task = Callable[[Journal], Any]
Path = dict[str, str]
POLICY = "/v1/policies/{name}"


class ErrorAnswer(Struct):
    """What is wrong, in one sentence, and its HTTP status."""

    error: str
    status: int


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


class Operation(NamedTuple):
    """One operation: how it is called, who may, what it takes, and the task for the engine."""

    method: str
    path: str
    right: Right
    summary: str
    task: Callable[[LimitSettings, Path, Any], Task]
    body: Any = None
    answer: Any = None


def _decide(limits: LimitSettings, path: Path, body: DecideRequest) -> Task:
    name = path["name"]
    return lambda journal: deciding.decide(journal, limits, name, body)


def _decide_many(limits: LimitSettings, path: Path, body: DecideManyRequest) -> Task:
    _check_batch(limits, body.decisions)
    task = partial(_each, _decide, limits, path, body.decisions)
    return lambda journal: DecideManyAnswer(*task(journal))


def _reward(limits: LimitSettings, path: Path, body: RewardRequest) -> Task:
    name = path["name"]
    return lambda journal: rewarding.reward(journal, limits, name, body)


def _reward_many(limits: LimitSettings, path: Path, body: RewardManyRequest) -> Task:
    _check_batch(limits, body.rewards)
    task = partial(_each, _reward, limits, path, body.rewards)
    return lambda journal: RewardManyAnswer(*task(journal))


def _check_batch(limits: LimitSettings, requests: list[Any]) -> None:
    if len(requests) > limits.batch:
        raise RefusedRequest(f"there are {len(requests)} requests in one; the limit is {limits.batch}")


def n_requests(body: Any) -> int:
    """How many requests a body holds, by which a key's rate counts."""
    if isinstance(body, DecideManyRequest):
        return max(1, len(body.decisions))
    return max(1, len(body.rewards)) if isinstance(body, RewardManyRequest) else 1


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


def _list(limits: LimitSettings, path: Path, body: None) -> Task:
    return lambda journal: [administering.status(journal, name) for name in journal.replica.policies]


OPERATIONS = [
    Operation("POST", f"{POLICY}/decide", "decide", "Choose an action", _decide, DecideRequest, DecideAnswer),
    Operation(
        "POST",
        f"{POLICY}/decide_many",
        "decide",
        "Choose several actions",
        _decide_many,
        DecideManyRequest,
        DecideManyAnswer,
    ),
    Operation("POST", f"{POLICY}/reward", "reward", "Reward a decision", _reward, RewardRequest, RewardAnswer),
    Operation(
        "POST",
        f"{POLICY}/reward_many",
        "reward",
        "Reward several decisions",
        _reward_many,
        RewardManyRequest,
        RewardManyAnswer,
    ),
    Operation(
        "POST",
        f"{POLICY}/activate",
        "decide",
        "Say that a decision was shown, or was not",
        lambda limits, path, body: lambda journal: rewarding.activate(journal, path["name"], body),
        ActivateRequest,
        ActivateAnswer,
    ),
    Operation(
        "GET",
        f"{POLICY}/explain/{{event_id}}",
        "admin",
        "Explain a decision",
        lambda limits, path, body: lambda journal: explaining.explain(journal, path["name"], path["event_id"]),
    ),
    Operation(
        "GET",
        f"{POLICY}/model",
        "admin",
        "Importance of columns, and one tree",
        lambda limits, path, body: lambda journal: model_view(journal, path["name"]),
    ),
    Operation("GET", "/v1/policies", "admin", "List the policies", _list),
    Operation(
        "GET",
        POLICY,
        "admin",
        "Settings and counts of a policy",
        lambda limits, path, body: lambda journal: administering.status(journal, path["name"]),
    ),
    Operation(
        "PUT",
        POLICY,
        "admin",
        "Create a policy",
        lambda limits, path, body: lambda journal: administering.create(journal, limits, path["name"], body),
        PolicySettings,
    ),
    Operation(
        "PATCH",
        POLICY,
        "admin",
        "Change settings of a policy",
        lambda limits, path, body: lambda journal: administering.change(journal, limits, path["name"], body),
        dict[str, Any],
    ),
    Operation(
        "DELETE",
        POLICY,
        "admin",
        "Delete a policy",
        lambda limits, path, body: lambda journal: administering.delete(journal, path["name"]),
    ),
    Operation(
        "POST",
        f"{POLICY}/pause",
        "admin",
        "Answer with the fallback action and learn nothing",
        lambda limits, path, body: lambda j: administering.change(j, limits, path["name"], {"is_paused": True}),
    ),
    Operation(
        "POST",
        f"{POLICY}/resume",
        "admin",
        "Decide and learn again",
        lambda limits, path, body: lambda j: administering.change(j, limits, path["name"], {"is_paused": False}),
    ),
    Operation(
        "POST",
        f"{POLICY}/clone",
        "admin",
        "Copy a policy with what it has learned",
        lambda limits, path, body: lambda journal: administering.clone(journal, limits, path["name"], body),
        administering.CloneRequest,
    ),
    Operation(
        "POST",
        f"{POLICY}/promote",
        "admin",
        "Exchange the models of a policy and its challenger",
        lambda limits, path, body: lambda journal: administering.promote(journal, path["name"], body),
        administering.PromoteRequest,
    ),
    Operation(
        "POST",
        f"{POLICY}/rollback",
        "admin",
        "Give a policy the model that it had after an earlier event",
        lambda limits, path, body: lambda journal: administering.roll_back(journal, path["name"], body),
        administering.RollBackRequest,
    ),
    Operation(
        "POST",
        f"{POLICY}/actions",
        "admin",
        "Add an action",
        lambda limits, path, body: lambda journal: administering.add_action(journal, limits, path["name"], body),
        administering.ActionRequest,
    ),
    Operation(
        "DELETE",
        f"{POLICY}/actions/{{action:path}}",
        "admin",
        "Remove an action",
        lambda limits, path, body: lambda journal: administering.remove_action(journal, path["name"], path["action"]),
    ),
    Operation(
        "GET",
        "/v1/digest",
        "admin",
        "Position in the log and SHA-256 of all policies",
        lambda limits, path, body: administering.digests,
    ),
]
