"""Loops over `decide` and `learn` themselves, for subclasses outside the package that override one of them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stumpery.policies.arguments import each_context
from stumpery.policies.records import ChosenActions
from stumpery.types import Context, Decision, Decisions, Floats, Integers

if TYPE_CHECKING:
    from stumpery.policies.policy import Policy


def decide_each(policy: "Policy", contexts: Any, n: int, available: NDArray[np.bool_]) -> Decisions:
    """Decide for n contexts, with one mask of available actions for all, or a row for each."""
    policy._infer_columns(contexts)
    masks = np.broadcast_to(available, (n, len(policy.actions)))
    rows = zip(each_context(contexts, n), masks, strict=True)
    decided = [decide_among(policy, context, mask) for context, mask in rows]
    probabilities = np.array([decision.probability for decision in decided])
    return Decisions([decision.action for decision in decided], probabilities, contexts)


def decide_among(policy: "Policy", context: Context, available: NDArray[np.bool_]) -> Decision:
    """Decide among the actions of a mask."""
    if available.all():
        return policy.decide(context)
    return policy.decide(context, available=[policy.actions[index] for index in np.flatnonzero(available).tolist()])


def learn_each(
    policy: "Policy",
    contexts: Any,
    actions: Integers,
    rewards: Floats,
    probabilities: Floats,
    weights: Floats | None,
) -> None:
    """Learn checked rewards one by one."""
    columns = actions.tolist(), probabilities.tolist(), each_context(contexts, len(actions)), rewards.tolist()
    for row, (index, probability, context, reward) in enumerate(zip(*columns, strict=True)):
        options = {} if weights is None else {"weight": float(weights[row])}
        policy.learn(Decision(policy.actions[index], probability, context), reward, **options)


def play_each(policy: "Policy", contexts: Any, rewards: Floats) -> ChosenActions:
    """Decide and learn along rows of which all rewards are known."""
    chosen = ChosenActions.empty(len(rewards))
    if len(rewards):
        policy._infer_columns(contexts)
    for row, context in enumerate(each_context(contexts, len(rewards))):
        decision = policy.decide(context)
        index, probability, _ = policy._checked_decision(decision)
        policy.learn(decision, float(rewards[row, index]))
        chosen.actions[row], chosen.probabilities[row] = index, probability
    return chosen
