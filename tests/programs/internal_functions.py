"""Internal functions inside kernels, and exceptions through them."""

import numpy as np

from stumpery.jit import internal, kernel


@internal
def read(array, place):
    if place < 0:
        raise ValueError("there is no such place")
    return array[place]


@internal
def total(array):
    found = 0.0
    for place in range(array.shape[0]):
        found += read(array, place)
    return found


@kernel
def both(array, place):
    return total(array), read(array, place)


print(*both(np.arange(4.0), 2))
for place in (-1, 9):
    try:
        both(np.arange(4.0), place)
    except (ValueError, IndexError) as error:
        print(type(error).__name__)
