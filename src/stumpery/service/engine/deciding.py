"""Deciding: probabilities of the actions, a draw that can be drawn again, and the event that records it."""

import secrets
from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from stumpery.errors import InvalidInput
from stumpery.service import events
from stumpery.service.engine.drawing import bounded, chosen, explored, uniform, with_control
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.limits import check_action_name, check_request, check_values
from stumpery.service.engine.messages import CandidateAction, DecideAnswer, DecideRequest, RankedAction
from stumpery.service.errors import RefusedRequest, RequestConflict, TooManyRequests
from stumpery.service.events import ActionAdded, DecisionMade, Value
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.settings import LimitSettings

CONTROL = "control"


def decide(journal: Journal, limits: LimitSettings, name: str, request: DecideRequest) -> DecideAnswer:
    """Decide, and add the decision to the journal; a request with a known id gets its first answer again."""
    policy = journal.replica.policy(name)
    asked = None
    if request.event_id is not None:
        asked = _hash_of(request)
        earlier = _earlier(journal, name, policy, request.event_id)
        if earlier is not None:
            return _repeated(request.event_id, earlier, asked)
    if len(policy.open) >= limits.open_decisions:
        raise TooManyRequests(f"policy {name!r} has {len(policy.open)} open decisions, which is the limit")
    if request.actions is not None:
        request = _with_actions(journal, limits, name, request, request.actions)
    check_request(request, policy, limits)
    made = _made(journal, policy, request, asked)
    event = request.event_id or secrets.token_hex(16)
    journal.add(name, event, made)
    return _answer(event, made)


def _with_actions(
    journal: Journal, limits: LimitSettings, name: str, request: DecideRequest, candidates: list[CandidateAction]
) -> DecideRequest:
    """The request by the names of its actions; new ones are added, after all else was checked."""
    policy = journal.replica.policy(name)
    names = [each.action for each in candidates]
    new = [each for each in candidates if each.action not in policy.settings.actions]
    known = [each for each in names if each in policy.settings.actions]
    if len(set(names)) < len(names):
        raise RefusedRequest("actions name an action twice; actions must differ")
    if new and not policy.settings.new_actions:
        policy.model.position(new[0].action)  # says which there are
    available = names if request.available is None else request.available
    if not set(available) <= set(names):
        raise RefusedRequest("available names an action that is not among the request's actions")
    plain = msgspec.structs.replace(request, actions=None, available=known or None)
    check_request(plain, policy, limits)
    for each in new:
        check_new_action(policy, limits, name, each.action, each.features)
    if new:
        probabilities_of(policy, plain)  # refuses a context that does not fit, before anything is added
    for each in new:
        journal.add(name, None, ActionAdded(each.action, each.features))
    return msgspec.structs.replace(plain, available=available)


def check_new_action(
    policy: PolicyReplica, limits: LimitSettings, name: str, action: str, features: Mapping[str, Value] | None
) -> None:
    """Refuse an action that cannot be added."""
    check_action_name(action, limits)
    if action in policy.settings.actions:
        raise RequestConflict(f"policy {name!r} has the action {action!r} already")
    if len(policy.settings.actions) >= limits.actions:
        raise TooManyRequests(f"policy {name!r} has {limits.actions} actions, which is the limit")
    if features is not None and not hasattr(policy.model, "features"):
        raise RefusedRequest(f"a {policy.settings.kind} takes no features of actions")
    check_values(f"features of {action!r}", features or {}, limits)


class Draw(NamedTuple):
    """An action that was drawn: its position, and the probabilities with which each was.

    `imitation` is the action and probability that an apprentice would have taken.
    """

    actions: list[str]
    probabilities: list[float]
    position: int
    draw: float
    group: str | None
    imitation: tuple[str, float] | None


def drawn(policy: PolicyReplica, request: DecideRequest, number: int) -> Draw:
    """Draw an action for the event of that number: the same each time, by what the policy has learned."""
    settings = policy.settings
    actions, own = probabilities_of(policy, request)
    draw = uniform(settings.seed, number)
    index, shown, group, imitation = chosen(own, draw), own, None, None
    if settings.mode == "apprentice" and not settings.is_paused:
        baseline = actions.index(baseline_of(policy, request))
        imitation = (actions[index], own[index])
        index, shown, group = baseline, [float(each == baseline) for each in range(len(actions))], CONTROL
    elif settings.control and not settings.is_paused:
        baseline = actions.index(baseline_of(policy, request))
        shown = with_control(own, baseline, settings.control)
        if uniform(settings.seed, number, CONTROL) < settings.control:
            index, group = baseline, CONTROL
    return Draw(actions, shown, index, draw, group, imitation)


