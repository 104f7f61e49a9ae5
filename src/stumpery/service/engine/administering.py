"""Administration: policies created, changed, cloned, deleted; actions added and removed."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from stumpery.service.engine.journal import Journal
from stumpery.service.errors import RefusedRequest, RequestConflict, TooManyRequests
from stumpery.service.events import ActionAdded, ActionRemoved, PolicyChanged, PolicyCreated, PolicyDeleted, Value
from stumpery.service.replica.models import digest_of, new_model
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.settings import LimitSettings, Name, PolicySettings, changed, converted

FIXED = ("actions", "kind", "options", "columns", "seed", "reward_range")  # what a policy keeps


class CloneRequest(Struct, forbid_unknown_fields=True):
    """The name of a copy, with what was learned."""

    name: Name


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
    check(settings, limits)
    new_model(settings)
    journal.add(name, None, PolicyCreated(settings))
    return status(journal, name)


def change(journal: Journal, limits: LimitSettings, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings of a policy, from the next decision on."""
    settings = journal.replica.policy(name).settings
    new = changed(settings, changes)
    for each in FIXED:
        if getattr(new, each) != getattr(settings, each):
            raise RefusedRequest(f"{each} of a policy stays as it is; create another policy, or add and remove actions")
    check(new, limits)
    if new != settings:
        journal.add(name, None, PolicyChanged(new))
    return status(journal, name)


def clone(journal: Journal, limits: LimitSettings, name: str, request: CloneRequest) -> dict[str, Any]:
    """Copy a policy with what it has learned, but not its open decisions."""
    settings = journal.replica.policy(name).settings
    if request.name in journal.replica.policies:
        raise RequestConflict(f"there is a policy {request.name!r} already")
    if len(journal.replica.policies) >= limits.policies:
        raise TooManyRequests(f"there are {limits.policies} policies, which is the limit")
    journal.add(request.name, None, PolicyCreated(settings, copy_of=name))
    return status(journal, request.name)


def delete(journal: Journal, name: str) -> dict[str, Any]:
    """Delete a policy and its open decisions; its events stay in the log."""
    last = status(journal, name)
    journal.add(name, None, PolicyDeleted())
    return last


def add_action(journal: Journal, limits: LimitSettings, name: str, request: ActionRequest) -> dict[str, Any]:
    """Add an action to a policy."""
    policy = journal.replica.policy(name)
    if not 1 <= len(request.action) <= limits.name_length:
        raise RefusedRequest(f"action has {len(request.action)} characters; it must have 1 to {limits.name_length}")
    if request.action in policy.settings.actions:
        raise RequestConflict(f"policy {name!r} has the action {request.action!r} already")
    if len(policy.settings.actions) >= limits.actions:
        raise TooManyRequests(f"policy {name!r} has {limits.actions} actions, which is the limit")
    if request.features is not None and not hasattr(policy.model, "features"):
        raise RefusedRequest(f"a {policy.settings.kind} takes no features of actions")
    journal.add(name, None, ActionAdded(request.action, request.features))
    return status(journal, name)


def remove_action(journal: Journal, name: str, action: str) -> dict[str, Any]:
    """Remove an action of a policy; rewards of its earlier decisions are recorded, but not learned."""
    policy = journal.replica.policy(name)
    policy.model.position(action)
    if len(policy.settings.actions) == 1:
        raise RefusedRequest(f"{action!r} is the only action left; a policy needs at least one")
    journal.add(name, None, ActionRemoved(action))
    return status(journal, name)


def status(journal: Journal, name: str) -> dict[str, Any]:
    """The settings of a policy and what it has seen."""
    policy = journal.replica.policy(name)
    return {"name": name, "settings": msgspec.to_builtins(policy.settings), **figures(policy)}


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


def check(settings: PolicySettings, limits: LimitSettings) -> None:
    """Refuse settings that do not fit together."""
    low, high = settings.reward_range
    if settings.default_reward is not None and not low <= settings.default_reward <= high:
        raise RefusedRequest(
            f"default_reward is {settings.default_reward:g}; it must be from {low:g} to {high:g}, or null"
        )
    if settings.fallback is not None and settings.fallback not in settings.actions:
        raise RefusedRequest(f"fallback is {settings.fallback!r}; it must be one of the actions")
    if len(settings.actions) > limits.actions:
        raise RefusedRequest(f"there are {len(settings.actions)} actions; the limit is {limits.actions}")
