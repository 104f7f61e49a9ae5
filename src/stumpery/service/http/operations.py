"""Operations of the HTTP interface: what each is called, who may ask for it, and what answers it."""

from typing import Any

from stumpery.service.dashboard.model_view import model_view
from stumpery.service.engine import administering, explaining, rewarding
from stumpery.service.engine.messages import DecideAnswer, DecideRequest
from stumpery.service.engine.rewarding import ActivateAnswer, ActivateRequest, RewardAnswer, RewardRequest
from stumpery.service.http.batches import (
    DecideManyAnswer,
    DecideManyRequest,
    RewardManyAnswer,
    RewardManyRequest,
    decide,
    decide_many,
    reward,
    reward_many,
)
from stumpery.service.http.operation import POLICY, Operation, Path, Task
from stumpery.service.settings import LimitSettings, PolicySettings


def _list(limits: LimitSettings, path: Path, body: None) -> Task:
    return lambda journal: [administering.status(journal, name) for name in journal.replica.policies]


OPERATIONS = [
    Operation("POST", f"{POLICY}/decide", "decide", "Choose an action", decide, DecideRequest, DecideAnswer),
    Operation(
        "POST",
        f"{POLICY}/decide_many",
        "decide",
        "Choose several actions",
        decide_many,
        DecideManyRequest,
        DecideManyAnswer,
    ),
    Operation("POST", f"{POLICY}/reward", "reward", "Reward a decision", reward, RewardRequest, RewardAnswer),
    Operation(
        "POST",
        f"{POLICY}/reward_many",
        "reward",
        "Reward several decisions",
        reward_many,
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
