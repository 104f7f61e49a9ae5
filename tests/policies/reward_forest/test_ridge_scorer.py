"""The ridge scorer: kernels against their slow twin, its bounds, and what it earns from the first events on."""

import numpy as np
import pytest
from tests.reference.ridge_scorer import RidgeScorer

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.errors import CorruptFile
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import ridge as ridges
from stumpery.policies.reward_forest.scorers import ridge_kernels

KINDS = np.array([trees.NUMERICAL, trees.NUMERICAL, trees.BINARY, trees.CATEGORICAL], np.uint8)
NAMES = {trees.NUMERICAL: "number", trees.BINARY: "bit", trees.CATEGORICAL: "category"}
N_ACTIONS = 3
WEIGHT = 0.4  # of the ridge scorer in the stacking
N_EVENTS = 150 if INTERPRETED else 1500


@kernel
def score(ridge, row, kinds, work, scores, uncertainties):
    """Add every action's score of a row to `scores`, and mix the uncertainties, in place."""
    n = ridge_kernels.fill_features(ridge, row, kinds, work)
    ridge_kernels.add_scores(ridge, work, n, scores)
    ridge_kernels.mix_uncertainties(ridge, work, n, WEIGHT, uncertainties)


@kernel
def learn(ridge, row, kinds, work, action, reward, key):
    """Learn one event, in place."""
    n = ridge_kernels.fill_features(ridge, row, kinds, work)
    ridge_kernels.learn(ridge, row, kinds, work, n, action, reward, key)


def rows_of(rng, n, n_categories=6):
    """Rows with a number, one that is sometimes missing, a bit and a category."""
    rows = np.column_stack(
        [rng.normal(50.0, 7.0, n), rng.exponential(3.0, n), rng.integers(0, 2, n), rng.integers(0, n_categories, n)]
    )
    rows[rng.random(n) < 0.2, 1] = -np.inf
    return rows


def scores_of(ridge, row, work):
    return both_of(ridge, row, work)[0]


def both_of(ridge, row, work):
    """Every action's score and its uncertainty, mixed with one of 0.1."""
    scores, uncertainties = np.zeros(ridge.weights.shape[1]), np.full(ridge.weights.shape[1], 0.1)
    score(ridge, row, KINDS, work, scores, uncertainties)
    return scores, uncertainties


@pytest.mark.kernels
@pytest.mark.parametrize(("size", "n_categories"), [(40, 6), (7, 6), (120, 90)], ids=["own", "shared", "many names"])
def test_scores_and_uncertainties_equal_the_slow_twin(size, n_categories):
    rng = np.random.default_rng(1)
    ridge = ridges.new_ridge(size, len(KINDS), N_ACTIONS)
    work, twin = ridges.new_ridge_row(ridge), RidgeScorer([NAMES[kind] for kind in KINDS.tolist()], N_ACTIONS, size)
    for number, row in enumerate(rows_of(rng, N_EVENTS, n_categories)):
        action, key = int(rng.integers(N_ACTIONS) * rng.random()), int(rng.integers(2**63))
        reward = float(rng.random() < 0.2 + 0.1 * action + 0.3 * (row[0] > 50))
        if number % 10 == 0:
            scores, uncertainties = both_of(ridge, row, work)
            assert scores == pytest.approx(twin.scores(row), abs=1e-8)
            assert uncertainties == pytest.approx(twin.uncertainties(row, WEIGHT, [0.1] * N_ACTIONS), abs=1e-8)
        learn(ridge, row, KINDS, work, action, reward, np.uint64(key))
        twin.learn(row, action, reward, key)
    assert ridge.n_used[0] == twin.n_used == min(size, twin.n_used)
    assert ridge.plays.tolist() == twin.plays
    assert INTERPRETED or ridge.plays.max() > 2 * ridge_kernels.MANY_PLAYS * ridge.n_used[0] or size > 7
    ridges.validate(ridge)


@pytest.mark.kernels
def test_a_score_changes_nothing():
    ridge = ridges.new_ridge(20, len(KINDS), N_ACTIONS)
    before = [array.copy() for array in ridge]
    scores_of(ridge, rows_of(np.random.default_rng(2), 1)[0], ridges.new_ridge_row(ridge))
    assert all(np.array_equal(one, two) for one, two in zip(ridge, before, strict=True))


