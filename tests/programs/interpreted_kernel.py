"""Print a kernel's name, what it makes of a division by zero, and the type of a large word."""

import numpy as np

from stumpery.jit import kernel


@kernel
def divide(top, bottom):
    """Divide."""
    return top / bottom


print(divide.__name__, divide(np.float64(1.0), np.float64(0.0)), np.uint64(2**63).dtype)
