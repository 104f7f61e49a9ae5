"""Validation of the arrays of a saved reward forest."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.block_validation import validate_blocks
from stumpery.array_forest.node_validation import validate_nodes
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.policies.reward_forest.policy_kernels import CLOCK_EVENTS, RewardForestState
from stumpery.policies.reward_forest.scorers import context_memory as familiar
from stumpery.policies.reward_forest.scorers import linear_kernels
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE
from stumpery.validation import MAX_MAGNITUDE, check, check_learned, check_within

MIN_UNCERTAINTY = int(trees.STAT_UNIT / np.sqrt(trees.MAX_PLAYS + 1.0))


def check_shapes(made: Mapping[str, NDArray[Any]], saved: Mapping[str, NDArray[Any]]) -> None:
    """A ValueError says that saved arrays differ from those that were made in more than their length."""
    for name, array in saved.items():
        if name in made and (array.shape[1:] != made[name].shape[1:] or array.dtype != made[name].dtype):
            raise ValueError(
                f"its array {name!r} is {array.shape} of {array.dtype}, which does not fit its other parts"
            )


def validate(models: RewardForestState, n_trees: int, is_categorical: NDArray[np.bool_]) -> None:
    """A ValueError says what is inconsistent: a place leads nowhere or is met twice, or a number is none."""
    forest, events = models.forest, models.ring
    time, n_free, swept = (
        int(forest.counters[at]) for at in (trees.COUNTER_TIME, trees.COUNTER_FREE_BLOCKS, trees.COUNTER_LAST_COLLECTED)
    )
    check_within(np.array(time), 0, min(2**31 - 1, models.clock[CLOCK_EVENTS]), "the number of remembered events")
    check_within(np.array(n_free), 0, len(forest.blocks), "the number of free blocks")
    check_within(np.array(swept), 0, int(forest.counters[trees.COUNTER_LEAVES]), "the leaf that was swept last")
    _validate_kinds(forest.kinds, events.widths, is_categorical)
    validate_nodes(forest, n_trees, is_categorical)
    validate_blocks(forest, len(events.bytes))
    ring.validate(events, forest.stats.shape[2], is_categorical)
    familiar.validate(models.context_memory, forest.stats.shape[2])
    _validate_numbers(models)


def _validate_kinds(kinds: NDArray[np.uint8], widths: NDArray[np.uint8], is_categorical: NDArray[np.bool_]) -> None:
    check(((kinds == trees.CATEGORICAL) == is_categorical).all(), "a column is of another kind than its schema says")
    check_within(kinds, trees.NUMERICAL, trees.BINARY, "the kind of a column")
    check((widths[kinds == trees.BINARY] == BYTE).all(), "a column of zeros and ones takes more than a byte")


def _validate_numbers(models: RewardForestState) -> None:
    linear = {
        "columns": models.linear,
        "pairs": models.quadratic,
        "latest columns": models.fast_linear,
        "corrected forest": models.residual,
        "shared model": models.shared_model.linear,
    }
    for name, scorer in linear.items():
        check_learned(scorer, f"a weight of the scorer of {name}")
        check(
            (scorer[:, linear_kernels.SLOT_HISTORY] >= 0.0).all(),
            f"a sum of squares of the scorer of {name} is negative",
        )
    uncertainties = models.forest.stats[: int(models.forest.counters[trees.COUNTER_LEAVES]), trees.STAT_UNCERTAINTY]
    check_within(uncertainties, MIN_UNCERTAINTY, trees.STAT_UNIT, "the uncertainty of a leaf")
    check_learned(models.moments, "a moment of the scorers")
    check_within(models.weights, 0.0, 1.0 + 1e-6, "the weight of a scorer")
    check(abs(models.weights.sum() - 1.0) < 1e-6, "the weights of the scorers do not sum to 1")
    check_within(models.clock, 0.0, 2.0**53, "a number of the clock")
    watch, time = models.drift, int(models.forest.counters[trees.COUNTER_TIME])
    check_learned(watch, "a number of the drift detector")
    check_within(
        watch[[reward_drop.DROP_SQUARES, reward_drop.DROP_N_EVENTS, reward_drop.DROP_N_DRIFTS]],
        0.0,
        MAX_MAGNITUDE,
        "a sum of the drift detector",
    )
    check_within(watch[[reward_drop.DROP_CONCEPT_START]], trees.NO_INDEX, time, "the event of the last drift")
    check(not np.isnan(models.edges).any(), "the edge of a bin is NaN")
