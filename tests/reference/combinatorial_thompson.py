"""Slow, obvious twins: Algorithm 1 of Durand and Gagné 2014, and all subsets tried one by one."""

from itertools import chain, combinations

from tests.reference.random import Generator


class Thompson:
    def __init__(self, n_arms, size, prior, seed):
        self.rng = Generator(seed)
        self.n, self.r = [0] * n_arms, [0.0] * n_arms
        self.size, self.prior = size, prior

    def decide(self):
        theta = [self.rng.beta(self.prior[0] + r, self.prior[1] + n - r) for n, r in zip(self.n, self.r, strict=True)]
        return tuple(sorted(range(len(theta)), key=lambda arm: -theta[arm])[: self.size])

    def learn(self, chosen, reward):
        for arm in chosen:
            self.n[arm] += 1
            self.r[arm] += reward


def best_set(scores, is_feasible):
    every = chain.from_iterable(combinations(scores, n) for n in range(len(scores) + 1))
    return max((sum(scores[action] for action in each), each) for each in every if is_feasible(each))
