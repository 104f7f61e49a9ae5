"""A slow, obvious twin of NeuralBandit: every member's networks apart, gradients by the chain rule, plain Exp3."""

import numpy as np
from tests.reference.features import Features


class Member:
    """One network for each action; `hidden` is (actions, width + 1, units), `outputs` (actions, units)."""

    def __init__(self, hidden, outputs, rate):
        self.hidden, self.outputs = hidden.copy(), outputs.copy()
        self.constants = np.zeros(hidden.shape[0])
        self.rate = rate
        self.gain = 0.0

    def guesses(self, x):
        return np.array(
            [self.constants[k] + self.outputs[k] @ soft(x @ hidden) for k, hidden in enumerate(self.hidden)]
        )

    def correct(self, x, action, reward, weight):
        """The path that gradient descent with tiny steps would take along the tangent, for the time rate * weight."""
        z = x @ self.hidden[action]
        by_output = soft(z)
        by_hidden = np.outer(x, self.outputs[action] / (1 + np.abs(z)) ** 2)
        square = 1 + (by_output**2).sum() + (by_hidden**2).sum()
        error = reward - self.guesses(x)[action]
        step = error * (1 - np.exp(-self.rate * weight * square)) / square
        self.constants[action] += step
        self.outputs[action] += step * by_output
        self.hidden[action] += step * by_hidden


class NeuralBandit:
    def __init__(self, members, width, gamma, explore):
        self.features = Features(width)
        self.members = members
        self.gamma, self.explore = gamma, explore

    def trust(self):
        weights = np.exp([self.explore / len(self.members) * member.gain for member in self.members])
        return (1 - self.explore) * weights / weights.sum() + self.explore / len(self.members)

    def member_probabilities(self, row):
        """A row per member: its highest guess, where ties share, and gamma for all."""
        guesses = [member.guesses(self.features.seen(row)) for member in self.members]
        leads = np.array([(each == each.max()) / (each == each.max()).sum() for each in guesses])
        return (1 - self.gamma) * leads + self.gamma / leads.shape[1]

    def probabilities(self, row):
        return self.trust() @ self.member_probabilities(row)

    def learn(self, row, action, reward, probability):
        own = self.member_probabilities(row)[:, action]
        x = self.features.seen(row)
        for member, share in zip(self.members, own, strict=True):
            member.gain += share * reward / probability
            member.correct(x, action, reward, 1 / probability)
        self.features.learn(row)


def soft(z):
    return z / (1 + np.abs(z))
