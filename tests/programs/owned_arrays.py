"""Count the references to arrays that internal functions own."""

import numpy as np
from numba.core.runtime import rtsys

from stumpery.jit import internal, kernel


@internal
def each(row):  # outlives the call, and its array with it
    for place in range(row.shape[0]):
        yield row[place]


@kernel
def generated(n):
    values = each(np.ones(n))
    others = np.full(n, 7.0)
    found = 0.0
    for value in values:
        found += value
    return found + 0.0 * others[0]


@internal
def some_of(row, places):  # an array as the index makes a copy
    picked = row[places]
    return picked[0]


@internal
def mirrored(row):  # so do some attributes
    return row.imag[0]


@internal
def named(rows, name):  # what a dict gives is held by who asked
    return rows[name][0]


@internal
def letter(text, place):
    return text[place] == "b"


@internal
def perhaps(row, there):
    found = row[1:] if there else None
    return 0.0 if found is None else found[0]


@kernel
def owned(n):
    row = np.ones(n)
    rows = {1: row}
    read = some_of(row, np.arange(2)) + mirrored(row) + named(rows, 1)
    return read + letter("a" * n + "b", n) + perhaps(row, n > 2)


print(generated(5))
owned(5)
before = rtsys.get_allocation_stats()
print(owned(5))
after = rtsys.get_allocation_stats()
print(after.alloc - before.alloc == after.free - before.free > 0)
