"""Feature importances of the reward forest: against a recursion over the tree, and on columns that matter or not."""

import numpy as np
import pytest

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.policies.reward_forest.importances import column_gains
from stumpery.policies.reward_forest.trees.criterion_kernels import plays_of_many

ACTIONS = ["a", "b"]


def stream(n, seed=1):
    """A number and a category of which one action's reward depends, and a number of no use."""
    rng = np.random.default_rng(seed)
    numbers, names, noise = rng.random(n), rng.choice(["x", "y", "z"], n), rng.random(n)
    rows = [{"number": a, "name": b, "noise": c} for a, b, c in zip(numbers, names.tolist(), noise, strict=True)]
    is_first = (numbers > 0.6) ^ (names == "y")
    return rows, np.stack([is_first, ~is_first], axis=1).astype(float)


@pytest.fixture(scope="module")
def policy():
    policy = st.RewardForest(actions=ACTIONS, n_trees=8, seed=2)
    policy.play(*stream(3000))
    return policy


def gains_below(forest, node, gains):
    """Plays and sums of rewards per action below a node; adds the decrease by each split to `gains`."""
    child = int(forest.nodes[node, trees.NODE_CHILD])
    if child == node:
        stats = forest.stats[forest.nodes[node, trees.NODE_LEAF]]
        plays = plays_of_many(stats[trees.STAT_UNCERTAINTY])
        return plays, plays * stats[trees.STAT_MEAN] / trees.STAT_UNIT
    (n1, s1), (n0, s0) = gains_below(forest, child, gains), gains_below(forest, child + 1, gains)
    column = int(forest.nodes[node, trees.NODE_COLUMN])
    for action in range(len(n1)):
        if n1[action] and n0[action]:
            difference = s1[action] / n1[action] - s0[action] / n0[action]
            decrease = n1[action] * n0[action] / (n1[action] + n0[action]) * difference**2
            gains[column if column >= 0 else ~column] += decrease
    return n1 + n0, s1 + s0


def test_gains_equal_those_of_a_recursion_over_every_tree(policy):
    forest, gains = policy._arena.state.forest, np.zeros(3)
    for tree in range(8):
        gains_below(forest, tree, gains)
    assert column_gains(forest, 8) == pytest.approx(gains, rel=1e-12)
    assert gains[:2].all()  # the third is of no use: it may have no split


def test_importances_are_shares_and_find_the_columns_that_matter(policy):
    importances = policy.feature_importances()
    assert list(importances) == ["number", "name", "noise"]
    assert sum(importances.values()) == pytest.approx(1.0)
    assert importances["noise"] < 0.1 < min(importances["number"], importances["name"])


def test_importances_of_a_forest_without_splits_are_zero():
    policy = st.RewardForest(actions=ACTIONS, n_trees=3, seed=2)
    assert policy.feature_importances() == {}
    policy.decide({"number": 1.0, "name": "x"})
    assert policy.feature_importances() == {"number": 0.0, "name": 0.0}


def test_importances_change_nothing(policy):
    before = {name: array.copy() for name, array in policy.state().arrays.items()}
    policy.feature_importances()
    assert all(np.array_equal(before[name], array) for name, array in policy.state().arrays.items())
