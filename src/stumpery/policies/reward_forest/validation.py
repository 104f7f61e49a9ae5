"""Validation of a saved reward forest: refuses inconsistent states."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.validation import validate_blocks, validate_nodes
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.errors import CorruptFile
from stumpery.policies.reward_forest.action_features import ActionFeatures
from stumpery.policies.reward_forest.policy_kernels import CLOCK_EVENTS, RewardForestState
from stumpery.policies.reward_forest.scorers import context_memory, crossed, frequent_categories, ridge
from stumpery.policies.reward_forest.scorers.scorers_kernels import SLOT_HISTORY
from stumpery.policies.reward_forest.state import stored_events
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE
from stumpery.saving.validation import MAX_MAGNITUDE, check, check_learned, check_within

MIN_UNCERTAINTY = int(trees.STAT_UNIT / np.sqrt(trees.MAX_PLAYS + 1.0))


def validate(
    state: RewardForestState,
    n_trees: int,
    features: ActionFeatures,
    is_categorical: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> None:
    """Validate a state against itself, the actions' features and the columns."""
    if not np.array_equal(state.shared_model.features, features.vectors()):
        raise CorruptFile("its features do not match its actions")
    crossed.validate(state.crossed, features)
    forest, events = state.forest, state.ring
    time, n_free, collected = (
        int(forest.counters[at]) for at in (trees.COUNTER_TIME, trees.COUNTER_FREE_BLOCKS, trees.COUNTER_LAST_COLLECTED)
    )
    n_leaves = int(forest.counters[trees.COUNTER_LEAVES])
    check_within(np.array(time), 0, min(2**31 - 1, state.clock[CLOCK_EVENTS]), "the number of stored events")
    check_within(np.array(n_free), 0, len(forest.blocks), "the number of free blocks")
    check_within(np.array(collected), 0, n_leaves, "the leaf whose events were collected last")
    _validate_kinds(forest.kinds, events.widths, is_categorical)
    validate_nodes(forest, n_trees, is_categorical)
    validate_blocks(forest, len(events.bytes))
    ring.validate(events, forest.stats.shape[2], is_categorical)
    frequent_categories.validate(state.categories)
    context_memory.validate(state.context_memory, forest.stats.shape[2])
    ridge.validate(state.ridge)
    _validate_numbers(state)
    unseen = np.flatnonzero(~seen).tolist()
    stored = stored_events(state) if len(unseen) else None
    if any(is_categorical[index] or (ring.column_values(events, index)[stored] > -np.inf).any() for index in unseen):
        raise CorruptFile("columns without a value are in use")


def _validate_kinds(kinds: NDArray[np.uint8], widths: NDArray[np.uint8], is_categorical: NDArray[np.bool_]) -> None:
    check(((kinds == trees.CATEGORICAL) == is_categorical).all(), "a column is of another kind than its schema says")
    check_within(kinds, trees.NUMERICAL, trees.BINARY, "the kind of a column")
    check((widths[kinds == trees.BINARY] == BYTE).all(), "a column of zeros and ones takes more than a byte")


def _validate_numbers(state: RewardForestState) -> None:
    linear = {
        "linear": state.linear,
        "quadratic": state.quadratic,
        "fast linear": state.fast_linear,
        "residual": state.residual,
        "shared": state.shared_model.linear,
    }
    for name, weights in linear.items():
        check_learned(weights, f"a weight of the {name} scorer")
        check((weights[:, SLOT_HISTORY] >= 0.0).all(), f"a sum of squares of the {name} scorer is negative")
    n_leaves, time = (int(state.forest.counters[at]) for at in (trees.COUNTER_LEAVES, trees.COUNTER_TIME))
    uncertainties = state.forest.stats[:n_leaves, trees.STAT_UNCERTAINTY]
    check_within(uncertainties, MIN_UNCERTAINTY, trees.STAT_UNIT, "the uncertainty of a leaf")
    check_learned(state.moments, "a moment of the stacking")
    check_within(state.weights, 0.0, 1.0 + 1e-6, "the weight of a scorer")
    check(abs(state.weights.sum() - 1.0) < 1e-6, "the weights of the scorers do not sum to 1")
    check_within(state.clock, 0.0, 2.0**53, "a number of the clock")
    check_learned(state.drift, "a number of the drift detector")
    sums = [reward_drop.DROP_SQUARES, reward_drop.DROP_N_EVENTS, reward_drop.DROP_N_DRIFTS]
    check_within(state.drift[sums], 0.0, MAX_MAGNITUDE, "a sum of the drift detector")
    start = state.drift[[reward_drop.DROP_CONCEPT_START]]
    check_within(start, trees.NO_INDEX, time, "the event of the last drift")
    check(not np.isnan(state.edges).any(), "the edge of a bin is NaN")
