"""A slow, obvious twin of LinUCB: A and b of Li et al. 2010, Algorithm 1, inverted anew for every score."""

import numpy as np
from tests.reference.standardisation import Standardiser


class RidgeRegression:
    def __init__(self, n_actions, width, ridge):
        self.features = Standardiser(width)
        self.a = [ridge * np.eye(width + 1) for _ in range(n_actions)]
        self.b = [np.zeros(width + 1) for _ in range(n_actions)]

    def scores_and_uncertainties(self, row):
        x = self.features.transform(row)
        inverses = [np.linalg.inv(a) for a in self.a]
        scores = [inverse @ b @ x for inverse, b in zip(inverses, self.b, strict=True)]
        return np.array(scores), np.array([np.sqrt(x @ inverse @ x) for inverse in inverses])

    def learn(self, row, action, reward):
        x = self.features.transform(row)
        self.a[action] += np.outer(x, x)
        self.b[action] += reward * x
        self.features.learn(row)
