"""A slow, obvious twin of the bandit trees, straight from Feraud et al. 2016: every count and mean is kept by itself.

It draws from the same generator in the same order, so that it takes the same decisions.
"""

import math
from collections import defaultdict
from itertools import count

from tests.reference.random import Generator


def bound(width, n_hypotheses, t, delta):
    return width * math.sqrt(math.log(4 * n_hypotheses * t**2 / delta) / (2 * t))


class Path:
    """A path c of a tree: the sets S and A of what remains, and the estimates of NewPath."""

    def __init__(self, variables, candidates, n_actions, depth):
        self.variables, self.candidates, self.depth = variables, candidates, depth
        self.actions = set(range(n_actions))
        self.plays = [0] * n_actions  # t_{c,k}
        self.weights, self.sums = [0.0] * n_actions, [0.0] * n_actions
        self.value_plays = defaultdict(int)  # t_{c,i,v,k}
        self.value_weights, self.value_sums = defaultdict(float), defaultdict(float)
        self.selects_action = not candidates
        self.split_on, self.children, self.next_check = None, None, None

    def descend(self, row):
        path = self
        while path.children:
            path = path.children[row[path.split_on]]
        return path


class Tree:
    def __init__(self, forest, depth, epsilon):
        self.forest, self.depth, self.epsilon = forest, depth, epsilon
        n, m, k = forest.n_trees, forest.n_variables, forest.n_actions
        self.split_tests, self.drop_tests = k * m * depth * n, k * n
        self.first_split = self.first_check(4, self.split_tests)
        self.first_drop = self.first_check(2, self.drop_tests)
        self.root = self.new_path(set(range(m)), 1)

    def first_check(self, width, n_hypotheses):
        """Estimates are at most 1 apart, so no test can succeed before; plain inverse weights know no such bound."""
        if self.forest.weights == "ips":
            return 1
        return next(t for t in count(1) if 1 + self.epsilon >= bound(width, n_hypotheses, t, self.forest.delta))

    def new_path(self, variables, depth):
        """NewPath: the function f of the paper is a drawn subset of the variables that are left."""
        wanted = max(1, int(self.forest.share * len(variables) + 0.5)) if variables else 0
        candidates, left = set(), len(variables)
        for variable in sorted(variables):
            missing = wanted - len(candidates)
            if missing == left or (missing > 0 and self.forest.rng.uniform() * left < missing):
                candidates.add(variable)
            left -= 1
        path = Path(variables, candidates, self.forest.n_actions, depth)
        path.next_check = self.first_split if len(candidates) > 1 else 1
        return path

    def mean(self, path, action):
        part = sum(path.plays) if self.forest.weights == "ips" else path.weights[action]
        return path.sums[action] * (1 / part) if part else 0.0

    def value_of(self, path, variable):
        """mu^i: the sum over both values of the best action's mean reward with that value."""
        total = 0.0
        for value in (0, 1):
            means = []
            for action in range(self.forest.n_actions):
                part = sum(path.plays) if self.forest.weights == "ips" else path.weights[action]
                means.append(path.value_sums[variable, value, action] * (1 / part) if part else 0.0)
            total += max(means)
        return total

    def learn(self, path, row, action, reward, weight):
        if path.selects_action and self.forest.leaf != "elimination":
            weight = 1.0
        elif path.selects_action and len(path.actions) == 1:
            return
        path.plays[action] += 1
        path.weights[action] += weight
        path.sums[action] += weight * reward
        for variable in path.candidates:
            path.value_plays[variable, row[variable], action] += 1
            path.value_weights[variable, row[variable], action] += weight
            path.value_sums[variable, row[variable], action] += weight * reward
        if path.selects_action:
            if self.forest.leaf == "elimination":
                self.select_action(path)
        elif min(path.plays) >= path.next_check:
            self.eliminate_variables(path, min(path.plays))

    def eliminate_variables(self, path, t):
        """VE, equation (3), and lines 16 to 20 of Algorithm 6."""
        values = {variable: self.value_of(path, variable) for variable in sorted(path.candidates)}
        best = max(values, key=values.get)
        needed = bound(4, self.split_tests, t, self.forest.delta) - self.epsilon
        path.candidates = {i for i in values if i == best or values[best] - values[i] < needed}
        path.next_check = max(t + 1, math.ceil(t * 1.05))
        if len(path.candidates) > 1:
            return
        path.split_on = best
        left = path.variables - {best}
        if path.depth < self.depth:
            path.children = [self.new_path(left, path.depth + 1), self.new_path(left, path.depth + 1)]
        else:
            path.children = [self.complete(path, best, value) for value in (0, 1)]

    def complete(self, path, variable, value):
        """The action selection task of one value of the variable that was found, with all that it has seen."""
        end = Path(set(), set(), self.forest.n_actions, path.depth)
        for action in range(self.forest.n_actions):
            key = variable, value, action
            end.plays[action], end.weights[action] = path.value_plays[key], path.value_weights[key]
            end.sums[action] = path.value_sums[key]
            if self.forest.leaf != "elimination" and end.weights[action]:
                end.sums[action] = min(end.sums[action] * end.plays[action] / end.weights[action], end.plays[action])
        end.next_check = self.first_drop
        if self.forest.leaf == "elimination":
            self.select_action(end)
        return end

    def select_action(self, path):
        """AE, equation (4), at every check that the plays of the remaining actions allow."""
        while len(path.actions) > 1 and (t := min(path.plays[k] for k in path.actions)) >= path.next_check:
            means = {action: self.mean(path, action) for action in sorted(path.actions)}
            best = max(means, key=means.get)
            needed = bound(2, self.drop_tests, t, self.forest.delta) - self.epsilon
            path.actions = {k for k in means if k == best or means[best] - means[k] < needed}
            path.next_check = max(t + 1, math.ceil(t * 1.05))


