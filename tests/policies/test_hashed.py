"""The linear scorers' steps against their slow twin, and where many features share few weights."""

import math

import numpy as np
import pytest
from tests.reference.hashed import Twin

from stumpery.jit import INTERPRETED, kernel
from stumpery.policies import hashed_kernels as hashed

pytestmark = pytest.mark.kernels

N_SLOTS, N_ACTIONS, ACTION, SCALE, HASTE = 64, 3, 1, 0.4, 2.0
N_EVENTS = 100 if INTERPRETED else 500


@kernel
def learn_one(linear, slots, action, reward, scale, settles, scores):
    """Predict, learn and predict again, in place; give both predictions."""
    n = slots.shape[0]
    rates = np.zeros(n)
    hashed.predict(linear, slots, n, scores)
    before = scores[action]
    if settles:
        hashed.settle(linear, slots, n, rates, action, reward - before, HASTE)
    else:
        hashed.follow(linear, slots, n, rates, action, reward - before, HASTE, scale)
    scores[action] = 0.0
    hashed.predict(linear, slots, n, scores)
    return before, scores[action]


@pytest.mark.parametrize("settles", [False, True], ids=["follow", "settle"])
def test_weights_move_as_in_the_slow_twin(settles):
    rng = np.random.default_rng(1)
    linear, twin = hashed.new_linear(N_SLOTS, N_ACTIONS), Twin()
    for _ in range(N_EVENTS):
        slots = rng.permutation(N_SLOTS)[: rng.integers(1, 9)].astype(np.int32)
        reward = float(rng.random() < 0.2 + 0.6 * (slots[0] % 2))
        expected = twin.predict(slots.tolist())
        before, _ = learn_one(linear, slots, ACTION, reward, SCALE, settles, np.zeros(N_ACTIONS))
        assert before == pytest.approx(expected, abs=1e-4)
        if settles:
            twin.settle(slots.tolist(), reward - expected, HASTE, N_SLOTS)
        else:
            twin.follow(slots.tolist(), reward - expected, HASTE, SCALE)
    for place, kept in ((linear[:, hashed.WEIGHT], twin.weights), (linear[:, hashed.PAST], twin.past)):
        assert place[:, ACTION] == pytest.approx([kept[slot] for slot in range(N_SLOTS)], rel=1e-4, abs=1e-4)
        assert not place[:, [0, 2]].any()


@pytest.mark.parametrize("settles", [False, True], ids=["follow", "settle"])
def test_a_reward_that_was_foreseen_moves_nothing(settles):
    linear = hashed.new_linear(N_SLOTS, N_ACTIONS)
    slots = np.arange(5, dtype=np.int32)
    assert learn_one(linear, slots, ACTION, 0.0, SCALE, settles, np.zeros(N_ACTIONS)) == (0.0, 0.0)
    assert not linear[:, hashed.WEIGHT].any()


def test_a_weight_that_was_in_play_for_ever_still_follows_a_change():
    linear = hashed.new_linear(N_SLOTS, N_ACTIONS)
    linear[3, hashed.PAST, ACTION] = hashed.LONGEST - 1
    slots = np.array([3], dtype=np.int32)
    before, after = zip(
        *(learn_one(linear, slots, ACTION, 1.0, SCALE, True, np.zeros(N_ACTIONS)) for _ in range(3)), strict=True
    )
    step = 1 - math.exp(-HASTE / float(hashed.LONGEST))
    assert np.subtract(after, before) == pytest.approx(step * np.subtract(1.0, before), rel=1e-3)
    assert linear[3, hashed.PAST, ACTION] == hashed.LONGEST


@pytest.mark.parametrize("n_features", [1, 30, 64, 200, 1000])
def test_a_step_never_passes_the_reward_however_many_features_share_a_slot(n_features):
    rng = np.random.default_rng(2)
    linear = hashed.new_linear(N_SLOTS, N_ACTIONS)
    features = rng.integers(0, N_SLOTS, n_features).astype(np.int32)
    for event in range(30 if INTERPRETED else 3000):
        slots = features if event % 2 else rng.integers(0, N_SLOTS, n_features).astype(np.int32)
        reward = float(rng.random() < 0.5)
        before, after = learn_one(linear, slots, ACTION, reward, SCALE, True, np.zeros(N_ACTIONS))
        assert abs(reward - after) <= abs(reward - before)
    assert abs(before) < 5.0
