"""The wire format of Azure Personalizer: Rank, Reward and Activate as its clients send them, on a policy of ours.

Features are nested objects and lists there, and columns here: {"user": {"age": 3}} is the column `user.age`. An action
that the policy has not seen is added with its features, which stay as they are then.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stumpery.errors import StumperyError
from stumpery.service.engine import administering, deciding, rewarding
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.limits import MAX_RANKING
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.engine.rewarding import ActivateRequest, RewardRequest
from stumpery.service.errors import RefusedRequest, status_of
from stumpery.service.events import Value
from stumpery.service.http.bodies import decoded_body, read_body
from stumpery.service.http.headers import HEADERS
from stumpery.service.http.replicas import check_role
from stumpery.service.http.security import Keys
from stumpery.service.settings import LimitSettings, PolicySettings, Right

PERSONALIZER = "personalizer"  # the policy
RANK_PATH = "/personalizer/v1.0/rank"
EVENT_PATH = "/personalizer/v1.0/events/{event}"
KEY_HEADER = "ocp-apim-subscription-key"
CODES = {400: "BadRequest", 401: "InvalidApiKey", 403: "InvalidApiKey", 404: "ResourceNotFound", 409: "EventIdConflict"}
MAX_NESTING = 8
Task = Callable[[Journal], Any]
Reply = Callable[[Any], Response]


class RankableAction(Struct):
    """An action of a Rank request, and its features."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    features: list[dict[str, Any]] = []


class RankRequest(Struct, rename="camel"):
    """A Rank request."""

    actions: Annotated[list[RankableAction], Meta(min_length=1)]
    context_features: list[dict[str, Any]] = []
    excluded_actions: list[str] = []
    event_id: str = field(default_factory=lambda: secrets.token_hex(16))
    defer_activation: bool = False


class PersonalizerReward(Struct):
    """A Reward request."""

    value: float


def personalizer_routes(engine: Engine, keys: Keys) -> list[Route]:
    """Rank, Reward and Activate."""
    limits = engine.settings.limits

    async def rank_actions(request: Request) -> Response:
        body = await _body(request, RankRequest, limits)
        return await _answer(request, "decide", body.event_id, lambda journal: rank(journal, limits, body), _ranked)

    async def reward(request: Request) -> Response:
        body = await _body(request, PersonalizerReward, limits)
        event = request.path_params["event"]
        asked = RewardRequest(event_id=event, value=body.value)
        task = partial(rewarding.reward, limits=limits, name=PERSONALIZER, request=asked)
        return await _answer(request, "reward", event, task, _no_content)

    async def activate(request: Request) -> Response:
        event = request.path_params["event"]
        task = partial(rewarding.activate, name=PERSONALIZER, request=ActivateRequest(event_id=event))
        return await _answer(request, "decide", event, task, _no_content)

    async def _answer(request: Request, right: Right, event: str, task: Task, reply: Reply) -> Response:
        key = request.headers.get(KEY_HEADER)
        keys.check(f"Bearer {key}" if key else request.headers.get("authorization"), right)
        check_role(engine.settings, right)
        return reply(await engine.submit(task, decisions=[(PERSONALIZER, event)]))

    return [
        Route(RANK_PATH, _in_its_words(rank_actions), methods=["POST"]),
        Route(f"{EVENT_PATH}/reward", _in_its_words(reward), methods=["POST"]),
        Route(f"{EVENT_PATH}/activate", _in_its_words(activate), methods=["POST"]),
    ]


def rank(journal: Journal, limits: LimitSettings, request: RankRequest) -> dict[str, Any]:
    """Decide among the actions of a Rank request; new ones are added to the policy."""
    ids = [action.id for action in request.actions]
    if len(set(ids)) < len(ids):
        raise RefusedRequest("actions have an id twice; ids must differ")
    excluded = set(request.excluded_actions)
    available = [each for each in ids if each not in excluded]
    if not available:
        raise RefusedRequest("all actions are excluded; at least one must be left")
    _add_new_actions(journal, limits, request.actions)
    asked = DecideRequest(
        context=_context(journal, request),
        available=available,
        k=min(len(available), MAX_RANKING),
        event_id=request.event_id,
        deferred=request.defer_activation,
    )
    answer = deciding.decide(journal, limits, PERSONALIZER, asked)
    others = [each for each in answer.ranking if each.action != answer.action]
    ranking = [{"id": answer.action, "probability": answer.probability}]
    ranking += [{"id": each.action, "probability": each.probability} for each in others]
    ranking += [{"id": each, "probability": 0.0} for each in ids if each in excluded]
    return {"ranking": ranking, "eventId": request.event_id, "rewardActionId": answer.action}


def _context(journal: Journal, request: RankRequest) -> dict[str, Value] | None:
    """The columns of the context; without any, all of those that the policy knows are missing."""
    model: Any = journal.replica.policies[PERSONALIZER].model
    return _columns(request.context_features) or (None if model.schema is None else {})


def _add_new_actions(journal: Journal, limits: LimitSettings, actions: list[RankableAction]) -> None:
    policy = journal.replica.policies.get(PERSONALIZER)
    if policy is None:
        features = {action.id: _columns(action.features) for action in actions}
        options = {"features": features} if any(features.values()) else {}
        settings = PolicySettings(actions=tuple(features), options=options)
        administering.create(journal, limits, PERSONALIZER, settings)
        return
    known = set(policy.settings.actions)
    for action in actions:
        if action.id not in known:
            own = _columns(action.features) if _takes_features(policy.model) else {}
            request = administering.ActionRequest(action.id, own or None)
            administering.add_action(journal, limits, PERSONALIZER, request)


def _takes_features(model: Any) -> bool:
    return bool(getattr(model, "features", None))


def _columns(features: list[dict[str, Any]]) -> dict[str, Value]:
    """Nested features as columns; a text in a list becomes a column of its own that is true."""
    return {name: value for each in features for name, value in _flat("", each, MAX_NESTING)}


def _flat(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Value]]:
    if depth == 0:
        raise RefusedRequest(f"features are nested more than {MAX_NESTING} deep")
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else name, inner, depth - 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, str):
                yield f"{prefix}.{inner}", True
            else:
                yield from _flat(f"{prefix}.{index}", inner, depth - 1)
    else:
        yield prefix, value


async def _body(request: Request, kind: Any, limits: LimitSettings) -> Any:
    return decoded_body(await read_body(request, limits.body_bytes), kind)


def _ranked(result: Any) -> Response:
    return Response(msgspec.json.encode(result), 201, HEADERS, "application/json")


def _no_content(_: Any) -> Response:
    return Response(None, 204, HEADERS)


def _in_its_words(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, with errors as Personalizer's clients read them."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except StumperyError as error:
            status = status_of(error)
            content = {"error": {"code": CODES.get(status, "ServiceError"), "message": str(error)}}
            return Response(msgspec.json.encode(content), status, HEADERS, "application/json")

    return answer
