"""Whether the world has changed: rewards fall short of what was expected, by more than probability would have it.

The mean of the latest errors, reward - score, is held against their mean since the last change, or 0 where that is
more: who learns to expect what is there has not lost it. It may be less by some standard deviations and, as in
Bernstein's inequality, a little more for errors that are rare but large. Where it falls below that, what was learned
before is of another world.
"""

import math

from stumpery.jit import internal
from stumpery.types import Floats

LATELY, USUALLY, SQUARES, SINCE, EPOCH, N_CHANGES = range(6)  # EPOCH: the first event since the last change
N_WATCH = 6
SHORT, LONG = 1 / 200, 1 / 5000  # the weight of an error in the latest mean, and in the usual one
WORTH = 2.0 / SHORT  # errors that the latest mean is worth
DEVIATIONS = 5.0
RARE = DEVIATIONS**2 / (6.0 * WORTH)
PATIENCE = 1000.0  # events after a change, or at the start, in which there is no other


@internal
def note(watch: Floats, error: float, number: int) -> None:
    """Fold the error of the event of this number into the means, in place, and notice a change."""
    lately, usually, squares, since = watch[LATELY], watch[USUALLY], watch[SQUARES], watch[SINCE] + 1.0
    rate = max(1.0 / since, LONG)
    lately += SHORT * (error - lately)
    usually += rate * (error - usually)
    squares += rate * (error * error - squares)
    variance = max(squares - usually * usually, 0.0)
    if since >= PATIENCE and min(usually, 0.0) - lately > DEVIATIONS * math.sqrt(variance / WORTH) + RARE:
        since = 0.0
        watch[EPOCH] = number
        watch[N_CHANGES] += 1.0
    watch[LATELY], watch[USUALLY], watch[SQUARES], watch[SINCE] = lately, usually, squares, since
