"""The choice of one of several scored candidates, with its probability."""

from stumpery.jit import kernel
from stumpery.random import integer, uniform
from stumpery.types import Floats, RandomState


@kernel
def choose(scores: Floats, rng: RandomState, epsilon: float) -> tuple[int, float]:
    """Draw one of the best candidates, or with probability `epsilon` any; return its index and probability."""
    n = scores.shape[0]
    best = scores[0]
    n_best = 0
    for index in range(n):
        if scores[index] > best:
            best = scores[index]
            n_best = 0
        if scores[index] == best:
            n_best += 1
    chosen = 0
    if epsilon > 0.0 and uniform(rng) < epsilon:
        chosen = integer(rng, n)
    else:
        left = integer(rng, n_best) if n_best > 1 else 0
        for index in range(n):
            if scores[index] == best:
                chosen = index
                if left == 0:
                    break
                left -= 1
    probability = epsilon / n
    if scores[chosen] == best:
        probability += (1.0 - epsilon) / n_best
    return chosen, probability
