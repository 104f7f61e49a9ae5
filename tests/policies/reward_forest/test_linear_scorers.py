"""Steps of the linear scorers against their slow twin, and where many features share few weights."""

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.reference.hashed_linear import HashedLinear

from stumpery.array_forest import forest_kernels as trees
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers
from stumpery.policies.reward_forest.trees import ring_kernels as rings
from stumpery.policies.reward_forest.trees.ring import new_ring
from stumpery.policies.reward_forest.trees.ring_kernels import FLOAT, write_event

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

N_SLOTS, N_ACTIONS, ACTION, SCALE, RATE_MULTIPLIER = 64, 3, 1, 0.4, 2.0
N_EVENTS = 100 if INTERPRETED else 500


@kernel
def learn_one(linear, slots, action, reward, scale, is_1_over_n, scores):
    """Predict, learn and predict again, in place; give both predictions."""
    n = slots.shape[0]
    rates = np.zeros(n)
    scorers.add_scores(linear, slots, n, scores)
    before = scores[action]
    if is_1_over_n:
        scorers.averaging_step(linear, slots, n, rates, action, reward - before, RATE_MULTIPLIER)
    else:
        scorers.adagrad_step(linear, slots, n, rates, action, reward - before, RATE_MULTIPLIER, scale)
    scores[action] = 0.0
    scorers.add_scores(linear, slots, n, scores)
    return before, scores[action]


@pytest.mark.parametrize("is_1_over_n", [False, True], ids=["AdaGrad-like", "1/n"])
def test_weights_equal_the_slow_twin(is_1_over_n):
    rng = np.random.default_rng(1)
    linear, twin = scorers.new_linear(N_SLOTS, N_ACTIONS), HashedLinear()
    for _ in range(N_EVENTS):
        slots = rng.permutation(N_SLOTS)[: rng.integers(1, 9)].astype(np.int32)
        reward = float(rng.random() < 0.2 + 0.6 * (slots[0] % 2))
        expected = twin.predict(slots.tolist())
        before, _ = learn_one(linear, slots, ACTION, reward, SCALE, is_1_over_n, np.zeros(N_ACTIONS))
        assert before == pytest.approx(expected, abs=1e-4)
        if is_1_over_n:
            twin.averaging_step(slots.tolist(), reward - expected, RATE_MULTIPLIER, N_SLOTS)
        else:
            twin.adagrad_step(slots.tolist(), reward - expected, RATE_MULTIPLIER, SCALE)
    for place, kept in (
        (linear[:, scorers.SLOT_WEIGHT], twin.weights),
        (linear[:, scorers.SLOT_HISTORY], twin.past),
    ):
        assert place[:, ACTION] == pytest.approx([kept[slot] for slot in range(N_SLOTS)], rel=1e-4, abs=1e-4)
        assert not place[:, [0, 2]].any()


@pytest.mark.parametrize("is_1_over_n", [False, True], ids=["AdaGrad-like", "1/n"])
def test_a_reward_that_was_foreseen_moves_nothing(is_1_over_n):
    linear = scorers.new_linear(N_SLOTS, N_ACTIONS)
    slots = np.arange(5, dtype=np.int32)
    assert learn_one(linear, slots, ACTION, 0.0, SCALE, is_1_over_n, np.zeros(N_ACTIONS)) == (0.0, 0.0)
    assert not linear[:, scorers.SLOT_WEIGHT].any()


def test_a_weight_that_was_in_play_for_ever_still_follows_a_change():
    linear = scorers.new_linear(N_SLOTS, N_ACTIONS)
    linear[3, scorers.SLOT_HISTORY, ACTION] = scorers.MAX_STEP_COUNT - 1
    slots = np.array([3], dtype=np.int32)
    before, after = zip(
        *(learn_one(linear, slots, ACTION, 1.0, SCALE, True, np.zeros(N_ACTIONS)) for _ in range(3)), strict=True
    )
    step = 1 - math.exp(-RATE_MULTIPLIER / float(scorers.MAX_STEP_COUNT))
    assert np.subtract(after, before) == pytest.approx(step * np.subtract(1.0, before), rel=1e-3)
    assert linear[3, scorers.SLOT_HISTORY, ACTION] == scorers.MAX_STEP_COUNT


@pytest.mark.parametrize("n_features", [1, 30, 64, 200, 1000])
def test_a_step_never_passes_the_reward_however_many_features_share_a_slot(n_features):
    rng = np.random.default_rng(2)
    linear = scorers.new_linear(N_SLOTS, N_ACTIONS)
    features = rng.integers(0, N_SLOTS, n_features).astype(np.int32)
    for event in range(30 if INTERPRETED else 3000):
        slots = features if event % 2 else rng.integers(0, N_SLOTS, n_features).astype(np.int32)
        reward = float(rng.random() < 0.5)
        before, after = learn_one(linear, slots, ACTION, reward, SCALE, True, np.zeros(N_ACTIONS))
        assert abs(reward - after) <= abs(reward - before)
    assert abs(before) < 5.0


@kernel
def renew(edges, events, kinds, first, end, values):
    """Remember values of one column from `first` on, and set its edges anew, in place."""
    for place in range(values.shape[0]):
        write_event(events, first + place, values[place : place + 1], 0, 0.0)
    rings.update_bin_edges(
        edges, events, kinds, first, end, np.empty(rings.BINNING_SAMPLE + rings.N_BINS - 1, np.float32)
    )


def renewed(*chunks, size=3000):
    """The edges after each chunk of a column's values."""
    events = new_ring(size, np.array([FLOAT], np.uint8))
    edges, found, first = np.full((1, rings.N_BINS - 1), np.inf, np.float32), [], 0
    for values in chunks:
        end = first + len(values)
        renew(edges, events, np.array([trees.NUMERICAL], np.uint8), first, end, np.asarray(values, np.float32))
        found.append(edges[0][edges[0] < np.inf].tolist())
        first = end
    return found


def test_the_first_edges_are_quantiles():
    (edges,) = renewed(np.arange(1600))
    assert edges == pytest.approx(np.arange(100, 1600, 100), abs=5)


def test_numbers_of_few_values_keep_their_bins():
    rng = np.random.default_rng(1)
    edges = renewed(*(rng.integers(1, 14, 1000 if not INTERPRETED else 200) for _ in range(30)))
    last = edges[-1]
    assert edges.index(last) < 10  # all that there can be are found soon
    assert all(len(after) >= len(before) for before, after in pairwise(edges))


def test_bins_that_are_good_enough_stay_and_others_go():
    rng = np.random.default_rng(2)
    values = rng.normal(size=1000)
    first, second, moved = renewed(values, rng.permutation(values) + 0.02, rng.normal(5.0, size=1000))
    assert first == second
    assert min(moved) > 2.0


def test_a_column_that_is_only_missing_keeps_its_edges():
    first, second = renewed(np.arange(100), np.full(100, -np.inf))
    assert first == second
    assert renewed(np.full(100, -np.inf)) == [[]]


def test_edges_of_a_value_that_most_have_find_the_others_later():
    rng = np.random.default_rng(3)
    values = np.where(rng.random(4000) < 0.9, 0.0, rng.random(4000))
    first, second = renewed(np.zeros(50), values, size=5000)
    assert first == [0.0]
    assert len(second) > 1
