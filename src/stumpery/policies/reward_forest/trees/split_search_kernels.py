"""Where a leaf might split: the best cut of its own events.

A cut is worth the sum over active actions (two rewards or more, not all equal) of
(S1 - n1 S / n)^2 (n + 1) / ((n1 + 1/2) (n0 + 1/2)) / (variance + 0.01), with sums S and counts n of the action's
rewards on the two sides and in all: with the halves it is worth less where a side has few of them. Numbers are cut
between values of the leaf's own events, names into one against the rest or the poorest ones together, bits all at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import MIN_CHILD_EVENTS
from stumpery.array_forest.precision_kernels import DOUBLE
from stumpery.array_forest.scratch_kernels import (
    Scratch,
    SplitTable,
    assign_bins,
    best_split,
    bin_doubles,
    choose_thresholds,
    copy_events,
    round_up_to_lanes,
)
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.ring_kernels import ACTION, REWARD, Ring, fill_doubles, fill_values
from stumpery.types import Floats

SPACING = 1  # of cuts, in sampled values
N, S, Q, INVERSE = range(4)  # of the totals: count, sum, sum of squares, 1 / (variance + LEAST_VARIANCE)
PLAYED, EARNED = range(4, 6)  # the same counts and sums of all actions; of the others, those of active ones come first
VARIANCE = Q  # of an active action, in place of its squares
LEAST_VARIANCE = 0.01  # added to all of them


class Cut(NamedTuple):
    """A way to split, and what it is worth."""

    gain: float
    column: int
    threshold: float
    mask: np.uint64
    n_tried: int


@internal
def clear(table: SplitTable, size: int) -> None:
    """Set a table's counts and sums to 0, in place; an assignment to a slice compiles ten times as long."""
    for cell in range(size):
        table.counts[cell] = 0.0
    for cell in range(size):
        table.sums[cell] = 0.0


@internal
def gather(ring: Ring, scratch: Scratch, n: int, time: int) -> int:
    """Copy the found events, fill the totals of the active actions, in place; give the number of these."""
    totals = scratch.totals
    n_actions = totals.shape[1]
    copy_events(ring.words, scratch.found, n, time, scratch.events.words)
    for action in range(n_actions):
        totals[N, action] = 0.0
        totals[S, action] = 0.0
        totals[Q, action] = 0.0
    for index in range(n):
        action, reward = int(scratch.events.floats[index, ACTION]), scratch.events.floats[index, REWARD]
        scratch.rewards[index] = reward
        scratch.arms[index] = action if action != trees.NO_INDEX else n_actions
        if action == trees.NO_INDEX:  # it was removed
            continue
        totals[N, action] += 1.0
        totals[S, action] += reward
        totals[Q, action] += reward * reward
    active = scratch.active
    active[n_actions] = 0
    n_active = 0
    for action in range(n_actions):
        active[action] = 0
        count, total, squares = totals[N, action], totals[S, action], totals[Q, action]
        totals[PLAYED, action], totals[EARNED, action] = count, total
        if count >= 2.0:
            variance = squares / count - (total / count) * (total / count)
            if variance > 1e-9:
                totals[N, n_active], totals[S, n_active] = count, total
                totals[VARIANCE, n_active] = variance
                totals[INVERSE, n_active] = 1.0 / (variance + LEAST_VARIANCE)
                n_active += 1
                active[action] = n_active
    for index in range(n):
        scratch.arms[index] = active[scratch.arms[index]]
    return n_active


@internal
def weigh(table: SplitTable, totals: Floats, width: int, n_active: int) -> None:
    """Write what every cut is worth, and the size of its one side, in place."""
    gains, sizes = table.gains, table.sizes
    for cut in range(width):
        gains[cut] = np.float32(0.0)
        sizes[cut] = table.counts[cut]
    half = np.float32(0.5)
    for arm in range(n_active):
        n, s = np.float32(totals[N, arm]), np.float32(totals[S, arm])
        scale = np.float32((totals[N, arm] + 1.0) / (totals[N, arm] * totals[N, arm]) * totals[INVERSE, arm])
        row = (arm + 1) * width
        counts, sums = table.counts[row : row + width], table.sums[row : row + width]
        for cut in range(width):
            n1 = counts[cut]
            apart = n * sums[cut] - n1 * s  # n times as far as the sum is from its share
            gains[cut] += apart * apart * scale / ((n1 + half) * (n - n1 + half))
            sizes[cut] += n1


