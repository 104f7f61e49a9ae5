"""Where a leaf might split: the best cut of its own events.

A cut is worth the sum over active actions (two rewards or more, not all equal) of
[S1^2 / (n1 + 1/2) + S0^2 / (n0 + 1/2) - S^2 / n] / (variance + 0.01), with sums S and counts n of the action's rewards
on the two sides and in all. Numbers are cut at quantiles of the leaf's own events, names into one against the rest or
the poorest ones together, bits all at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import part
from stumpery.trees import forest_kernels as trees
from stumpery.trees.forest_kernels import (
    ACTION,
    LEAST_SIDE,
    MAX_CUTS,
    N_CODES,
    REWARD,
    Float32s,
    Int32s,
)
from stumpery.types import Floats

N, S, Q, INVERSE = range(4)  # of the totals: count, sum, sum of squares, 1 / (variance + 0.01)
MAX_EVENTS = 8192  # of a leaf that are looked at


class Scratch(NamedTuple):
    """Room to think, used by one check at a time."""

    found: Int32s  # (events,)
    arms: Int32s  # (events,): place among the active actions, or NOTHING
    events: Float32s  # (events, columns + 2): copies, side by side
    values: Float32s  # (events,): one column of them
    places: NDArray[np.uint8]  # (events,): between which cuts, or of which code
    counts: Float32s  # (1 + actions, N_CODES): events of inactive actions, then of each active one, by place
    sums: Float32s  # (1 + actions, N_CODES): their rewards
    totals: Floats  # (4, actions)
    left: Floats  # (2, actions): N and S of one side
    bits: Float32s  # (2, 1 + actions, columns): counts and sums of events with the bit set, inactive actions first


@part
def new_scratch(n_actions: int, n_columns: int, n_events: int) -> Scratch:
    """Room for leaves of so many events."""
    return Scratch(
        np.empty(n_events, np.int32),
        np.empty(n_events, np.int32),
        np.empty((n_events, n_columns + 2), np.float32),
        np.empty(n_events, np.float32),
        np.empty(n_events, np.uint8),
        np.empty((1 + n_actions, N_CODES), np.float32),
        np.empty((1 + n_actions, N_CODES), np.float32),
        np.empty((4, n_actions)),
        np.empty((2, n_actions)),
        np.empty((2, 1 + n_actions, n_columns), np.float32),
    )


class Cut(NamedTuple):
    """A way to split, and what it is worth."""

    gain: float
    column: int
    threshold: float
    mask: np.uint64
    n_tried: int


@part
def clear(table: Floats | Float32s, n_rows: int, n_columns: int) -> None:
    """Set a corner of a table to 0, in place; an assignment to a slice compiles ten times as long."""
    for row in range(n_rows):
        for column in range(n_columns):
            table[row, column] = 0.0


@part
def sort(values: Float32s, n: int) -> None:
    """Put the first n values in ascending order, in place (Shell 1959)."""
    gap = n // 2
    while gap > 0:
        for index in range(gap, n):
            value, place = values[index], index
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 2


@part
def mixed(key: np.uint64) -> np.uint64:
    """Scatter the bits of a key (the finaliser of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@part
def gather(events: Float32s, scratch: Scratch, n: int) -> int:
    """Copy the found events, fill the totals of the active actions, in place; give the number of these."""
    totals = scratch.totals
    n_actions = totals.shape[1]
    clear(totals, 4, n_actions)
    active = np.empty(n_actions, np.int32)  # place of each action among the active ones
    for index in range(n):
        event, copy = events[scratch.found[index] % events.shape[0]], scratch.events[index]
        for column in range(event.shape[0]):
            copy[column] = event[column]
        action, reward = int(copy[ACTION]), copy[REWARD]
        scratch.arms[index] = action
        if action == trees.NOTHING:  # it was removed
            continue
        totals[N, action] += 1.0
        totals[S, action] += reward
        totals[Q, action] += reward * reward
    n_active = 0
    for action in range(n_actions):
        count, total, squares = totals[N, action], totals[S, action], totals[Q, action]
        active[action] = trees.NOTHING
        if count >= 2.0:
            variance = squares / count - (total / count) ** 2
            if variance > 1e-9:
                totals[N, n_active], totals[S, n_active] = count, total
                totals[INVERSE, n_active] = 1.0 / (variance + 0.01)
                active[action] = n_active
                n_active += 1
    for index in range(n):
        if scratch.arms[index] != trees.NOTHING:
            scratch.arms[index] = active[scratch.arms[index]]
    return n_active


@part
def worth(scratch: Scratch, n_active: int) -> float:
    """What the cut whose left side is in the tables is worth."""
    totals, left = scratch.totals, scratch.left
    gain = 0.0
    for arm in range(n_active):
        n1, s1 = left[N, arm], left[S, arm]
        n, s = totals[N, arm], totals[S, arm]
        n0, s0 = n - n1, s - s1
        gain += (s1 * s1 / (n1 + 0.5) + s0 * s0 / (n0 + 0.5) - s * s / n) * totals[INVERSE, arm]
    return gain


@part
def choose_cuts(events: Float32s, n: int, column: int, cuts: Float32s) -> int:
    """Put cut points between quantiles of a column into `cuts`, in place and ascending; give their number."""
    most = min(MAX_CUTS, n // LEAST_SIDE)
    size = min(n, 2 * most + 1)
    for index in range(size):
        cuts[index] = events[index * n // size, column]
    sort(cuts, size)
    n_cuts = 0
    last = cuts[size - 1]
    floor = np.float32(-np.inf)
    for quantile in range(1, most + 1):
        place = quantile * size // (most + 1)
        value = cuts[place]
        if value == last:
            break
        if n_cuts > 0 and value <= floor:
            continue
        above = place + 1
        while cuts[above] == value:
            above += 1
        floor = value
        # The place to write lies at or before the place just read.
        cuts[n_cuts] = value if value == -np.inf else value + (cuts[above] - value) * np.float32(0.5)
        n_cuts += 1
    return n_cuts


@part
def fill_places(scratch: Scratch, n: int, column: int, cuts: Float32s, n_cuts: int) -> None:
    """Write into `scratch.places` between which cuts every event lies, in place; cut by cut, so that it vectorises."""
    values, places = scratch.values, scratch.places
    for index in range(n):
        values[index] = scratch.events[index, column]
        places[index] = 0
    for cut in range(n_cuts):
        threshold = cuts[cut]
        for index in range(n):
            places[index] += values[index] > threshold


@part
def count_places(scratch: Scratch, n: int, n_places: int, n_active: int) -> None:
    """Count the events of each place and sum their rewards, in place."""
    counts, sums = scratch.counts, scratch.sums
    clear(counts, n_active + 1, n_places)
    clear(sums, n_active + 1, n_places)
    for index in range(n):
        place, arm, reward = scratch.places[index], scratch.arms[index] + 1, scratch.events[index, REWARD]
        counts[arm, place] += np.float32(1.0)
        if reward != 0.0:
            sums[arm, place] += reward


@part
def weigh_cuts(scratch: Scratch, n_cuts: int, n_active: int, gains: Float32s, sizes: Float32s) -> None:
    """Write what every cut is worth, and the size of its left side, in place; the inner loops over cuts vectorise."""
    counts, sums, totals = scratch.counts, scratch.sums, scratch.totals
    base = 0.0
    for arm in range(n_active):
        base += totals[S, arm] * totals[S, arm] / totals[N, arm] * totals[INVERSE, arm]
    for cut in range(n_cuts):
        gains[cut] = np.float32(-base)
        sizes[cut] = 0.0
    for arm in range(n_active + 1):
        for cut in range(1, n_cuts):
            counts[arm, cut] += counts[arm, cut - 1]
            sums[arm, cut] += sums[arm, cut - 1]
        for cut in range(n_cuts):
            sizes[cut] += counts[arm, cut]
    half = np.float32(0.5)
    for arm in range(n_active):
        n, s = np.float32(totals[N, arm]), np.float32(totals[S, arm])
        inverse = np.float32(totals[INVERSE, arm])
        of_left, from_left = counts[arm + 1], sums[arm + 1]
        for cut in range(n_cuts):
            n1, s1 = of_left[cut], from_left[cut]
            n0, s0 = n - n1, s - s1
            gains[cut] += (s1 * s1 / (n1 + half) + s0 * s0 / (n0 + half)) * inverse


@part
def best_number_cut(scratch: Scratch, n: int, n_active: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the best cut of a column of numbers."""
    cuts = np.empty(2 * MAX_CUTS + 1, np.float32)
    gains, sizes = np.empty(MAX_CUTS, np.float32), np.empty(MAX_CUTS, np.float32)
    n_cuts = choose_cuts(scratch.events, n, column, cuts)
    fill_places(scratch, n, column, cuts, n_cuts)
    count_places(scratch, n, n_cuts + 1, n_active)
    weigh_cuts(scratch, n_cuts, n_active, gains, sizes)
    found = trees.NOTHING
    gain = np.float64(best.gain)
    for cut in range(n_cuts):
        if gains[cut] > gain and sizes[cut] >= LEAST_SIDE and n - sizes[cut] >= LEAST_SIDE:
            gain, found = np.float64(gains[cut]), cut
    if found != trees.NOTHING:
        return Cut(gain, column, np.float64(cuts[found]), np.uint64(0), best.n_tried + n_cuts)
    return Cut(best.gain, best.column, best.threshold, best.mask, best.n_tried + n_cuts)


@part
def best_name_cut(scratch: Scratch, n: int, n_active: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the best set of names of a column: one alone, or the poorest ones together."""
    counts, sums, left = scratch.counts, scratch.sums, scratch.left
    order, keys, sizes = np.empty(N_CODES, np.int32), np.empty(N_CODES), np.empty(N_CODES)
    for index in range(n):
        scratch.places[index] = np.uint8(scratch.events[index, column])
    count_places(scratch, n, N_CODES, n_active)
    n_codes = 0
    for code in range(N_CODES):
        count, total = 0.0, 0.0
        for arm in range(1, n_active + 1):
            count += np.float64(counts[arm, code])  # wide also in plain Python
            total += np.float64(sums[arm, code])
        sizes[code] = count + counts[0, code]
        if sizes[code] > 0.0:
            key = total / (count + 1e-9)
            place = n_codes
            while place > 0 and keys[place - 1] > key:
                keys[place], order[place] = keys[place - 1], order[place - 1]
                place -= 1
            keys[place], order[place] = key, code
            n_codes += 1
    gain, mask, n_tried = best.gain, best.mask, best.n_tried
    better = False
    for single in range(2):
        so_far, size = np.uint64(0), 0.0
        clear(left, 2, n_active)
        for place in range(n_codes if single else n_codes - 1):
            code = order[place]
            if single:
                so_far, size = np.uint64(0), 0.0
                clear(left, 2, n_active)
            so_far |= np.uint64(1) << np.uint64(code)
            size += sizes[code]
            for arm in range(n_active):
                left[N, arm] += counts[arm + 1, code]
                left[S, arm] += sums[arm + 1, code]
            if single and (place == 0 or n_codes <= 2):
                continue  # tried among the prefixes
            n_tried += 1
            if size >= LEAST_SIDE and n - size >= LEAST_SIDE:
                value = worth(scratch, n_active)
                if value > gain:
                    gain, mask, better = value, so_far, True
    if better:
        return Cut(gain, ~column, 0.0, mask, n_tried)
    return Cut(best.gain, best.column, best.threshold, best.mask, n_tried)


@part
def count_bits(scratch: Scratch, n: int, n_active: int) -> None:
    """Count, for all columns at once, the events whose bit is set, and sum their rewards, in place."""
    counts, sums = scratch.bits[0], scratch.bits[1]
    n_columns = counts.shape[1]
    clear(counts, n_active + 1, n_columns)
    clear(sums, n_active + 1, n_columns)
    for index in range(n):
        event = scratch.events[index]
        of_arm = counts[scratch.arms[index] + 1]
        for column in range(n_columns):
            of_arm[column] += event[column]
        reward = event[REWARD]
        if reward != 0.0:
            of_arm = sums[scratch.arms[index] + 1]
            for column in range(n_columns):
                of_arm[column] += reward * event[column]


@part
def best_bit_cut(scratch: Scratch, n: int, n_active: int, column: int, best: Cut) -> Cut:
    """The better of `best` and the one cut of a column of bits, set ones to the right."""
    counts, sums = scratch.bits[0], scratch.bits[1]
    size = counts[0, column]  # of actions that are not active
    left = scratch.left
    for arm in range(n_active):
        count = counts[arm + 1, column]
        size += count
        left[N, arm] = count
        left[S, arm] = sums[arm + 1, column]
    gain = 0.0
    if size >= LEAST_SIDE and n - size >= LEAST_SIDE:
        gain = worth(scratch, n_active)  # the same whichever side is called left
    if gain > best.gain:
        return Cut(gain, column, 0.5, np.uint64(0), best.n_tried + 1)
    return Cut(best.gain, best.column, best.threshold, best.mask, best.n_tried + 1)


@part
def best_cut(kinds: NDArray[np.uint8], scratch: Scratch, n: int, n_active: int, key: np.uint64) -> Cut:
    """The best cut over half of the columns, drawn by `key`."""
    n_columns = kinds.shape[0]
    best = Cut(0.0, n_columns, 0.0, np.uint64(0), 0)
    needed = (n_columns + 1) // 2
    for column in range(n_columns):
        if kinds[column] == trees.BIT:
            count_bits(scratch, n, n_active)
            break
    for column in range(n_columns):
        key = mixed(key + np.uint64(0x9E3779B97F4A7C15))
        if (key >> np.uint64(32)) % np.uint64(n_columns - column) >= np.uint64(needed):
            continue
        needed -= 1
        if kinds[column] == trees.BIT:
            best = best_bit_cut(scratch, n, n_active, column, best)
        elif kinds[column] == trees.NAME:
            best = best_name_cut(scratch, n, n_active, column, best)
        else:
            best = best_number_cut(scratch, n, n_active, column, best)
    return best
