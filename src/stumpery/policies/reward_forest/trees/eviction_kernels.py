"""Events that leaves forget: expired ones, those before a drift, and those that no longer describe a leaf."""

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest.binning_kernels import Scratch
from stumpery.array_forest.forest_kernels import (
    COUNTER_LAST_COLLECTED,
    COUNTER_LEAVES,
    INITIAL_CHECK,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    NO_INDEX,
    ForestState,
    as_int64,
)
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.criterion_kernels import MIN_CHECK_GROWTH, next_check
from stumpery.policies.reward_forest.trees.histogram_kernels import sum_sides
from stumpery.policies.reward_forest.trees.leaf_statistics_kernels import set_statistics

N_COLLECTED_LEAVES = 4  # leaves per event, while hardly a block is free


@internal
def keep_events(forest: ForestState, scratch: Scratch, n: int, leaf: int) -> None:
    """Keep only the first `n` of `scratch.event_numbers` in a leaf, in place."""
    event_lists.free_blocks(forest, leaf)
    for index in range(n - 1, -1, -1):  # oldest first
        event_lists.append_event(forest, leaf, as_int64(scratch.event_numbers[index]))


@internal
def reset_leaf(forest: ForestState, scratch: Scratch, n: int, leaf: int) -> None:
    """Set a leaf's statistics and events to its `n` gathered events, in place."""
    sum_sides(forest, scratch, n, NO_INDEX)
    set_statistics(forest.stats[leaf], scratch.totals[0], scratch.totals[1])
    keep_events(forest, scratch, n, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(n, MIN_CHECK_GROWTH)


@internal
def start_concept(forest: ForestState, leaf: int) -> None:
    """Forget a leaf's events after a drift, in place; the next ones will show whether its statistics still hold."""
    event_lists.free_blocks(forest, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = INITIAL_CHECK


@internal
def expire_events(forest: ForestState, leaf: int, oldest: int) -> None:
    """Forget a leaf's events before `oldest`, in place; its next check is as many new events away as before."""
    n = event_lists.release_old_blocks(forest, leaf, oldest)
    forest.leaves[leaf, LEAF_N_EVENTS] -= n
    forest.leaves[leaf, LEAF_NEXT_CHECK] -= n


@internal
def collect_garbage(forest: ForestState, oldest: int) -> None:
    """Expire events of a few leaves in turn, in place: those that no row reaches any more would keep theirs."""
    counters = forest.counters
    for _ in range(N_COLLECTED_LEAVES):
        leaf = counters[COUNTER_LAST_COLLECTED] + 1
        if leaf >= counters[COUNTER_LEAVES]:
            leaf = 0
        counters[COUNTER_LAST_COLLECTED] = leaf
        if forest.leaves[leaf, LEAF_NODE] != NO_INDEX:
            expire_events(forest, leaf, oldest)
