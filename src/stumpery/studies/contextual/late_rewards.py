"""Simulation of rewards that are late: decisions are made on while their rewards are under way."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stumpery.evaluation.events import Progress, first_events
from stumpery.policies.policy import Policy
from stumpery.types import Decisions, Floats, Integers, Stream

BLOCK_EVENTS = 250  # decided together, and at most a tenth of the delay
CLICK_SHARE = 10  # clicks take this part of the delay on average, after which "no click" is assumed

Arrivals = Callable[[np.random.Generator, Floats, int], Floats]


def in_order(rng: np.random.Generator, rewards: Floats, delay: int) -> Floats:
    """All rewards take the same time."""
    return np.full(len(rewards), float(delay))


def in_random_order(rng: np.random.Generator, rewards: Floats, delay: int) -> Floats:
    """Rewards take between nothing and twice the delay."""
    return rng.integers(0, 2 * delay + 1, len(rewards)).astype(np.float64)


def exponential(rng: np.random.Generator, rewards: Floats, delay: int) -> Floats:
    """Rewards take an exponentially distributed time."""
    return np.ceil(rng.exponential(max(delay, 1), len(rewards)))


def early_clicks(rng: np.random.Generator, rewards: Floats, delay: int) -> Floats:
    """Rewards above 0 come early, those of 0 are assumed after the delay."""
    clicks = np.minimum(np.ceil(rng.exponential(max(delay / CLICK_SHARE, 1.0), len(rewards))), delay)
    return np.where(rewards > 0.0, clicks, float(delay))


ORDERS: dict[str, Arrivals] = {
    "in order": in_order,
    "random order": in_random_order,
    "exponential": exponential,
    "early clicks": early_clicks,
}


class Waiting(NamedTuple):
    """Decisions whose rewards are under way."""

    due: Floats
    rows: Integers


def play_late(
    policy: Policy, stream: Stream, *, steps: int, delay: int, order: str, seed: int, progress: Progress
) -> Floats:
    """The rewards that a policy earns, event by event, where it learns each `delay` events later."""
    batch = next(first_events(stream.batches(seed=seed, size=steps), steps))
    if delay == 0:
        actions = policy.play(batch.contexts, batch.rewards).actions
        progress(steps)
        return np.asarray(batch.rewards[np.arange(steps), actions])
    rng, index = np.random.default_rng(seed), {action: index for index, action in enumerate(policy.actions)}
    chosen, probabilities, earned = np.zeros(steps, np.int64), np.zeros(steps), np.zeros(steps)
    waiting = Waiting(np.zeros(0), np.zeros(0, np.int64))
    size = max(min(BLOCK_EVENTS, delay // 10), 1)
    for start in range(0, steps, size):
        rows = np.arange(start, min(start + size, steps))
        decisions = policy.decide_many(batch.contexts[start : start + size])
        chosen[rows] = [index[action] for action in decisions.actions]
        probabilities[rows] = decisions.probabilities
        earned[rows] = batch.rewards[rows, chosen[rows]]
        due = rows + ORDERS[order](rng, earned[rows], delay)
        waiting = Waiting(np.append(waiting.due, due), np.append(waiting.rows, rows))
        has_come = waiting.due <= rows[-1]
        now = waiting.rows[has_come][np.argsort(waiting.due[has_come], kind="stable")]
        waiting = Waiting(waiting.due[~has_come], waiting.rows[~has_come])
        if len(now):
            names = [policy.actions[action] for action in chosen[now].tolist()]
            policy.learn_many(Decisions(names, probabilities[now], batch.contexts[now]), earned[now])
        progress(len(rows))
    return earned
