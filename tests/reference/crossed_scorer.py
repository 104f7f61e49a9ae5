"""Scores by features of actions with dense sums, inverted anew for every score; products are named, not numbered."""

import math

import numpy as np

RIDGE = 1.0
WIDTH = 0.35
QUALITY_PRIOR, QUALITY_VARIANCE = 10.0, 1.0
MAX_EXACT_TERMS = 16
MANY_PLAYS, SPARSE_EVENTS = 16, 4
DECAY = 1.0 - 1.0 / 2000.0


class CrossedScorer:
    """Ridge regression over pairs of a row's features and an action's terms.

    `terms` has a dict of numbers for each action, empty where it has no features. Features of rows are those of a
    ridge scorer: the constant, and names with values.
    """

    def __init__(self, terms, n_places):
        self.terms, self.n_places = terms, n_places
        self.n_terms = len({name for each in terms for name in each})
        self.places = {"constant"}
        self.pairs, self.gram, self.totals = [], np.zeros((0, 0)), np.zeros(0)
        self.plays = 0
        self.quality = [[] for _ in terms]
        self.crossed_error = self.shared_error = 0.0

    def product(self, features, action):
        """The numbers of the pairs that a row and an action have."""
        known = {"constant": 1.0, **{name: value for name, value in features.items() if name in self.places}}
        return {(name, term): x * z for name, x in known.items() for term, z in self.terms[action].items()}

    def vector(self, product):
        """The numbers in the order of the pairs seen so far; another pair has no weight yet."""
        return np.array([product.get(pair, 0.0) for pair in self.pairs])

    def score(self, features, action):
        """The score without quality."""
        if not self.pairs:
            return 0.0
        a = self.gram + RIDGE * np.eye(len(self.pairs))
        return float(self.vector(self.product(features, action)) @ np.linalg.solve(a, self.totals))

    def uncertainty(self, features, action):
        """The width of a score: its standard error, and that of the action's quality."""
        known = {"constant": 1.0, **{name: value for name, value in features.items() if name in self.places}}
        z = self.terms[action]
        groups = [{term: value} for term, value in z.items()] if len(z) > MAX_EXACT_TERMS else [z]
        square = 0.0
        for group in groups:
            product = {(name, term): x * value for name, x in known.items() for term, value in group.items()}
            pairs = [*self.pairs, *(pair for pair in product if pair not in self.pairs)]
            a = RIDGE * np.eye(len(pairs))
            a[: len(self.pairs), : len(self.pairs)] += self.gram
            u = np.array([product.get(pair, 0.0) for pair in pairs])
            square += u @ np.linalg.solve(a, u)
        return WIDTH * math.sqrt(square + QUALITY_VARIANCE / (len(self.quality[action]) + QUALITY_PRIOR))

    def quality_of(self, action):
        """The shrunk mean of an action's errors."""
        return sum(self.quality[action]) / (len(self.quality[action]) + QUALITY_PRIOR)

    def is_better(self):
        """Whether its errors were no larger than the shared model's."""
        return self.n_places > 0 and self.crossed_error <= self.shared_error

    def learn(self, names, features, action, reward, shared_error, key):
        """Learn one event; with many plays one in four by the key. `names` are those of the row's features."""
        is_learned = self.plays < MANY_PLAYS * len(self.places) * self.n_terms or (key >> 48) % SPARSE_EVENTS == 0
        self.plays += 1
        if not is_learned:
            return
        for name in names:
            if len(self.places) < self.n_places:
                self.places.add(name)
        error = reward - self.score(features, action)
        self.crossed_error = DECAY * self.crossed_error + error**2
        self.shared_error = DECAY * self.shared_error + shared_error**2
        product = self.product(features, action)
        new = [pair for pair in product if pair not in self.pairs]
        self.pairs += new
        self.gram = np.pad(self.gram, ((0, len(new)), (0, len(new))))
        self.totals = np.append(self.totals, np.zeros(len(new)))
        u = self.vector(product)
        self.gram += np.outer(u, u)
        self.totals += reward * u
