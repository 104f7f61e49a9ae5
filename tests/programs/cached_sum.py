"""Prints how often a kernel was loaded from the cache, and whether a module of Numba's compiler was imported."""

import sys

import numpy as np

from stumpery.jit import kernel


@kernel
def total(values):
    return values.sum()


total(np.ones(3))
print(sum(total.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
