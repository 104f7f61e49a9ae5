"""Feature codes of a row, alone or hashed in pairs: the sparse binary features of the linear scorers.

A set bit is a feature, a category is the feature of its code, a number that of its bin, a missing value that of code 0;
one feature is always present. Pairs are hashed by a multiple of the golden ratio, which spreads neighbours: where slots
are few, fewer pairs collide than with random hashes.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import BINARY, NUMERICAL, Float32s, Int32s
from stumpery.hashing_kernels import GOLDEN
from stumpery.jit import internal, prefetch
from stumpery.types import Floats

CODES_PER_COLUMN = 64
MAX_PAIRS_PER_CODE = 128  # the first pairs a code with itself; a row of thousands of codes has no square of pairs


@internal
def fill_codes(row: Floats, kinds: NDArray[np.uint8], edges: Floats, codes: Int32s) -> int:
    """Write the feature codes of a row into `codes`, in place, the constant one first; return their number."""
    codes[0] = 0
    n = 1
    for column in range(row.shape[0]):
        value = row[column]
        if kinds[column] == BINARY:
            if value == 0.0:
                continue
            code = 1 if value > 0.0 else 0
        elif kinds[column] == NUMERICAL:
            code = 0
            if value > -np.inf:
                code = 1
                for edge in range(edges.shape[1]):
                    code += value > edges[column, edge]
        else:
            code = int(value)
        codes[n] = (column + 1) * CODES_PER_COLUMN + code
        n += 1
    return n


@internal
def fill_pairs(linear: Float32s, codes: Int32s, n: int, slots: Int32s) -> int:
    """Write the slots of all codes and of their pairs into `slots`, in place; return their number."""
    mask = np.uint64(linear.shape[0] - 1)
    n_pairs = 0
    for first in range(n):
        base = np.uint64(codes[first]) << np.uint64(16)
        for second in range(first, min(n, first + MAX_PAIRS_PER_CODE)):
            key = (base + np.uint64(codes[second])) * GOLDEN
            slots[n_pairs] = np.int32((key >> np.uint64(40)) & mask)
            prefetch(linear, slots[n_pairs])
            n_pairs += 1
    return n_pairs
