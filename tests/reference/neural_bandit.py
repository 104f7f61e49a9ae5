"""A slow, obvious twin of NeuralBandit: every member's networks apart, gradients by the chain rule, plain Exp3."""

import numpy as np
from tests.reference.standardisation import Standardiser


class Member:
    """One network for each action; `hidden` is (actions, width + 1, units), `outputs` (actions, units)."""

    def __init__(self, hidden, outputs, rate):
        self.hidden, self.outputs = hidden.copy(), outputs.copy()
        self.constants = np.zeros(hidden.shape[0])
        self.rate = rate
        self.gain = 0.0

    def predictions(self, x):
        return np.array(
            [self.constants[k] + self.outputs[k] @ softsign(x @ hidden) for k, hidden in enumerate(self.hidden)]
        )

    def gradient_flow(self, x, action, reward, weight):
        """Gradient flow on the linearised network for the time rate * weight."""
        z = x @ self.hidden[action]
        by_output = softsign(z)
        by_hidden = np.outer(x, self.outputs[action] / (1 + np.abs(z)) ** 2)
        square = 1 + (by_output**2).sum() + (by_hidden**2).sum()
        error = reward - self.predictions(x)[action]
        step = error * (1 - np.exp(-self.rate * weight * square)) / square
        self.constants[action] += step
        self.outputs[action] += step * by_output
        self.hidden[action] += step * by_hidden


class NeuralBandit:
    def __init__(self, members, width, gamma, explore):
        self.features = Standardiser(width)
        self.members = members
        self.gamma, self.explore = gamma, explore

    def member_probabilities(self):
        weights = np.exp([self.explore / len(self.members) * member.gain for member in self.members])
        return (1 - self.explore) * weights / weights.sum() + self.explore / len(self.members)

    def action_probabilities(self, row):
        """A row per member: its highest prediction, shared by ties, and gamma over all actions."""
        predictions = [member.predictions(self.features.transform(row)) for member in self.members]
        is_best = np.array([(each == each.max()) / (each == each.max()).sum() for each in predictions])
        return (1 - self.gamma) * is_best + self.gamma / is_best.shape[1]

    def probabilities(self, row):
        return self.member_probabilities() @ self.action_probabilities(row)

    def learn(self, row, action, reward, probability):
        own = self.action_probabilities(row)[:, action]
        x = self.features.transform(row)
        for member, share in zip(self.members, own, strict=True):
            member.gain += share * reward / probability
            member.gradient_flow(x, action, reward, 1 / probability)
        self.features.learn(row)


def softsign(z):
    return z / (1 + np.abs(z))
