"""Limits of what a request may name: actions, columns, texts, and the settings of a policy."""

import re
from collections.abc import Mapping
from typing import Any

from stumpery.options import shown
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.errors import RefusedRequest
from stumpery.service.events import Value
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.settings import LimitSettings, PolicySettings

MAX_RANKING = 1_000
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNKNOWN = object()


def check_request(request: DecideRequest, policy: PolicyReplica, limits: LimitSettings) -> None:
    """Refuse a request for a decision that cannot be made, or is beyond the limits."""
    context, available = request.context, request.available
    check_values("context", context or {}, limits)
    if not context and getattr(policy.model, "schema", UNKNOWN) is None and not policy.settings.is_paused:
        raise RefusedRequest(
            "the first context of a policy fixes its columns, and this one has none: "
            "send all columns in it, or declare `columns` in the policy's settings"
        )
    if available is not None:
        if not available:
            raise RefusedRequest("available is empty; at least one action is needed")
        if len(set(available)) < len(available):
            raise RefusedRequest("available names an action twice; actions must differ")
        for action in available:
            policy.model.position(action)
    if not 1 <= request.k <= MAX_RANKING:
        raise RefusedRequest(f"k is {request.k}; it must be a whole number from 1 to {MAX_RANKING}")
    check_length("event_id", request.event_id, limits)


def check_values(what: str, columns: Mapping[str, Value], limits: LimitSettings) -> None:
    """Refuse too many columns, and names and texts that are too long."""
    check_columns(what, columns, limits)
    for name, value in columns.items():
        if type(value) is str and len(value) > limits.text_length:
            raise RefusedRequest(f"column {name!r} has {len(value)} characters; the limit is {limits.text_length}")


def check_columns(what: str, columns: Mapping[str, Any], limits: LimitSettings) -> None:
    """Refuse too many columns, and names that are too long."""
    if len(columns) > limits.columns:
        raise RefusedRequest(f"{what} has {len(columns)} columns; the limit is {limits.columns}")
    for name in columns:
        if len(name) > limits.name_length:
            raise RefusedRequest(f"a column's name has {len(name)} characters; the limit is {limits.name_length}")


def check_length(what: str, name: str | None, limits: LimitSettings) -> None:
    """Refuse a name or an id that is empty or too long."""
    if name is not None and not 1 <= len(name) <= limits.name_length:
        raise RefusedRequest(f"{what} has {len(name)} characters; it must have 1 to {limits.name_length}")


def check_action_name(action: str, limits: LimitSettings) -> None:
    """Refuse the name of an action that is too long, or has line ends or other control characters."""
    check_length("action", action, limits)
    if CONTROL_CHARACTER.search(action):
        raise RefusedRequest(f"action is {shown(action)}; it must be a text without line ends and control characters")


def check_new_settings(settings: PolicySettings, limits: LimitSettings) -> None:
    """Refuse settings of a new policy; later its actions may come and go."""
    check_settings(settings, limits)
    for action in settings.actions:
        check_action_name(action, limits)
    _check_declared(settings, limits)
    for what, bounds in (("floors", settings.floors), ("ceilings", settings.ceilings)):
        unknown = sorted(bounds.keys() - set(settings.actions))
        if unknown and not settings.new_actions:
            raise RefusedRequest(f"{what} names {unknown[0]!r}, which is no action")
    if settings.ceilings.keys() >= set(settings.actions) and sum(settings.ceilings.values()) < 1.0:
        raise RefusedRequest(f"ceilings sum to {sum(settings.ceilings.values()):g}; they must sum to at least 1")


def _check_declared(settings: PolicySettings, limits: LimitSettings) -> None:
    """Refuse declared columns beyond the limits of those that are sent."""
    columns = settings.columns or {}
    check_columns("columns", columns, limits)
    for name, kind in columns.items():
        check_values(f"columns.{name}", {str(each): each for each in kind} if isinstance(kind, list) else {}, limits)
    features = settings.options.get("features")
    for action, own in features.items() if isinstance(features, dict) else ():
        check_values(f"features of {action!r}", own if isinstance(own, dict) else {}, limits)


def check_settings(settings: PolicySettings, limits: LimitSettings) -> None:
    """Refuse settings that do not fit together."""
    low, high = settings.reward_range
    if settings.default_reward is not None and not low <= settings.default_reward <= high:
        raise RefusedRequest(
            f"default_reward is {settings.default_reward:g}; it must be from {low:g} to {high:g}, or null"
        )
    for what, action in (("fallback", settings.fallback), ("baseline", settings.baseline)):
        if action is not None and action not in settings.actions:
            raise RefusedRequest(f"{what} is {action!r}; it must be one of the actions")
    if sum(settings.floors.values()) > 1.0:
        raise RefusedRequest(f"floors sum to {sum(settings.floors.values()):g}; they must sum to at most 1")
    for action, floor in settings.floors.items():
        if floor > settings.ceilings.get(action, 1.0):
            raise RefusedRequest(f"the floor of {action!r} is {floor:g}, above its ceiling")
    max_bytes = settings.options.get("max_bytes", 0)
    if isinstance(max_bytes, int) and max_bytes > limits.model_bytes:
        raise RefusedRequest(f"max_bytes is {max_bytes}; the limit of this site is {limits.model_bytes}")
    if len(settings.actions) > limits.actions:
        raise RefusedRequest(f"there are {len(settings.actions)} actions; the limit is {limits.actions}")
