"""Slow, obvious twins of online feature selection: whole vectors with zeros, straight from the algorithms' lines."""

import math

import numpy as np
from tests.reference.random import Generator


class Thompson:
    """Algorithm 1, with the sets of size M."""

    def __init__(self, n_features, size, seed, prior=(1.0, 1.0)):
        self.rng, self.size, self.prior = Generator(seed), size, prior
        self.n, self.r = np.zeros(n_features), np.zeros(n_features)

    def choose(self, classifier):
        theta = [self.rng.beta(self.prior[0] + r, self.prior[1] + n - r) for n, r in zip(self.n, self.r, strict=True)]
        return largest(theta, self.size)

    def reward(self, chosen, success):
        self.n[chosen] += 1
        self.r[chosen] += success


class UpperConfidence(Thompson):
    def choose(self, classifier):
        self.time = getattr(self, "time", 0) + 1
        with np.errstate(all="ignore"):
            bounds = self.r / self.n + np.sqrt(0.5 * np.log(self.time) / self.n)
        return largest(np.where(self.n == 0, np.inf, bounds), self.size)


class EpsilonGreedy:
    """Lines 6 to 11 of Algorithms 3 and 4."""

    def __init__(self, n_features, size, seed, epsilon):
        self.rng, self.size, self.epsilon, self.n_features = Generator(seed), size, epsilon, n_features

    def choose(self, classifier):
        if self.rng.uniform() < self.epsilon:
            return random_subset(self.rng, self.n_features, self.size)
        if isinstance(classifier, SparsePerceptron):
            return [k for k in largest(np.abs(classifier.w), self.size) if classifier.w[k] != 0]
        return largest(classifier.sizes(), self.size)

    def reward(self, chosen, success):
        pass


class LossReduction:
    """Thompson sampling of the loss that each feature saves, after ten observations of each."""

    def __init__(self, n_features, size, seed, first=10, width=0.5):
        self.rng, self.size, self.first, self.width = Generator(seed), size, first, width

    def choose(self, classifier):
        draws = []
        for k in range(len(classifier.count)):
            if classifier.count[k] < self.first:
                draws.append(1e6 - classifier.count[k] + self.rng.uniform())
            else:
                deviation = self.width * self.rng.normal() / math.sqrt(classifier.count[k])
                draw = math.sqrt(classifier.loss_reduction(k)) + deviation
                draws.append(draw * abs(draw))
        return largest(draws, self.size)

    def reward(self, chosen, success):
        pass


class AllFeatures:
    def __init__(self, n_features, size, seed):
        self.n_features = n_features

    def choose(self, classifier):
        return list(range(self.n_features))

    def reward(self, chosen, success):
        pass


class Perceptron:
    """Algorithm 4, lines 13 to 21."""

    def __init__(self, n_features, size, *, rate=0.2, truncated=True):
        self.w, self.size, self.rate, self.truncated = np.zeros(n_features), size, rate, truncated

    def sizes(self):
        return np.abs(self.w)

    def score(self, chosen, v):
        return 1.0 if self.w @ v >= 0 else -1.0

    def learn(self, chosen, v, p, c):
        if p * c < 0:
            self.w = self.w + self.rate * c * v
            if self.truncated:
                self.w = truncate(self.w, self.size)

    def mistake(self, p, c):
        return p * c < 0

    def success(self, p, c):
        return p * c >= 0


class SparsePerceptron(Perceptron):
    """Algorithm 3, lines 13 to 22."""

    def __init__(self, n_features, size, *, epsilon, rate=0.2, radius=0.1):
        super().__init__(n_features, size, rate=rate)
        self.epsilon, self.radius = epsilon, radius

    def score(self, chosen, v):
        return self.w @ v

    def learn(self, chosen, v, p, c):
        if p * c <= 0:
            share = self.size / len(self.w)
            w = self.w + self.rate * c * v / (share * self.epsilon + (self.w != 0) * (1 - self.epsilon))
            norm = math.sqrt(w @ w)
            if norm > 0:
                w = min(1.0, self.radius / norm) * w
            self.w = truncate(w, self.size)

    def mistake(self, p, c):
        return p * c <= 0


class Network:
    """A multilayer perceptron of two layers; `weights` are the initial ones, flat as the selector keeps them."""

    def __init__(self, n_features, weights, *, n_hidden=2, rate=0.2, logistic=False):
        cut = n_features * n_hidden
        self.inputs = weights[:cut].reshape(n_features, n_hidden).copy()
        self.constants, self.outputs = weights[cut : cut + n_hidden].copy(), weights[cut + n_hidden : -1].copy()
        self.constant, self.rate, self.logistic = weights[-1], rate, logistic

    def sizes(self):
        return np.abs(self.inputs * self.outputs).sum(axis=1)

    def unit(self, z):
        return 1 / (1 + np.exp(-z)) if self.logistic else np.tanh(z)

    def slope(self, u):
        return u * (1 - u) if self.logistic else 1 - u**2

    def score(self, chosen, v):
        self.hidden = self.unit(v @ self.inputs + self.constants)
        self.output = self.unit(self.hidden @ self.outputs + self.constant)
        return 2 * self.output - 1 if self.logistic else self.output

    def learn(self, chosen, v, p, c):
        target = (c + 1) / 2 if self.logistic else c
        delta = self.rate * (target - self.output) * self.slope(self.output)
        back = delta * self.outputs * self.slope(self.hidden)
        self.constant += delta
        self.outputs += delta * self.hidden
        self.constants += back
        self.inputs += np.outer(v, back)

    def mistake(self, p, c):
        return p * c < 0

    def success(self, p, c):
        return p * c >= 0


