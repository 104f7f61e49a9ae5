"""A slow, obvious twin of the Banditron: Kakade, Shalev-Shwartz, Tewari 2008, Algorithm 1."""

import numpy as np
from tests.reference.standardisation import Standardiser


class Banditron:
    def __init__(self, n_actions, width, gamma):
        self.features = Standardiser(width)
        self.weights = np.zeros((n_actions, width + 1))
        self.gamma = gamma

    def greedy(self, row):
        """Probability 1 for the highest score, shared by ties."""
        scores = self.weights @ self.features.transform(row)
        is_best = scores == scores.max()
        return is_best / is_best.sum()

    def probabilities(self, row):
        return (1 - self.gamma) * self.greedy(row) + self.gamma / len(self.weights)

    def learn(self, row, action, reward, probability):
        x = self.features.transform(row)
        reward_estimate = np.zeros(len(self.weights))
        reward_estimate[action] = reward / probability
        self.weights += np.outer(reward_estimate - self.greedy(row), x)
        self.features.learn(row)
