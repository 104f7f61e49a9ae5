"""Leaf statistics in two bytes: counts, means and corrections after many small updates."""

import numpy as np
import pytest

from stumpery.array_forest.forest_kernels import (
    CORRECTION_UNIT,
    CORRECTION_ZERO,
    INITIAL_STATS,
    STAT_CORRECTION,
    STAT_MEAN,
    STAT_UNCERTAINTY,
    STAT_UNIT,
)
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.trees import criterion_kernels as stats

pytestmark = [pytest.mark.kernels, pytest.mark.plain]


@kernel
def play(known, rewards, seed):
    """Fold rewards of the first action into a leaf, in place."""
    for place in range(rewards.shape[0]):
        stats.update_statistics(known, 0, rewards[place], stats.dither(splitmix64(seed + np.uint64(place)), 3))


@kernel
def push(known, step, n, seed):
    """Move the first action's weight n times, in place."""
    for place in range(n):
        stats.update_correction(known, 0, step, stats.dither(splitmix64(seed + np.uint64(place)), 3))


@kernel
def dithers(n, tree):
    """One for each of n events."""
    found = np.empty(n)
    for place in range(n):
        found[place] = stats.dither(splitmix64(np.uint64(place)), tree)
    return found


@kernel
def joined(one, two):
    """Let a leaf know what two knew, in place."""
    stats.merge_statistics(one, two)


def new_leaf(n_actions=2):
    """A leaf that knows nothing."""
    return np.repeat(np.array(INITIAL_STATS, np.uint16)[:, None], n_actions, axis=1)


def test_up_to_six_hundred_plays_are_counted_exactly():
    leaf = new_leaf()
    rng = np.random.default_rng(1)
    for n in range(1, 601):
        play(leaf, rng.random(1), np.uint64(n))
        assert stats.plays_of_many(leaf[STAT_UNCERTAINTY]).tolist() == [n, 0]


@pytest.mark.skipif(INTERPRETED, reason="it takes many plays")
@pytest.mark.parametrize(("n", "off"), [(5000, 0.04), (50_000, 0.08), (500_000, 0.14)])
def test_more_plays_are_counted_roughly(n, off):
    found = []
    for seed in range(20):
        leaf = new_leaf()
        play(leaf, np.ones(n), np.uint64(10**9 * seed))
        found.append(stats.plays_of_many(leaf[STAT_UNCERTAINTY])[0])
    assert np.mean(found) == pytest.approx(n, rel=off)
    assert np.std(found) < off * n


@pytest.mark.skipif(INTERPRETED, reason="it takes many plays")
@pytest.mark.parametrize("probability", [0.0, 0.003, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("n", [100, 3000, 100_000])
def test_means_come_to_what_is_earned(probability, n):
    rng = np.random.default_rng(1)
    rewards = (rng.random(n) < probability).astype(float)
    leaf = new_leaf()
    play(leaf, rewards, np.uint64(5))
    error = 4.0 * np.sqrt(probability * (1.0 - probability) / min(n, 20_000)) + 1.0 / n + 1e-4
    assert leaf[STAT_MEAN, 0] / STAT_UNIT == pytest.approx(probability, abs=error)
    assert leaf[:, 1].tolist() == list(INITIAL_STATS)


@pytest.mark.parametrize("step", [1e-6, -3e-6, 1e-4, -0.01])
def test_small_moves_of_a_weight_add_up(step):
    n = min(1000 if INTERPRETED else 20_000, int(0.5 / abs(step)))
    leaf = new_leaf()
    push(leaf, step, n, np.uint64(7))
    moved = (float(leaf[STAT_CORRECTION, 0]) - CORRECTION_ZERO) / CORRECTION_UNIT
    assert moved == pytest.approx(
        step * n, abs=3.0 * np.sqrt(n * min(abs(step), 1 / CORRECTION_UNIT) / CORRECTION_UNIT) + 5e-5
    )
    assert INTERPRETED or abs(moved) > 0.5 * abs(step) * n


@pytest.mark.parametrize(("step", "end"), [(10.0, 65_535), (-10.0, 0)])
def test_a_weight_stays_within_its_bytes(step, end):
    leaf = new_leaf()
    push(leaf, step, 3, np.uint64(1))
    assert leaf[STAT_CORRECTION, 0] == end


@pytest.mark.parametrize("tree", [0, 1, 25, 9999])
def test_dithers_are_spread_evenly(tree):
    n = 2000 if INTERPRETED else 100_000
    found = dithers(n, tree)
    assert ((found >= 0.0) & (found < 1.0)).all()
    shares = np.histogram(found, 10, (0.0, 1.0))[0] / n
    assert shares == pytest.approx([0.1] * 10, abs=0.5 / np.sqrt(n) * 5)


def test_two_leaves_become_one_that_knows_what_both_knew():
    one, two = new_leaf(), new_leaf()
    play(one, np.ones(30), np.uint64(1))
    play(two, np.zeros(10), np.uint64(2))
    push(one, 0.1, 1, np.uint64(1))
    push(two, -0.2, 1, np.uint64(1))
    expected = [(31 * float(one[row, 0]) + 11 * float(two[row, 0])) / 42 for row in (STAT_MEAN, STAT_CORRECTION)]
    joined(one, two)
    assert one[[STAT_MEAN, STAT_CORRECTION], 0].tolist() == pytest.approx(expected, abs=0.5)
    assert one[STAT_CORRECTION, 1] == CORRECTION_ZERO
    assert stats.plays_of_many(one[STAT_UNCERTAINTY]).tolist() == [40, 0]
