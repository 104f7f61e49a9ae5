"""The linear model that all actions share through their features, in dicts and 64-bit floats."""

import math
from collections import defaultdict


def standard_deviation(mean):
    """Of rewards with this mean: Bernoulli's, and a little more."""
    return math.sqrt(max(mean * (1 - mean), 0) + 0.1)


class SharedModel:
    """Weights by context code and action feature; an action's features are a dict without zeros."""

    def __init__(self, features, strength):
        self.features, self.strength = features, strength
        self.weights, self.counts = defaultdict(float), defaultdict(float)

    def predict(self, codes, action):
        """The sum of weights times features."""
        z = self.features[action]
        return sum(self.weights[code, name] * value for code in codes for name, value in z.items())

    def shrink(self, codes, scores, uncertainties, means):
        """Scores and uncertainties, shrunk towards the shared model's."""
        shrunk = []
        for action, z in enumerate(self.features):
            own = scores[action], uncertainties[action]
            if not z:
                shrunk.append(own)
                continue
            score = min(max(self.predict(codes, action), 0), 1)
            squares = sum(value**2 for value in z.values())
            by_feature = {
                name: sum(1 / math.sqrt(1 + self.counts[code, name]) for code in codes) / len(codes) for name in z
            }
            uncertainty = (
                sum(value**2 * by_feature[name] for name, value in z.items()) / squares * standard_deviation(score)
            )
            plays = (standard_deviation(means[action]) / uncertainties[action]) ** 2 - 1
            share = self.strength / (plays + self.strength)
            shrunk.append(
                tuple(
                    (1 - share) * mine + share * theirs for mine, theirs in zip(own, (score, uncertainty), strict=True)
                )
            )
        return [list(column) for column in zip(*shrunk, strict=True)]

    def learn(self, codes, action, reward):
        """Learn one event by normalised steps of 1/n."""
        error, z = reward - self.predict(codes, action), self.features[action]
        if not z:
            return
        for code in codes:
            for name, value in z.items():
                self.counts[code, name] = min(self.counts[code, name] + value**2, 4096)
        rates = {(code, name): 1 / max(self.counts[code, name], 1) for code in codes for name in z}
        total = sum(rate * z[name] ** 2 for (_, name), rate in rates.items())
        for (code, name), rate in rates.items():
            self.weights[code, name] += error * (1 - math.exp(-total)) / total * z[name] * rate
