"""Pick one of several scored candidates."""

from stumpery.jit import kernel
from stumpery.random import integer, uniform
from stumpery.types import Floats, RandomState


@kernel
def pick(scores: Floats, rng: RandomState, epsilon: float) -> tuple[int, float]:
    """Draw one of the best, or with the probability `epsilon` any candidate; give it and the probability of this pick."""
    n = scores.shape[0]
    best = scores[0]
    n_best = 0
    for place in range(n):
        if scores[place] > best:
            best = scores[place]
            n_best = 0
        if scores[place] == best:
            n_best += 1
    chosen = 0
    if epsilon > 0.0 and uniform(rng) < epsilon:
        chosen = integer(rng, n)
    else:
        left = integer(rng, n_best) if n_best > 1 else 0
        for place in range(n):
            if scores[place] == best:
                chosen = place
                if left == 0:
                    break
                left -= 1
    probability = epsilon / n
    if scores[chosen] == best:
        probability += (1.0 - epsilon) / n_best
    return chosen, probability
