"""Decide in forked workers with and without seeds of their own; print their decisions."""

import json
import multiprocessing
import warnings

import stumpery as st

warnings.simplefilter("ignore", DeprecationWarning)  # of forking a process with threads
policy = st.EpsilonGreedy(actions=["a", "b", "c"], epsilon=0.5, seed=5)
for event in range(30):
    policy.learn(policy.decide(), reward=event % 2)


def work(seed):
    mine = policy if seed is None else policy.clone(include_attributes=True, seed=seed)
    decisions = [mine.decide() for _ in range(400)]
    return [each.action for each in decisions], [each.probability for each in decisions]


with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
    print(json.dumps(pool.map(work, [None, None, 1, 2], chunksize=1)))
