"""Administration: policies created, changed, cloned, deleted; actions added and removed."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from stumpery.service.engine.deciding import check_new_action
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.limits import check_new_settings, check_settings
from stumpery.service.errors import RefusedRequest, RequestConflict, TooManyRequests, UnknownName
from stumpery.service.events import (
    ActionAdded,
    ActionRemoved,
    PolicyChanged,
    PolicyCreated,
    PolicyDeleted,
    PolicyPromoted,
    PolicyRolledBack,
    Value,
)
from stumpery.service.replica.models import digest_of, new_model
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.settings import LimitSettings, Name, PolicySettings, changed, converted

FIXED = ("actions", "kind", "options", "columns", "seed", "reward_range")  # what a policy keeps


class CloneRequest(Struct, forbid_unknown_fields=True):
    """The name of a copy, with what was learned; it may be the shadow of a policy."""

    name: Name
    shadow_of: Name | None = None


class PromoteRequest(Struct, forbid_unknown_fields=True):
    """The policy to promote; without `force` only where its estimate is above what was served, with certainty."""

    challenger: Name
    force: bool = False


class RollBackRequest(Struct, forbid_unknown_fields=True):
    """The number of an event: a policy's `version` at some time, or the number of a snapshot."""

    number: int


class ActionRequest(Struct, forbid_unknown_fields=True):
    """A new action, and what it is like, for policies that learn from features of actions."""

    action: str
    features: dict[str, Value] | None = None


def create(journal: Journal, limits: LimitSettings, name: str, settings: PolicySettings) -> dict[str, Any]:
    """Create a policy; a policy of that name with the same settings is left as it is."""
    converted(name, Name, "the name of a policy")
    existing = journal.replica.policies.get(name)
    if existing is not None:
        if existing.settings != settings:
            raise RequestConflict(f"there is a policy {name!r} with other settings already")
        return status(journal, name)
    if len(journal.replica.policies) >= limits.policies:
        raise TooManyRequests(f"there are {limits.policies} policies, which is the limit")
    check_new_settings(settings, limits)
    _check_shadow(journal, name, settings)
    _check_columns(settings, new_model(settings))
    journal.add(name, None, PolicyCreated(settings))
    return status(journal, name)


