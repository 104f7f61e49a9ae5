"""Compile with Numba under another version's number: argv is the minor version."""

import sys
import warnings

import numba
import numpy as np

minor = int(sys.argv[1])
numba.version_info = numba.version_info._replace(major=0, minor=minor, short=(0, minor))
numba.__version__ = f"0.{minor}.1"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import stumpery.random  # noqa: F401 - its kernels must not warn again
    from stumpery.compiling import EXTENDED
    from stumpery.jit import internal, kernel


@internal
def one(values):
    return values[0]


@kernel
def both(values, place):
    return one(values) + values[place]


print(EXTENDED, len(caught), *[each.message for each in caught], both(np.arange(3.0), 1), type(one).__name__)
