"""Print a digest of what policies decide and learn on a problem: argv is its name."""

import hashlib
import sys

import numpy as np

import stumpery as st
from stumpery.array_forest.forest_kernels import COUNTER_NODES


def context_free():
    rewards = (np.arange(900).reshape(300, 3) * 7919 % 101 / 100.0).copy()
    for kind in (st.UCB, st.EpsilonGreedy, st.ThompsonSampling, st.SuccessiveElimination, st.policies.RandomPolicy):
        policy = kind(actions=["a", "b", "c"], seed=7)
        yield policy, st.play(policy, rewards=rewards)


def reward_forest():
    rows = [
        {"x": n * 7919 % 101 / 7.0, "y": n * 31 % 17, "bit": n % 2, "name": "abcde"[n * 13 % 5]} for n in range(200)
    ]
    rewards = np.array([[row["x"] > 7.0, row["bit"] + row["y"] > 9.0, row["name"] == "c"] for row in rows]) * 0.7
    policy = st.RewardForest(actions=["a", "b", "c"], n_trees=4, seed=7)
    yield policy, st.play(policy, contexts=rows, rewards=rewards)
    assert policy.n_leaves > 4


def small_forest():
    """Its memory is full: splits are pruned, and contexts come again."""
    rng = np.random.default_rng(1)
    rows = rng.random((40, 3))[rng.integers(0, 40, 1500)]
    rows[::2] = rng.random((750, 3))
    rewards = (rng.random((1500, 4)) < 0.2 + 0.6 * ((rows[:, :1] * 4).astype(int) == np.arange(4))).astype(float)
    policy = st.RewardForest(actions=range(4), n_trees=6, seed=7, max_bytes=200_000)
    yield policy, policy.play(rows, rewards)
    n_nodes = policy._arena.state.forest.counters[COUNTER_NODES]
    assert n_nodes > 2 * policy.n_leaves - 6  # more than its trees have


def action_features():
    rows = [{"x": n * 7919 % 101 / 7.0, "name": "abcde"[n * 13 % 5]} for n in range(150)]
    features = {n: {"kind": "xyz"[n % 3], "size": n * 37 % 12 / 7.0} for n in range(12)}
    rewards = np.array([[0.2 + 0.6 * (ord(row["name"]) % 3 == n % 3) for n in features] for row in rows])
    policy = st.RewardForest(actions=list(features), n_trees=3, seed=3, features=features)
    yield policy, policy.play(rows, rewards)


PROBLEMS = {
    "no context": context_free,
    "reward forest": reward_forest,
    "small forest": small_forest,
    "action features": action_features,
}


def digest_of(name):
    """What policies decide and learn on a problem."""
    digest = hashlib.sha256()
    for policy, played in PROBLEMS[name]():
        digest.update("".join(map(str, played.actions)).encode() + np.asarray(played.probabilities).tobytes())
        for key, array in sorted(policy.state().arrays.items()):
            digest.update(key.encode() + array.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(digest_of(sys.argv[1]))