def change(journal: Journal, limits: LimitSettings, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings of a policy, from the next decision on."""
    settings = journal.replica.policy(name).settings
    new = changed(settings, changes)
    for each in FIXED:
        if getattr(new, each) != getattr(settings, each):
            raise RefusedRequest(f"{each} of a policy stays as it is; create another policy, or add and remove actions")
    check_settings(new, limits)
    _check_shadow(journal, name, new)
    if new != settings:
        journal.add(name, None, PolicyChanged(new))
    return status(journal, name)


def clone(journal: Journal, limits: LimitSettings, name: str, request: CloneRequest) -> dict[str, Any]:
    """Copy a policy with what it has learned, but not its open decisions."""
    settings = msgspec.structs.replace(journal.replica.policy(name).settings, shadow_of=request.shadow_of)
    if request.name in journal.replica.policies:
        raise RequestConflict(f"there is a policy {request.name!r} already")
    if len(journal.replica.policies) >= limits.policies:
        raise TooManyRequests(f"there are {limits.policies} policies, which is the limit")
    _check_shadow(journal, request.name, settings)
    journal.add(request.name, None, PolicyCreated(settings, copy_of=name))
    return status(journal, request.name)


def delete(journal: Journal, name: str) -> dict[str, Any]:
    """Delete a policy and its open decisions; its events stay in the log."""
    last = status(journal, name)
    journal.add(name, None, PolicyDeleted())
    return last


def promote(journal: Journal, name: str, request: PromoteRequest) -> dict[str, Any]:
    """Exchange the models of a policy and its challenger; a second time takes it back."""
    champion, challenger = journal.replica.policy(name), journal.replica.policy(request.challenger)
    if name == request.challenger:
        raise RefusedRequest(f"policy {name!r} is its own challenger; name another policy")
    if champion.settings.reward_range != challenger.settings.reward_range:
        raise RefusedRequest(f"{name!r} and {request.challenger!r} have different ranges of rewards")
    estimate = champion.estimates.shadows.get(request.challenger)
    interval = None if estimate is None else estimate.difference.interval()
    if not request.force and (interval is None or interval[0] <= 0.0):
        found = (
            "there is no estimate yet"
            if interval is None
            else f"its interval is {interval[0]:.4g} to {interval[1]:.4g}"
        )
        raise RequestConflict(
            f"it is not certain that {request.challenger!r} is better: {found}; force promotes it anyway"
        )
    journal.add(name, None, PolicyPromoted(request.challenger))
    return status(journal, name)


def roll_back(journal: Journal, name: str, request: RollBackRequest) -> dict[str, Any]:
    """Give a policy the model that it had after an earlier event."""
    journal.replica.policy(name)
    first, (last, _) = journal.log.first(), journal.log.last()
    if not first <= request.number <= last:
        raise RefusedRequest(f"number is {request.number}; it must be from {first} to {last}")
    journal.log.take_time()
    if name not in journal.replica.earlier(request.number).policies:
        raise UnknownName(f"there was no policy {name!r} after event {request.number}")
    journal.add(name, None, PolicyRolledBack(request.number))
    return status(journal, name)


def add_action(journal: Journal, limits: LimitSettings, name: str, request: ActionRequest) -> dict[str, Any]:
    """Add an action to a policy."""
    policy = journal.replica.policy(name)
    check_new_action(policy, limits, name, request.action, request.features)
    journal.add(name, None, ActionAdded(request.action, request.features))
    return status(journal, name)


def remove_action(journal: Journal, name: str, action: str) -> dict[str, Any]:
    """Remove an action of a policy; rewards of its earlier decisions are recorded, but not learned."""
    policy = journal.replica.policy(name)
    policy.model.position(action)
    for what in ("fallback", "baseline"):
        if getattr(policy.settings, what) == action:
            raise RequestConflict(f"{action!r} is the {what} of policy {name!r}; change {what} before it is removed")
    if len(policy.settings.actions) == 1:
        raise RefusedRequest(f"{action!r} is the only action left; a policy needs at least one")
    journal.add(name, None, ActionRemoved(action))
    return status(journal, name)


def status(journal: Journal, name: str) -> dict[str, Any]:
    """The settings of a policy and what it has seen."""
    policy = journal.replica.policy(name)
    settings = msgspec.to_builtins(policy.settings)
    return {"name": name, "settings": settings, **figures(policy), "estimates": policy.estimates.shown()}


def figures(policy: PolicyReplica) -> dict[str, Any]:
    """Counts of events of a policy, and its size."""
    counts = {each.replace(" ", "_"): n for each, n in policy.counts.items()}
    return {
        "version": policy.version,
        **counts,
        "open_decisions": len(policy.open),
        "model_bytes": policy.model.n_bytes,
    }


def digests(journal: Journal) -> dict[str, Any]:
    """The position in the log, and the SHA-256 of the site and of each model."""
    replica = journal.replica
    whole = replica.digest()
    models = {name: digest_of(policy.model) for name, policy in replica.policies.items()}
    return {"number": replica.number, "time": replica.time, "digest": whole, "models": models}


def _check_shadow(journal: Journal, name: str, settings: PolicySettings) -> None:
    if settings.shadow_of is None:
        return
    champion = journal.replica.policy(settings.shadow_of)
    if settings.shadow_of == name:
        raise RefusedRequest(f"shadow_of is {name!r}; it must be another policy")
    if champion.settings.reward_range != settings.reward_range:
        raise RefusedRequest(f"a shadow has the range of rewards of {settings.shadow_of!r}")


def _check_columns(settings: PolicySettings, model: Any) -> None:
    """Refuse a kind that cannot learn its columns from its first request, where none are declared."""
    if getattr(model, "needs_sample", False) and model.schema is None:
        raise RefusedRequest(
            f"a {settings.kind} cannot learn its columns from one request; declare `columns` in its settings"
        )