@internal
def accumulate(table: SplitTable, width: int, n_active: int) -> None:
    """Turn counts and sums of places into those of all places up to each, in place."""
    for arm in range(n_active + 1):
        row = arm * width
        counts, sums = table.counts[row : row + width], table.sums[row : row + width]
        count, total = np.float32(0.0), np.float32(0.0)
        for place in range(width):
            count += counts[place]
            total += sums[place]
            counts[place] = count
            sums[place] = total


@internal
def count_places(scratch: Scratch, n: int, width: int, n_active: int) -> None:
    """Count the events of each place and sum their rewards, in place."""
    counts, sums = scratch.table.counts, scratch.table.sums
    clear(scratch.table, (n_active + 1) * width)
    for index in range(n):
        cell = scratch.arms[index] * width + scratch.places[index]
        counts[cell] += np.float32(1.0)
        sums[cell] += scratch.rewards[index]


@internal
def best_number_cut(scratch: Scratch, n: int, n_active: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the best cut of a column of numbers."""
    is_double = scratch.events.widths[column] == DOUBLE
    if is_double:
        fill_doubles(scratch.events, column, n, scratch.wide_values)
        n_cuts = bin_doubles(scratch, n, SPACING, scratch.wide_cuts)
    else:
        fill_values(scratch.events, column, n, scratch.values)
        n_cuts = choose_thresholds(scratch, n, SPACING, scratch.cuts)
        assign_bins(scratch, n, scratch.cuts, n_cuts)
    width = round_up_to_lanes(n_cuts + 1)
    count_places(scratch, n, width, n_active)
    accumulate(scratch.table, width, n_active)
    weigh(scratch.table, scratch.totals, width, n_active)
    found = best_split(scratch.table, 0, n_cuts, n, best.gain)
    n_tried = best.n_tried + n_cuts
    if found == trees.NO_INDEX:
        return Cut(best.gain, best.column, best.threshold, best.mask, n_tried)
    threshold = scratch.wide_cuts[found] if is_double else np.float64(scratch.cuts[found])
    return Cut(np.float64(scratch.table.gains[found]), column, threshold, np.uint64(0), n_tried)


@internal
def order_codes(scratch: Scratch, width: int, n_active: int) -> int:
    """Write the codes that occur into `scratch.order`, in place, those of poor rewards first; give their number."""
    table, order = scratch.table, scratch.order
    keys, counts, sums = scratch.codes[0], scratch.codes[1], scratch.codes[2]
    for code in range(width):
        counts[code] = 0.0
        sums[code] = 0.0
    for arm in range(1, n_active + 1):
        for code in range(width):
            counts[code] += np.float64(table.counts[arm * width + code])  # wide also in plain Python
            sums[code] += np.float64(table.sums[arm * width + code])
    n_codes = 0
    for code in range(width):
        if counts[code] + table.counts[code] > 0.0:
            key = sums[code] / (counts[code] + 1e-9)
            place = n_codes
            while place > 0 and keys[place - 1] > key:
                keys[place], order[place] = keys[place - 1], order[place - 1]
                place -= 1
            keys[place], order[place] = key, code
            n_codes += 1
    return n_codes


@internal
def best_name_cut(scratch: Scratch, n: int, n_active: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the best set of names of a column: one alone, or the poorest ones together."""
    table, ordered, order = scratch.table, scratch.ordered, scratch.order
    last = np.int32(0)
    start = scratch.events.starts[column]
    for index in range(n):
        code = np.int32(scratch.events.bytes[index, start])
        scratch.places[index] = code
        last = max(last, code)
    all_codes = round_up_to_lanes(int(last) + 1)
    count_places(scratch, n, all_codes, n_active)
    n_codes = order_codes(scratch, all_codes, n_active)
    width = round_up_to_lanes(n_codes)
    for arm in range(n_active + 1):
        for place in range(n_codes):
            ordered.counts[arm * width + place] = table.counts[arm * all_codes + order[place]]
            ordered.sums[arm * width + place] = table.sums[arm * all_codes + order[place]]
    gain, mask = best.gain, np.uint64(0)
    if n_codes > 2:  # the first and the last alone are a set of the poorest and what it leaves
        weigh(ordered, scratch.totals, width, n_active)
        found = best_split(ordered, 1, n_codes - 1, n, gain)
        if found != trees.NO_INDEX:
            gain, mask = np.float64(ordered.gains[found]), np.uint64(1) << np.uint64(order[found])
    accumulate(ordered, width, n_active)
    weigh(ordered, scratch.totals, width, n_active)
    found = best_split(ordered, 0, n_codes - 1, n, gain)
    if found != trees.NO_INDEX:
        gain, mask = np.float64(ordered.gains[found]), np.uint64(0)
        for place in range(found + 1):
            mask |= np.uint64(1) << np.uint64(order[place])
    n_tried = best.n_tried + max(2 * n_codes - 3, 0)
    if mask != np.uint64(0):
        return Cut(gain, ~column, 0.0, mask, n_tried)
    return Cut(best.gain, best.column, best.threshold, best.mask, n_tried)


@internal
def weigh_bits(scratch: Scratch, n: int, n_active: int) -> None:
    """Weigh the cuts of all columns of a byte at once, in place.

    What it says of those that are no bits, and of the bytes past them, nobody reads.
    """
    bits, (first, end) = scratch.bits, scratch.events.span
    width = round_up_to_lanes(end - first)
    clear(bits, (n_active + 1) * width)
    for index in range(n):
        event, reward = scratch.events.bytes[index, first : first + width], scratch.rewards[index]
        row = scratch.arms[index] * width
        counts = bits.counts[row : row + width]
        for column in range(width):
            counts[column] += np.float32(event[column])
        if reward != 0.0:
            sums = bits.sums[row : row + width]
            for column in range(width):
                sums[column] += reward * np.float32(event[column])
    weigh(bits, scratch.totals, width, n_active)


@internal
def best_bit_cut(scratch: Scratch, n: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the one cut of a column of bits, set ones to the right; all have been weighed."""
    place = scratch.events.starts[column] - scratch.events.span[0]
    gain, size = np.float64(scratch.bits.gains[place]), scratch.bits.sizes[place]
    if gain > best.gain and size >= MIN_CHILD_EVENTS and n - size >= MIN_CHILD_EVENTS:
        return Cut(gain, column, 0.5, np.uint64(0), best.n_tried + 1)
    return Cut(best.gain, best.column, best.threshold, best.mask, best.n_tried + 1)


@internal
def best_cut(kinds: NDArray[np.uint8], scratch: Scratch, n: int, n_active: int, key: np.uint64) -> Cut:
    """The best cut over half of the columns, drawn by `key`."""
    n_columns = kinds.shape[0]
    best = Cut(0.0, n_columns, 0.0, np.uint64(0), 0)
    needed = (n_columns + 1) // 2
    for column in range(n_columns):
        if kinds[column] == trees.BINARY:
            weigh_bits(scratch, n, n_active)
            break
    for column in range(n_columns):
        key = splitmix64(key + np.uint64(0x9E3779B97F4A7C15))
        if ((key >> np.uint64(32)) * np.uint64(n_columns - column)) >> np.uint64(32) >= np.uint64(needed):
            continue
        needed -= 1
        if kinds[column] == trees.BINARY:
            best = best_bit_cut(scratch, n, column, best)
        elif kinds[column] == trees.CATEGORICAL:
            best = best_name_cut(scratch, n, n_active, column, best)
        else:
            best = best_number_cut(scratch, n, n_active, column, best)
    return best