def _made(journal: Journal, policy: PolicyReplica, request: DecideRequest, asked: str | None) -> DecisionMade:
    """The decision that a request leads to."""
    actions, shown, index, draw, group, imitation = drawn(policy, request, journal.next_number)
    ranked = sorted(range(len(actions)), key=shown.__getitem__, reverse=True)[: request.k]
    return DecisionMade(
        context=request.context,
        action=actions[index],
        probability=shown[index],
        draw=draw,
        version=policy.version,
        until=journal.time + round(1000 * policy.settings.wait_s),
        ranking=[(actions[each], shown[each]) for each in ranked],
        available=request.available,
        asked=asked,
        is_deferred=request.deferred,
        group=group,
        imitation=imitation,
        shadows=_shadows(policy, request, actions, actions[index]) if policy.followers else {},
    )


def _shadows(policy: PolicyReplica, request: DecideRequest, actions: list[str], action: str) -> dict[str, float]:
    """The probability with which each shadow policy would have taken the action."""
    found = {}
    for name, shadow in policy.followers.items():
        own = [each for each in actions if each in shadow.settings.actions]
        if not shadow.counts["learned"] or action not in own:
            continue
        try:
            _, probabilities = probabilities_of(shadow, msgspec.structs.replace(request, available=own))
        except InvalidInput:  # its columns are of other kinds
            continue
        found[name] = probabilities[own.index(action)]
    return found


def probabilities_of(policy: PolicyReplica, request: DecideRequest) -> tuple[list[str], list[float]]:
    """The actions to choose from, and the probability of each; the policy stays as it is."""
    settings = policy.settings
    actions = list(settings.actions if request.available is None else request.available)
    if settings.is_paused:
        fallback = fallback_of(policy, request)
        return actions, [float(action == fallback) for action in actions]
    every = policy.model.probabilities(request.context, available=request.available).tolist()
    position = policy.model.position
    own = every if request.available is None else [every[position(action)] for action in actions]
    mixed = explored(own, settings.exploration)
    if settings.floors or settings.ceilings:
        mixed = bounded(actions, mixed, settings.floors, settings.ceilings)
    return actions, mixed


def baseline_of(policy: PolicyReplica, request: DecideRequest) -> str:
    """The action of the control group and of an apprentice's master: the setting, or the caller's first one."""
    actions = policy.settings.actions if request.available is None else request.available
    baseline = policy.settings.baseline
    return baseline if baseline is not None and baseline in actions else actions[0]


def fallback_of(policy: PolicyReplica, request: DecideRequest) -> str:
    """The action that is chosen without the model."""
    actions = policy.settings.actions if request.available is None else request.available
    fallback = policy.settings.fallback
    return fallback if fallback is not None and fallback in actions else actions[0]


def fallback_answer(policy: PolicyReplica, request: DecideRequest) -> DecideAnswer:
    """The answer where the log cannot be written: the fallback action, which takes no reward."""
    return DecideAnswer(request.event_id, fallback_of(policy, request), 1.0, policy.version, fallback=True)


def _hash_of(request: DecideRequest) -> str:
    return blake2b(msgspec.json.encode(request, order="sorted"), digest_size=16).hexdigest()


def _earlier(journal: Journal, name: str, policy: PolicyReplica, event: str) -> DecisionMade | None:
    """The decision with this id, if there is one."""
    decision = policy.open.decisions.get(event)
    if decision is not None and decision.content:
        return decision.made()
    found = [events.decoded(row.content) for row in journal.find(name, event)]
    return next((each for each in found if isinstance(each, DecisionMade)), None)


def _repeated(event: str, earlier: DecisionMade, asked: str) -> DecideAnswer:
    if earlier.asked != asked:
        raise RequestConflict(f"decision {event!r} was made for another request; an id names one decision")
    return _answer(event, earlier, repeated=True)


def _answer(event: str, made: DecisionMade, *, repeated: bool = False) -> DecideAnswer:
    ranking = [RankedAction(action, probability) for action, probability in made.ranking]
    return DecideAnswer(event, made.action, made.probability, made.version, ranking, repeated)
