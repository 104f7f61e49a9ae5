"""The ridge scorer with dense sums, inverted anew for every score; features are named by column and code."""

import math

import numpy as np

RIDGE = 4.0
WIDTH = 0.5
N_CODES = 64  # of a column; all categories from the last on share it
MAX_SDS = 10.0
MANY_PLAYS, SPARSE_EVENTS = 16, 4


def splitmix64(key):
    """The finaliser of SplitMix64, in Python's whole numbers."""
    key %= 2**64
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB % 2**64
    return key ^ (key >> 31)


class RidgeScorer:
    """One ridge regression per action; `kinds` are "number", "bit" or "category"."""

    def __init__(self, kinds, n_actions, size):
        self.kinds, self.size = kinds, size
        self.a = [RIDGE * np.eye(size) for _ in range(n_actions)]
        self.b = [np.zeros(size) for _ in range(n_actions)]
        self.plays = [0] * n_actions
        self.values = [[] for _ in kinds]
        self.scales = [0.0 for _ in kinds]
        self.places = {}  # of a column and its code: the index and the sign
        self.n_used = 1

    def names(self, row):
        """Column and code of what a row has."""
        return [
            (column, min(int(value), N_CODES - 1) if kind == "category" else int(value > -math.inf))
            for column, (kind, value) in enumerate(zip(self.kinds, row, strict=True))
            if not (kind == "bit" and value == 0)
        ]

    def features(self, row):
        """The value of each column and code that a row has."""
        found = {}
        for column, (kind, value) in enumerate(zip(self.kinds, row, strict=True)):
            if kind == "category":
                found[column, min(int(value), N_CODES - 1)] = 1.0
            elif value == -math.inf:
                found[column, 0] = 1.0
            elif kind == "bit":
                found[column, 1] = float(value == 1.0)
            elif self.values[column]:
                deviation = (value - np.mean(self.values[column])) * self.scales[column]
                found[column, 1] = float(np.clip(deviation, -MAX_SDS, MAX_SDS))
        return {name: value for name, value in found.items() if value != 0.0}

    def vector(self, row):
        """A row's features in their places, the constant first."""
        x = np.zeros(self.size)
        x[0] = 1.0
        for name, value in self.features(row).items():
            if name in self.places:
                index, sign = self.places[name]
                x[index] += sign * value
        return x

    def scores(self, row):
        """Every action's score."""
        x = self.vector(row)
        return [float(np.linalg.solve(a, b) @ x) for a, b in zip(self.a, self.b, strict=True)]

    def uncertainties(self, row, weight, uncertainties):
        """Every action's uncertainty, mixed with its standard error if it has few plays and the scorer some weight."""
        if weight < 0.1:
            return uncertainties
        x = self.vector(row)
        errors = [WIDTH * math.sqrt(x @ np.linalg.solve(a, x)) for a in self.a]
        few = [plays < MANY_PLAYS * self.n_used for plays in self.plays]
        mixed = [(1 - weight) * old + weight * error for old, error in zip(uncertainties, errors, strict=True)]
        return [new if is_few else old for new, old, is_few in zip(mixed, uncertainties, few, strict=True)]

    def learn(self, row, action, reward, key):
        """Learn one event; of an action with many plays, one in four by the key."""
        is_learned = self.plays[action] < MANY_PLAYS * self.n_used or (key >> 44) % SPARSE_EVENTS == 0
        self.plays[action] += 1
        if is_learned:
            for name in self.names(row):
                self.place(name)
            x = self.vector(row)
            self.a[action] += np.outer(x, x)
            self.b[action] += reward * x
        self.observe(row)

    def observe(self, row):
        """Know the numbers of one more row; scales follow every sixteenth of many."""
        for column, value in enumerate(row):
            if self.kinds[column] == "number" and value > -math.inf:
                self.values[column].append(value)
                if len(self.values[column]) <= 64 or len(self.values[column]) % 16 == 0:
                    deviation = np.std(self.values[column])
                    self.scales[column] = 1 / deviation if deviation > 0 else 0.0

    def relearn(self, events):
        """Learn rows, actions and rewards anew, with the means and scales that are known by now."""
        self.a = [RIDGE * np.eye(self.size) for _ in self.a]
        self.b = [np.zeros(self.size) for _ in self.b]
        self.values = [[] for _ in self.kinds]
        for row, _, _ in events:
            self.observe(row)
        for row, action, reward in events:
            x = self.vector(row)
            self.a[action] += np.outer(x, x)
            self.b[action] += reward * x

    def place(self, name):
        """The next index, or one to share."""
        if name in self.places:
            return
        if self.n_used < self.size:
            self.places[name] = self.n_used, 1
            self.n_used += 1
            return
        key = splitmix64(name[0] * N_CODES + name[1] + 1)
        self.places[name] = 1 + (key >> 8) % (self.size - 1), -1 if key % 2 else 1