@pytest.mark.kernels
def test_columns_of_one_value_or_of_huge_ones_leave_all_finite():
    ridge = ridges.new_ridge(20, len(KINDS), N_ACTIONS)
    work, rng = ridges.new_ridge_row(ridge), np.random.default_rng(3)
    for number in range(100):
        row = np.array([7.0, rng.choice([1e308, -1e308, 1e99, 1.0]), 1.0, 2.0])
        found = scores_of(ridge, row, work)
        assert np.isfinite(found).all()
        learn(ridge, row, KINDS, work, number % 3, 1.0, np.uint64(number))
    ridges.validate(ridge)


def test_the_inverses_take_a_share_of_the_memory():
    assert ridges.ridge_size(512_000_000, 12, 7) == ridges.MAX_FEATURES
    assert ridges.ridge_size(512_000_000, 1, 7) == 65
    for max_bytes, n_actions in ((20_000_000, 100), (1_000_000, 10), (100_000, 2)):
        size = ridges.ridge_size(max_bytes, 200, n_actions)
        assert 2 < size < ridges.MAX_FEATURES
        assert 8 * n_actions * size**2 <= max_bytes / 64
    ridge = ridges.new_ridge(30, 5, 4)
    assert ridges.ridge_bytes(30, 5, 4) == sum(array.nbytes for array in ridge)


@pytest.mark.kernels
def test_other_actions_keep_what_those_that_stay_have_learned():
    ridge = ridges.new_ridge(20, len(KINDS), N_ACTIONS)
    work, rng = ridges.new_ridge_row(ridge), np.random.default_rng(4)
    for number, row in enumerate(rows_of(rng, 60)):
        learn(ridge, row, KINDS, work, number % 3, float(number % 3) / 2 - 0.3, np.uint64(number))
    row = rows_of(rng, 1)[0]
    one, two, three = scores_of(ridge, row, work)
    changed = ridges.ridge_with_actions(ridge, [2, None, 0])
    assert scores_of(changed, row, work).tolist() == [three, 0.0, one]
    assert changed.plays.tolist() == [20.0, 0.0, 20.0]
    assert two != 0.0


@pytest.mark.kernels
def test_a_narrowed_scorer_keeps_its_first_features_and_lets_the_others_share_these():
    ridge = ridges.new_ridge(20, len(KINDS), N_ACTIONS)
    work, rng = ridges.new_ridge_row(ridge), np.random.default_rng(6)
    for number, row in enumerate(rows_of(rng, 60)):
        learn(ridge, row, KINDS, work, number % 3, float(row[0] > 50), np.uint64(number))
    assert ridges.narrowed(ridge, 10**9, N_ACTIONS) is ridge
    narrow = ridges.narrowed(ridge, ridges.GROWN_SHARE * 8 * N_ACTIONS * 5**2, N_ACTIONS)
    assert (len(narrow.weights), narrow.n_used[0]) == (5, 5)
    assert np.array_equal(narrow.weights, ridge.weights[:5])
    ridges.validate(narrow)
    work = ridges.new_ridge_row(narrow)
    for number, row in enumerate(rows_of(rng, 60)):
        learn(narrow, row, KINDS, work, number % 3, float(row[0] > 50), np.uint64(number))
        assert np.isfinite(scores_of(narrow, row, work)).all()
    assert np.count_nonzero(narrow.features) == np.count_nonzero(ridge.features)
    ridges.validate(narrow)


@pytest.mark.skipif(INTERPRETED, reason="it takes many events")
def test_a_linear_problem_is_learned_in_a_few_hundred_events():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 10))
    best = (rows @ rng.normal(size=(10, 5))).argmax(axis=1)
    policy, rival = st.RewardForest(actions=range(5), seed=1), st.LinUCB(actions=range(5), seed=1)
    averages = [st.play(each, contexts=rows, rewards=best.tolist()).average_reward for each in (policy, rival)]
    assert averages[0] > averages[1] - 0.1
    assert policy.weights["ridge"] > 0.3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("weights", np.nan, "a weight of the ridge scorer"),
        ("inverses", np.inf, "an inverse of the ridge scorer"),
        ("inverses", 2.0, "a variance of the ridge scorer"),
        ("scales", np.nan, "a scale of the ridge scorer"),
        ("plays", -1.0, "a number of plays of the ridge scorer"),
        ("n_used", 99, "the number of features of the ridge scorer"),
        ("features", 5, "a feature of the ridge scorer"),
    ],
)
def test_what_cannot_have_been_learned_is_refused(name, value, said):
    ridge = ridges.new_ridge(20, 3, 2)
    getattr(ridge, name).flat[0] = value
    with pytest.raises(CorruptFile, match=said):
        ridges.validate(ridge)
