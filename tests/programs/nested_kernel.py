"""A kernel inside another: print which of them are compiled as internal functions."""

import numpy as np

from stumpery.compiling import internal
from stumpery.jit import kernel

lower, seen = internal._InternalLowering.run_pass, []


def noted(step, state):
    seen.append(state.func_id.func_name)
    return lower(step, state)


internal._InternalLowering.run_pass = noted


@kernel
def inner(array):
    return array[0]


@kernel
def outer(array):
    return inner(array) + 1.0


print(outer(np.ones(3)), inner(np.ones(3)), seen)
