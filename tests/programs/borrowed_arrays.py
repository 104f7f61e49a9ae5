"""Count the references to arrays that internal functions only read."""

import numpy as np
from numba.core.runtime import rtsys

from stumpery.compiling import internal as compiler
from stumpery.jit import internal, kernel, prefetch

borrows, decide = [], compiler._needs_no_reference_counts


def decide_and_note(state):
    borrows.append((state.func_id.func_name, decide(state)))
    return borrows[-1][1]


compiler._needs_no_reference_counts = decide_and_note


@internal
def middle(table):  # gives an array back
    return table[1]


@internal
def doubled(row):  # makes an array
    return row * 2.0


@internal
def squares(row):  # makes one and keeps it to itself
    made = np.empty(row.shape[0])
    for place in range(row.shape[0]):
        made[place] = row[place] ** 2
    return made.sum()


@internal
def fill(row, source):  # an array laid over another
    row[:] = source


@internal
def add(table, row):  # only borrows
    prefetch(table, 2)
    line = table[2]
    for place in range(line.shape[0]):
        line[place] += row[place]
    return line[0]


@internal
def all_of_them(table):
    row = doubled(middle(table))
    fill(table[0], row)
    return add(table, row) + squares(row)


@kernel
def run(table, n):
    found = 0.0
    for _ in range(n):
        found = all_of_them(table)
    return found


table = np.ones((3, 4))
run(table, 1)
before = rtsys.get_allocation_stats()
print(run(table, 1000))
after = rtsys.get_allocation_stats()
print(*(now - then for then, now in zip(before, after, strict=True)))
print(sorted(borrows))
