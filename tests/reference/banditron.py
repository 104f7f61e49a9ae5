"""A slow, obvious twin of the Banditron: Kakade, Shalev-Shwartz, Tewari 2008, Algorithm 1."""

import numpy as np
from tests.reference.features import Features


class Banditron:
    def __init__(self, n_actions, width, gamma):
        self.features = Features(width)
        self.weights = np.zeros((n_actions, width + 1))
        self.gamma = gamma

    def leaders(self, row):
        """1 for the leader; leaders that tie share it."""
        scores = self.weights @ self.features.seen(row)
        leads = scores == scores.max()
        return leads / leads.sum()

    def probabilities(self, row):
        return (1 - self.gamma) * self.leaders(row) + self.gamma / len(self.weights)

    def learn(self, row, action, reward, probability):
        x = self.features.seen(row)
        gain = np.zeros(len(self.weights))
        gain[action] = reward / probability
        self.weights += np.outer(gain - self.leaders(row), x)
        self.features.learn(row)
