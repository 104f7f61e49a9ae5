"""The linear scorers' two steps, written from the words about them, in dicts and wide numbers."""

import math
from collections import defaultdict


class Twin:
    """Weights of one action; every slot in play is one feature."""

    def __init__(self):
        self.weights, self.past = defaultdict(float), defaultdict(float)

    def predict(self, slots):
        """The sum of the weights in play."""
        return sum(self.weights[slot] for slot in slots)

    def follow(self, slots, error, haste, scale):
        """Rates v G^(-1/2)."""
        for slot in slots:
            self.past[slot] += 4 * error**2
        self.move(error, haste, {slot: scale / math.sqrt(self.past[slot]) for slot in slots if self.past[slot] > 0.0})

    def settle(self, slots, error, haste, n_slots, longest=4096):
        """Rates 1 / n, with n at most `longest`."""
        for slot in slots:
            self.past[slot] = min(self.past[slot] + 1, longest)
        self.move(error, haste, {slot: 1 / self.past[slot] for slot in slots}, 1 + (len(slots) - 1) / n_slots)

    def move(self, error, haste, rates, shared=1.0):
        """Every weight by its rate, all of them together never past the reward."""
        total = sum(rates.values()) * shared
        for slot, rate in rates.items():
            self.weights[slot] += error * (1 - math.exp(-haste * total)) / total * rate
