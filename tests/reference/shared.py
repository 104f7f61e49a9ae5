"""The scorer that all actions share, written from the words about it, in dicts and wide numbers."""

import math
from collections import defaultdict


def spread(mean):
    """A uncertainty's unit."""
    return math.sqrt(max(mean * (1 - mean), 0) + 0.1)


class Twin:
    """Weights by code and feature; an action's features are a dict without zeros."""

    def __init__(self, features, strength):
        self.features, self.strength = features, strength
        self.weights, self.past = defaultdict(float), defaultdict(float)

    def raw(self, codes, action):
        """The sum of weights times features."""
        z = self.features[action]
        return sum(self.weights[code, name] * value for code in codes for name, value in z.items())

    def lend(self, codes, scores, uncertainties, means):
        """Scores and uncertainties with what is borrowed."""
        lent = []
        for action, z in enumerate(self.features):
            own = scores[action], uncertainties[action]
            if not z:
                lent.append(own)
                continue
            score = min(max(self.raw(codes, action), 0), 1)
            squares = sum(value**2 for value in z.values())
            unsure = {name: sum(1 / math.sqrt(1 + self.past[code, name]) for code in codes) / len(codes) for name in z}
            uncertainty = sum(value**2 * unsure[name] for name, value in z.items()) / squares * spread(score)
            plays = (spread(means[action]) / uncertainties[action]) ** 2 - 1
            share = self.strength / (plays + self.strength)
            lent.append(
                tuple(
                    (1 - share) * mine + share * theirs for mine, theirs in zip(own, (score, uncertainty), strict=True)
                )
            )
        return [list(column) for column in zip(*lent, strict=True)]

    def learn(self, codes, action, reward):
        """One event."""
        error, z = reward - self.raw(codes, action), self.features[action]
        if not z:
            return
        for code in codes:
            for name, value in z.items():
                self.past[code, name] = min(self.past[code, name] + value**2, 4096)
        rates = {(code, name): 1 / max(self.past[code, name], 1) for code in codes for name in z}
        total = sum(rate * z[name] ** 2 for (_, name), rate in rates.items())
        for (code, name), rate in rates.items():
            self.weights[code, name] += error * (1 - math.exp(-total)) / total * z[name] * rate
