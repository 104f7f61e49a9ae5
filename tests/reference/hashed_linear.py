"""Two steps of online linear regression on hashed features, AdaGrad-like and 1/n, in dicts and 64-bit floats."""

import math
from collections import defaultdict


class HashedLinear:
    """The weights of one action; a context is the list of the slots of its features, each of value 1."""

    def __init__(self):
        self.weights, self.past = defaultdict(float), defaultdict(float)

    def predict(self, slots):
        """The sum of the features' weights."""
        return sum(self.weights[slot] for slot in slots)

    def adagrad_step(self, slots, error, learning_rate, scale):
        """Rates v G^(-1/2), with G the sum of 4 error^2."""
        for slot in slots:
            self.past[slot] += 4 * error**2
        self.step(
            error, learning_rate, {slot: scale / math.sqrt(self.past[slot]) for slot in slots if self.past[slot] > 0.0}
        )

    def averaging_step(self, slots, error, learning_rate, n_slots, max_events=4096):
        """Rates 1 / n, with n at most `max_events`."""
        for slot in slots:
            self.past[slot] = min(self.past[slot] + 1, max_events)
        self.step(error, learning_rate, {slot: 1 / self.past[slot] for slot in slots}, 1 + (len(slots) - 1) / n_slots)

    def step(self, error, learning_rate, rates, collisions=1.0):
        """Move every weight by its rate; implicit, so that the prediction never passes the reward."""
        total = sum(rates.values()) * collisions
        for slot, rate in rates.items():
            self.weights[slot] += error * (1 - math.exp(-learning_rate * total)) / total * rate
