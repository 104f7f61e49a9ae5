"""Histograms of one leaf's events: counts and sums of rewards per bin and action, the input of the split criterion."""

import numpy as np

from stumpery.array_forest.binning_kernels import Scratch, SplitTable, copy_events
from stumpery.array_forest.forest_kernels import NO_INDEX, ForestState, column_of, value_goes_right
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.criterion_kernels import (
    TOTAL_COUNT,
    TOTAL_PLAYS,
    TOTAL_REWARD,
    TOTAL_SCALE,
    TOTAL_SQUARES,
    TOTAL_SUM,
    TOTAL_VARIANCE,
    VARIANCE_OFFSET,
)
from stumpery.policies.reward_forest.trees.ring_kernels import EVENT_ACTION, EVENT_REWARD, Ring, value_of


@internal
def clear_table(table: SplitTable, size: int) -> None:
    """Set the counts and sums of a table to 0, in place; assigning to a slice compiles ten times as long."""
    for cell in range(size):
        table.counts[cell] = 0.0
    for cell in range(size):
        table.sums[cell] = 0.0


@internal
def gather_events(ring: Ring, scratch: Scratch, n: int, time: int) -> int:
    """Copy a leaf's events side by side and fill the totals, in place; return the number of active actions."""
    totals = scratch.totals
    n_actions = totals.shape[1]
    copy_events(ring.words, scratch.event_numbers, n, time, scratch.events.words)
    for action in range(n_actions):
        totals[TOTAL_COUNT, action] = 0.0
        totals[TOTAL_SUM, action] = 0.0
        totals[TOTAL_SQUARES, action] = 0.0
    for index in range(n):
        event = scratch.events.floats[index]
        action, reward = int(event[EVENT_ACTION]), event[EVENT_REWARD]
        scratch.rewards[index] = reward
        scratch.active_numbers[index] = action if action != NO_INDEX else n_actions
        if action == NO_INDEX:  # it was removed
            continue
        totals[TOTAL_COUNT, action] += 1.0
        totals[TOTAL_SUM, action] += reward
        totals[TOTAL_SQUARES, action] += reward * reward
    n_active = find_active(scratch)
    for index in range(n):
        scratch.active_numbers[index] = scratch.active[scratch.active_numbers[index]]
    return n_active


@internal
def find_active(scratch: Scratch) -> int:
    """Move the totals of active actions to the front, in place; return their number.

    An action is active if it has two rewards or more that are not all equal.
    """
    totals, active = scratch.totals, scratch.active
    n_actions, n_active = totals.shape[1], 0
    active[n_actions] = 0
    for action in range(n_actions):
        active[action] = 0
        count, total, squares = totals[TOTAL_COUNT, action], totals[TOTAL_SUM, action], totals[TOTAL_SQUARES, action]
        totals[TOTAL_PLAYS, action], totals[TOTAL_REWARD, action] = count, total
        if count >= 2.0:
            variance = squares / count - (total / count) * (total / count)
            if variance > 1e-9:
                totals[TOTAL_COUNT, n_active], totals[TOTAL_SUM, n_active] = count, total
                totals[TOTAL_VARIANCE, n_active] = variance
                totals[TOTAL_SCALE, n_active] = 1.0 / (variance + VARIANCE_OFFSET)
                n_active += 1
                active[action] = n_active
    return n_active


@internal
def fill_histogram(scratch: Scratch, n: int, width: int, n_active: int) -> None:
    """Count the events of each bin and sum their rewards, in place."""
    counts, sums = scratch.table.counts, scratch.table.sums
    clear_table(scratch.table, (n_active + 1) * width)
    for index in range(n):
        cell = scratch.active_numbers[index] * width + scratch.bins[index]
        counts[cell] += np.float32(1.0)
        sums[cell] += scratch.rewards[index]


@internal
def accumulate_bins(table: SplitTable, width: int, n_active: int) -> None:
    """Turn the counts and sums of bins into those of all bins up to each, in place."""
    for active in range(n_active + 1):
        row = active * width
        counts, sums = table.counts[row : row + width], table.sums[row : row + width]
        count, total = np.float32(0.0), np.float32(0.0)
        for index in range(width):
            count += counts[index]
            total += sums[index]
            counts[index] = count
            sums[index] = total


@internal
def sum_sides(forest: ForestState, scratch: Scratch, n: int, node: int) -> None:
    """Write counts and sums of the gathered rewards on both sides of a node into the totals, in place.

    The side of each event goes into `scratch.bins`; all are on the first side where the node is NO_INDEX.
    """
    totals = scratch.totals
    for row in range(totals.shape[0]):
        for action in range(totals.shape[1]):
            totals[row, action] = 0.0
    column = int(column_of(forest, node)) if node != NO_INDEX else 0
    for index in range(n - 1, -1, -1):
        event = scratch.events.floats[index]
        value = value_of(scratch.events, index, column) if node != NO_INDEX else 0.0
        side = int(value_goes_right(forest, node, value)) if node != NO_INDEX else 0
        scratch.bins[index] = side
        action = int(event[EVENT_ACTION])
        if action != NO_INDEX:
            totals[2 * side, action] += 1.0
            totals[2 * side + 1, action] += event[EVENT_REWARD]
