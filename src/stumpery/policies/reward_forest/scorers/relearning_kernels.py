"""Relearning at the start: the linear scorers and the ridge scorer learn all stored events anew with new bins.

The first bins of numbers, their means and their scales come from a few events and change most while these are few. So
when bins are checked (after 12, 24, 48, ... events), weights are reset, and all events so far are learned once more in
their order: with the new bins, and standardised by the moments that are known by now. The scorers are as if they had
known both from the first event on.

That ends after MAX_RELEARNED_EVENTS events, since bins change little then, and where a row has so many pairs of codes
that it would take more than MAX_RELEARNED_STEPS weights. It needs all events in the ring, and their categories: those
without a code leave none there.
"""

from typing import TYPE_CHECKING

import numpy as np

from stumpery.array_forest.forest_kernels import Float32s, Int32s
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers import ridge_kernels as ridges
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers
from stumpery.policies.reward_forest.scorers.ridge_kernels import RidgeScorer
from stumpery.policies.reward_forest.scorers.scorers_kernels import FAST_LINEAR_RATE, LINEAR_RATE, QUADRATIC_RATE
from stumpery.policies.reward_forest.trees import ring_kernels as rings
from stumpery.policies.reward_forest.trees.ring_kernels import EVENT_ACTION, EVENT_REWARD, Ring
from stumpery.types import Floats

if TYPE_CHECKING:
    from stumpery.policies.reward_forest.policy_kernels import RewardForestState, RewardForestWorkspace

MAX_RELEARNED_EVENTS = 800
MAX_RELEARNED_STEPS = 1 << 22


@internal
def is_relearned(state: "RewardForestState", time: float, first: int, end: int, n_pairs: int) -> bool:
    """Whether the events so far, whose numbers go from `first` to `end`, are learned anew."""
    if time > MAX_RELEARNED_EVENTS or time * n_pairs > MAX_RELEARNED_STEPS or state.categories.hashes.shape[0] > 0:
        return False
    return first == 0 and end == int(time)


@internal
def read_row(ring: Ring, event: int, row: Floats) -> int:
    """Write a stored event's row into `row`, in place, and return its action, below 0 if that was removed."""
    for column in range(row.shape[0]):
        row[column] = rings.value_of(ring, event, column)
    return int(ring.floats[event, EVENT_ACTION])


@internal
def score_of(linear: Float32s, slots: Int32s, n: int, action: int) -> float:
    """The score of n slots for an action."""
    score = 0.0
    for index in range(n):
        score += np.float64(linear[slots[index], scorers.SLOT_WEIGHT, action])
    return score


@internal
def reset_slots(linear: Float32s, slots: Int32s, n: int) -> None:
    """Set the weights and histories of n slots to 0, in place."""
    for index in range(n):
        for action in range(linear.shape[2]):
            linear[slots[index], scorers.SLOT_WEIGHT, action] = np.float32(0.0)
            linear[slots[index], scorers.SLOT_HISTORY, action] = np.float32(0.0)


@internal
def reset_linear(state: "RewardForestState", work: "RewardForestWorkspace", n_events: int) -> None:
    """Reset all weights that the first events have touched with the present bins, in place."""
    for event in range(n_events):
        read_row(state.ring, event, work.row)
        n = scorers.fill_codes(work.row, state.forest.kinds, state.edges, work.codes)
        reset_slots(state.linear, work.codes, n)
        reset_slots(state.fast_linear, work.codes, n)
        n_pairs = scorers.fill_pairs(state.quadratic, work.codes, n, work.slots)
        reset_slots(state.quadratic, work.slots, n_pairs)


@internal
def reset_ridge(ridge: RidgeScorer) -> None:
    """Reset moments, weights and inverses to those before the first event, in place; features keep their indices."""
    for column in range(ridge.columns.shape[0]):
        ridge.scales[column] = 0.0
        for field in range(ridge.columns.shape[1]):
            ridge.columns[column, field] = 0.0
    for action in range(ridge.inverses.shape[0]):
        for index in range(ridge.n_used[0]):
            ridge.weights[index, action] = 0.0
            for other in range(ridge.n_used[0]):
                ridge.inverses[action, index, other] = 0.0
            ridge.inverses[action, index, index] = 1.0 / ridges.RIDGE


@internal
def learn_linear(
    state: "RewardForestState", work: "RewardForestWorkspace", action: int, reward: float, scale: float
) -> None:
    """Let the linear scorers learn the row in `work`, each from its own error, in place."""
    codes, slots, rates = work.codes, work.slots, work.rates
    n = scorers.fill_codes(work.row, state.forest.kinds, state.edges, codes)
    error = reward - score_of(state.linear, codes, n, action)
    scorers.averaging_step(state.linear, codes, n, rates, action, error, LINEAR_RATE)
    error = reward - score_of(state.fast_linear, codes, n, action)
    scorers.adagrad_step(state.fast_linear, codes, n, rates, action, error, FAST_LINEAR_RATE, scale)
    n_pairs = scorers.fill_pairs(state.quadratic, codes, n, slots)
    error = reward - score_of(state.quadratic, slots, n_pairs, action)
    scorers.averaging_step(state.quadratic, slots, n_pairs, rates, action, error, QUADRATIC_RATE)


@internal
def relearn(state: "RewardForestState", work: "RewardForestWorkspace", n_events: int, mean_codes: float) -> None:
    """Learn the first events anew, in place; `work.row` is overwritten."""
    ridge, kinds = state.ridge, state.forest.kinds
    reset_ridge(ridge)
    for event in range(n_events):
        read_row(state.ring, event, work.row)
        ridges.observe(ridge, work.row, kinds)
    for event in range(n_events):
        action = read_row(state.ring, event, work.row)
        if action < 0:
            continue
        reward = np.float64(state.ring.floats[event, EVENT_REWARD])
        n_features = ridges.fill_features(ridge, work.row, kinds, work.ridge)
        ridges.update(ridge, work.ridge, n_features, action, reward)
        learn_linear(state, work, action, reward, 1.0 / np.sqrt(mean_codes))
