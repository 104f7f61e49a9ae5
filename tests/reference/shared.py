"""The scorer that all actions share, written from the words about it, in dicts and wide numbers."""

import math
from collections import defaultdict

STRENGTHS = (0, 1, 4, 16, 64, 256, 1024)


def spread(mean):
    """A doubt's unit."""
    return math.sqrt(max(mean * (1 - mean), 0) + 0.1)


class Twin:
    """Weights by code and feature; an action's features are a dict without zeros."""

    def __init__(self, features):
        self.features = features
        self.weights, self.past = defaultdict(float), defaultdict(float)
        self.losses = [0.0] * len(STRENGTHS)

    @property
    def strength(self):
        """The one with the least loss, 4 where that is among the best."""
        least = min(self.losses)
        return 4 if self.losses[2] == least else STRENGTHS[self.losses.index(least)]

    def raw(self, codes, action):
        """The sum of weights times features."""
        z = self.features[action]
        return sum(self.weights[code, name] * value for code in codes for name, value in z.items())

    def lend(self, codes, scores, doubts, means):
        """Scores and doubts with what is borrowed."""
        self.loans, lent = [], []
        for action, z in enumerate(self.features):
            common = min(max(self.raw(codes, action), 0), 1)
            plays = (spread(means[action]) / doubts[action]) ** 2 - 1
            self.loans.append((scores[action], common, plays))
            unsure = sum(
                value**2 * sum(1 / math.sqrt(1 + self.past[code, name]) for code in codes) / len(codes)
                for name, value in z.items()
            )
            doubt = unsure / sum(value**2 for value in z.values()) * spread(common)
            c = self.strength
            share = c / (plays + c) if c else 0
            lent.append(
                (
                    (1 - share) * scores[action] + share * common,
                    (1 - share) * doubts[action] + share * doubt,
                )
            )
        return [score for score, _ in lent], [doubt for _, doubt in lent]

    def learn(self, codes, action, reward):
        """One event."""
        own, common, plays = self.loans[action]
        weight = 1 / math.sqrt(1 + plays)
        for place, c in enumerate(STRENGTHS):
            share = c / (plays + c) if c else 0
            error = reward - ((1 - share) * own + share * common)
            self.losses[place] = self.losses[place] * (1 - 0.005 * weight) + weight * error**2
        error = reward - self.raw(codes, action)
        z = self.features[action]
        for code in codes:
            for name, value in z.items():
                self.past[code, name] = min(self.past[code, name] + value**2, 4096)
        total = sum(value**2 / self.past[code, name] for code in codes for name, value in z.items())
        for code in codes:
            for name, value in z.items():
                self.weights[code, name] += error * (1 - math.exp(-total)) / total * value / self.past[code, name]