class Additive:
    """An additive logistic model: weights by key in a dict; pairs of features by the same hash."""

    def __init__(self, n_features, *, rate=0.15, pairs=0.5, memory=5000):
        self.w, self.squares = {}, {}
        self.errors, self.curves = np.zeros((n_features, 8)), np.zeros((n_features, 8))
        self.count, self.level = np.zeros(n_features), np.zeros(n_features)
        self.rate, self.pairs, self.memory = rate, pairs, memory

    def loss_reduction(self, k):
        saved = (self.errors[k] ** 2 / (self.curves[k] + 1)).sum()
        by_chance = (self.curves[k] / (self.curves[k] + 1)).sum() - 1
        return max(saved - max(by_chance, 0), 0) / self.count[k]

    def names(self, chosen, v):
        """Keys of the tables and pairs that apply, each with the features that they belong to."""
        bins = {k: min(max(math.floor(v[k] * 5), -16), 15) + 16 for k in chosen}
        tables = [((kind, k, bins[k] // (1 if kind == "narrow" else 4)), (k,)) for k in chosen for kind in KINDS]
        pairs = [
            (("pair", pair_hash(k * 8 + bins[k] // 4, other * 8 + bins[other] // 4)), (k, other))
            for place, k in enumerate(chosen)
            for other in chosen[:place]
        ]
        return bins, tables, pairs

    def score(self, chosen, v):
        self.bins, self.tables, self.in_pairs = self.names(chosen, v)
        self.own = {k: -self.level[k] for k in chosen}
        for name, features in self.tables + self.in_pairs:
            for k in features:
                self.own[k] += self.w.get(name, 0.0)
        total = self.w.get("constant", 0.0) - self.level[chosen].sum()
        return total + sum(self.w.get(name, 0.0) for name, _ in self.tables + self.in_pairs)

    def learn(self, chosen, v, p, c):
        for k in chosen:
            wrong = 1 / (1 + math.exp(c * (p - self.own[k])))
            if self.count[k] >= self.memory:
                for sums in (self.errors, self.curves, self.count):
                    sums[k] *= 1 - 1 / self.memory
            self.errors[k, self.bins[k] // 4] += c * wrong
            self.curves[k, self.bins[k] // 4] += wrong * (1 - wrong)
            self.count[k] += 1
        slope = -c / (1 + math.exp(c * p))
        self.step("constant", self.rate, slope)
        for name, _ in self.tables:
            self.step(name, self.rate, slope)
        for k in chosen:
            told = sum(self.w[name] for name, (feature,) in self.tables if feature == k)
            self.level[k] += (told - self.level[k]) / min(max(self.count[k], 1), 500)
        for name, _ in self.in_pairs:
            self.step(name, self.rate * self.pairs * 2 / (len(chosen) - 1), slope)

    def step(self, name, rate, slope):
        self.squares[name] = self.squares.get(name, 0.0) + slope**2
        self.w[name] = self.w.get(name, 0.0) - rate * slope / math.sqrt(1 + self.squares[name])

    def mistake(self, p, c):
        return (p >= 0) != (c > 0)

    def success(self, p, c):
        return not self.mistake(p, c)


KINDS = ("narrow", "wide")


class Selector:
    """Algorithm 2, with rows that are standardised already or, `online`, by the moments of what was observed before."""

    def __init__(self, chooser, classifier, n_features, *, online=False):
        self.chooser, self.classifier, self.online = chooser, classifier, online
        self.observed = [(0, 0.0, 0.0)] * n_features  # count, mean, squares: bins' edges are sensitive to the last bit

    def round(self, row, c):
        """The chosen set, the score and whether it was a mistake; missing values count as not seen."""
        chosen = list(self.chooser.choose(self.classifier))
        seen = [k for k in chosen if not math.isnan(row[k])]
        v = np.zeros(len(row))
        for k in seen:
            v[k] = self.standard(k, row[k]) if self.online else row[k]
        p = self.classifier.score(seen, v)
        self.classifier.learn(seen, v, p, c)
        self.chooser.reward(chosen, self.classifier.success(p, c))
        for k in seen:
            count, mean, squares = self.observed[k]
            new = mean + (row[k] - mean) * (1 / (count + 1))
            self.observed[k] = count + 1, new, squares + (row[k] - mean) * (row[k] - new)
        return chosen, p, self.classifier.mistake(p, c)

    def standard(self, k, value):
        count, mean, squares = self.observed[k]
        if squares <= 0:
            return 0.0
        return min(max((value - mean) / math.sqrt(squares / count), -math.sqrt(count)), math.sqrt(count))


def largest(scores, size):
    return sorted(range(len(scores)), key=lambda k: -scores[k])[:size]


def random_subset(rng, n, size):
    chosen = []
    for last in range(n - size, n):
        k = rng.integer(last + 1)
        chosen.append(last if k in chosen else k)
    return chosen


def truncate(w, size):
    kept = largest(np.abs(w), size)
    return np.array([value if k in kept else 0.0 for k, value in enumerate(w)])


def pair_hash(first, second):
    low, high = min(first, second), max(first, second)
    key = (low * 2654435761 + high * 2246822519) % 2**32
    key = ((key ^ (key >> 15)) * 2246822519) % 2**32
    return (key ^ (key >> 13)) % 2**16
