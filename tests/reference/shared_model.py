"""The linear model that all actions share through their features, in dicts and 64-bit floats."""

import math
from collections import defaultdict


def standard_deviation(mean):
    """Of rewards with this mean: Bernoulli's, and a little more."""
    return math.sqrt(max(mean * (1 - mean), 0) + 0.1)


class SharedModel:
    """Weights by context code and action feature; an action's features are a dict without zeros."""

    def __init__(self, features):
        self.features = features
        self.weights, self.counts = defaultdict(float), defaultdict(float)

    def predict(self, codes, action):
        """The sum of weights times features."""
        z = self.features[action]
        return sum(self.weights[code, name] * value for code in codes for name, value in z.items())

    def uncertainty(self, codes, action):
        """The mean of 1 / sqrt(1 + sum of squares) over codes and features, times the deviation of rewards."""
        z, score = self.features[action], min(max(self.predict(codes, action), 0), 1)
        by_feature = {
            name: sum(1 / math.sqrt(1 + self.counts[code, name]) for code in codes) / len(codes) for name in z
        }
        squares = sum(value**2 for value in z.values())
        return sum(value**2 * by_feature[name] for name, value in z.items()) / squares * standard_deviation(score)

    def learn(self, codes, action, reward):
        """Learn one event by normalised steps of 1/n."""
        error, z = reward - self.predict(codes, action), self.features[action]
        for code in codes:
            for name, value in z.items():
                self.counts[code, name] = min(self.counts[code, name] + value**2, 4096)
        rates = {(code, name): 1 / max(self.counts[code, name], 1) for code in codes for name in z}
        total = sum(rate * z[name] ** 2 for (_, name), rate in rates.items())
        for (code, name), rate in rates.items():
            self.weights[code, name] += error * (1 - math.exp(-total)) / total * z[name] * rate
        return error


def shrunk(own, by_features, mean, strength):
    """Score and uncertainty of an action, shrunk towards those by its features; `mean` is the forest's."""
    plays = (standard_deviation(mean) / own[1]) ** 2 - 1
    share = strength / (plays + strength)
    targets = (min(max(by_features[0], 0), 1), by_features[1])
    return [(1 - share) * mine + share * theirs for mine, theirs in zip(own, targets, strict=True)]