class Forest:
    def __init__(
        self, n_actions, n_variables, seed, *, n_trees=1, depths=(1, 1), epsilons=(0.6, 0.6), share=1.0, needed=1,
        delta=0.05, explore="drawn", weights="self-normalised", leaf="elimination",
    ):  # fmt: skip
        self.n_actions, self.n_variables, self.n_trees = n_actions, n_variables, n_trees
        self.share, self.needed, self.delta = share, needed, delta
        self.explore, self.weights, self.leaf, self.turn = explore, weights, leaf, 0
        self.rng, draws = Generator(seed), Generator(seed, 1)
        self.trees = []
        for _ in range(n_trees):
            depth = min(depths[0] + draws.integer(depths[1] - depths[0] + 1), n_variables)
            self.trees.append(Tree(self, depth, epsilons[0] + draws.uniform() * (epsilons[1] - epsilons[0])))

    def decide(self, row):
        paths = [tree.root.descend(row) for tree in self.trees]
        votes = [0] * self.n_actions
        for path in paths:
            if path.selects_action and self.leaf == "elimination" and len(path.actions) == 1:
                votes[min(path.actions)] += 1
            elif path.selects_action and self.leaf != "elimination":
                votes[self.bandit(path)] += 1
        if sum(votes) >= self.needed:
            winners = [action for action, n in enumerate(votes) if n == max(votes)]
            winner = winners[self.rng.integer(len(winners))] if len(winners) > 1 else winners[0]
            return winner, 1 / len(winners)
        union = sorted(set().union(*(path.actions for path in paths)))
        if self.explore == "in turn":
            action = next(k % self.n_actions for k in count(self.turn) if k % self.n_actions in union)
            self.turn = (action + 1) % self.n_actions
            return action, 1.0
        return union[self.rng.integer(len(union))] if len(union) > 1 else union[0], 1 / len(union)

    def bandit(self, path):
        if self.leaf == "thompson":
            draws = [self.rng.beta(1 + s, 1 + n - s) for s, n in zip(path.sums, path.plays, strict=True)]
            return draws.index(max(draws))
        time = sum(path.plays) + 1
        scores = [
            s / n + math.sqrt(2 * math.log(time)) / math.sqrt(n) if n else math.inf
            for s, n in zip(path.sums, path.plays, strict=True)
        ]
        winners = [k for k, score in enumerate(scores) if math.isclose(score, max(scores), rel_tol=1e-13)]
        return winners[self.rng.integer(len(winners))] if len(winners) > 1 else winners[0]

    def learn(self, row, action, reward, probability):
        weight = 1.0 if self.weights == "none" else 1 / probability
        for tree, path in [(tree, tree.root.descend(row)) for tree in self.trees]:
            tree.learn(path, row, action, reward, weight)
