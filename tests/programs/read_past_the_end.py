"""Read an element that an array does not have."""

import numpy as np

from stumpery.jit import kernel


@kernel
def read(array, place):
    return array[place]


try:
    read(np.zeros(3), 3)
    print("read past the end")
except IndexError:
    print("refused")
