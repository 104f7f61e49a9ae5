"""Seeded random numbers inside kernels: the generator xoshiro256++ and draws from common distributions.

The state (Blackman and Vigna 2019) is an array of four words, changed in place by every draw. So it can be saved,
compared and sent elsewhere, and is one cheap argument of a kernel. The same seed gives the same draws on every machine,
compiled or not.
"""

import math

import numpy as np

from stumpery.jit import kernel
from stumpery.options import check_whole
from stumpery.types import Floats, RandomState

N_WORDS = 4
_U = np.uint64
_TO_UNIT = 2.0**-53
_SMALL_MEAN = 10.0


def new_generator(seed: int, stream: int = 0) -> RandomState:
    """A generator's initial state; each `stream` of a seed is independent of the others."""
    check_whole("seed", seed, 0, 2**63 - 1)
    return np.random.SeedSequence([seed, stream]).generate_state(N_WORDS, np.uint64).astype(np.uint64)


@kernel
def word(rng: RandomState) -> np.uint64:
    """Draw 64 random bits."""
    first, second, third, fourth = rng[0], rng[1], rng[2], rng[3]
    total = first + fourth
    result: np.uint64 = ((total << _U(23)) | (total >> _U(41))) + first
    third ^= first
    fourth ^= second
    rng[1] = second ^ third
    rng[0] = first ^ fourth
    rng[2] = third ^ (second << _U(17))
    rng[3] = (fourth << _U(45)) | (fourth >> _U(19))
    return result


@kernel
def uniform(rng: RandomState) -> float:
    """Draw from [0, 1), 53 random bits."""
    return float(word(rng) >> _U(11)) * _TO_UNIT


@kernel
def integer(rng: RandomState, n: int) -> int:
    """Draw from 0, ..., n - 1; the bias is below n / 2**53."""
    return int(uniform(rng) * n)


@kernel
def choice(rng: RandomState, weights: Floats) -> int:
    """Draw an index with a probability proportional to its weight; weights are at least 0 and not all 0."""
    total = 0.0
    for index in range(weights.shape[0]):
        total += weights[index]
    remaining = uniform(rng) * total
    last = 0
    for index in range(weights.shape[0]):
        if weights[index] > 0.0:
            last = index
            remaining -= weights[index]
            if remaining < 0.0:
                return index
    return last  # by rounding


@kernel
def normal(rng: RandomState) -> float:
    """Draw from the standard normal distribution (Marsaglia's polar method, one of the pair)."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def exponential(rng: RandomState) -> float:
    """Draw from the exponential distribution with mean 1."""
    return -math.log1p(-uniform(rng))


@kernel
def gamma(rng: RandomState, shape: float) -> float:
    """Draw from the Gamma distribution with scale 1 (Marsaglia and Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(rng)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(rng)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return boost * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return boost * d * v


@kernel
def beta(rng: RandomState, a: float, b: float) -> float:
    """Draw from the Beta distribution."""
    x = gamma(rng, a)
    y = gamma(rng, b)
    if x + y == 0.0:  # both shapes are so small that both draws underflow: nearly all mass is at 0 and 1
        return 1.0 if uniform(rng) * (a + b) < a else 0.0
    return x / (x + y)


@kernel
def poisson(rng: RandomState, mean: float) -> int:
    """Draw from the Poisson distribution: large means are reduced (Ahrens, Dieter 1974), the rest is inversion."""
    count = 0
    while mean > _SMALL_MEAN:
        m = int(0.875 * mean)
        time = gamma(rng, float(m))  # of the m-th event of a process with rate 1
        if time > mean:
            return count + binomial(rng, m - 1, mean / time)
        count += m
        mean -= time
    probability = math.exp(-mean)
    remaining = uniform(rng)
    n = 0
    while remaining >= probability > 0.0:
        remaining -= probability
        n += 1
        probability *= mean / n
    return count + n


@kernel
def binomial(rng: RandomState, n: int, p: float) -> int:
    """Draw from the binomial distribution: split at the median of the uniform draws until few trials are left."""
    count = 0
    while n > 16:
        middle = n // 2 + 1
        cut = beta(rng, float(middle), float(n + 1 - middle))
        if cut <= p:
            count += middle
            n -= middle
            p = (p - cut) / (1.0 - cut)
        else:
            n = middle - 1
            p = p / cut
    for _ in range(n):
        if uniform(rng) < p:
            count += 1
    return count
