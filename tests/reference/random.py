"""xoshiro256++ in Python's whole numbers, after the C code of Blackman and Vigna, and draws from distributions."""

import math

import numpy as np

MASK = 2**64 - 1


def rotated(word, bits):
    return ((word << bits) & MASK) | (word >> (64 - bits))


def words(state, n):
    """The next n words of xoshiro256++ from four words of state, and the state after them."""
    s = [int(part) for part in state]
    drawn = []
    for _ in range(n):
        drawn.append((rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
    return drawn, s


class Generator:
    """Draws from one stream of a seed; the distributions are those of the papers that are named."""

    def __init__(self, seed, stream=0):
        self.state = np.random.SeedSequence([seed, stream]).generate_state(4, np.uint64).tolist()

    def word(self):
        """64 random bits."""
        (drawn,), self.state = words(self.state, 1)
        return drawn

    def uniform(self):
        """From [0, 1), of the first 53 bits."""
        return (self.word() >> 11) / 2**53

    def integer(self, n):
        """From 0, ..., n - 1."""
        return math.floor(self.uniform() * n)

    def normal(self):
        """Marsaglia and Bray 1964: the first of the pair that a point in the unit disc gives."""
        while True:
            x, y = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            if 0 < x * x + y * y < 1:
                return x * math.sqrt(-2 * math.log(x * x + y * y) / (x * x + y * y))

    def gamma(self, shape):
        """Marsaglia and Tsang 2000; below a shape of 1 by the shape above and a power of a uniform draw."""
        if shape < 1:
            factor = (1 - self.uniform()) ** (1 / shape)
            return factor * self.gamma(shape + 1)
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / math.sqrt(9 * d)) ** 3
            if v <= 0:
                continue
            u = 1 - self.uniform()
            if u < 1 - 0.0331 * x**4 or math.log(u) < x**2 / 2 + d * (1 - v + math.log(v)):
                return d * v

    def beta(self, a, b):
        """The share of one Gamma draw in the sum of two."""
        x, y = self.gamma(a), self.gamma(b)
        return x / (x + y)
