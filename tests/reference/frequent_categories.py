"""Counts of frequent categories as lists, and steps of weights with a prior, every formula written out here."""

import math
from collections import defaultdict

WAYS, PRIOR = 8, 8  # entries of a bucket; events that a weight has had beforehand
GOLDEN = 0x9E3779B97F4A7C15


class CategoryBucket:
    """The categories of a bucket and their counts; None where there is none."""

    def __init__(self):
        self.names, self.counts = [None] * WAYS, [0.0] * WAYS

    def count(self, name, is_halving):
        """Count a category; say which place it has taken, if it is new there."""
        if name in self.names:
            self.counts[self.names.index(name)] += 1
            return None
        if None in self.names:
            place = self.names.index(None)
        else:
            if is_halving:
                self.counts = [count / 2 for count in self.counts]
            place = self.counts.index(min(self.counts))
            if self.counts[place] > 1:
                self.counts[place] -= 1
                return None
        self.names[place], self.counts[place] = name, 1.0
        return place


class PairWeights:
    """Weights of one action with rates 1 / n, or 1 / (n + PRIOR) for the pairs of frequent categories."""

    def __init__(self):
        self.weights, self.counts = defaultdict(float), defaultdict(int)

    def learn(self, plain, others, error, learning_rate, n_slots):
        """Move all weights by shares of the error; implicit, so that the prediction never passes the reward."""
        slots = [*plain, *others]
        rates = []
        for place, slot in enumerate(slots):
            self.counts[slot] += 1
            rates.append(1 / (self.counts[slot] + (PRIOR if place >= len(plain) else 0)))
        total = sum(rates) * (1 + (len(slots) - 1) / n_slots)
        for slot, rate in zip(slots, rates, strict=True):
            self.weights[slot] += error * (1 - math.exp(-learning_rate * total)) / total * rate


def pair_slots(plain, others, n_slots):
    """The slots of each further code with all plain ones, with those before it and with itself."""
    codes = [*plain, *others]
    return [
        ((code * 2**32 + other) * GOLDEN % 2**64 >> 40) % n_slots
        for place, code in enumerate(codes)
        if place >= len(plain)
        for other in codes[: place + 1]
    ]
