"""Drift by a drop in rewards: the kernel against its slow twin, and forests that detect it."""

import numpy as np
import pytest
from tests.reference.drift_detector import DriftDetector

import stumpery as st
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.jit import INTERPRETED, kernel

N_ROWS = 16_000


@kernel
def note_all(watch, errors, found):
    """Note errors and write down where changes are noticed, in place; give how many there were."""
    n = 0
    for number in range(errors.shape[0]):
        before = watch[reward_drop.DROP_N_DRIFTS]
        reward_drop.update(watch, errors[number], number)
        if watch[reward_drop.DROP_N_DRIFTS] > before:
            found[n] = number
            n += 1
    return n


def noticed(errors):
    """The events at which changes are noticed."""
    watch, found = reward_drop.new_detector(), np.zeros(len(errors), np.int64)
    n = note_all(watch, errors, found)
    assert watch[reward_drop.DROP_CONCEPT_START] == (found[n - 1] if n else 0)
    return found[:n].tolist()


def errors_of(probability, expected, n, seed=1):
    """Errors of rewards of 0 or 1 that come with a probability where another one was expected."""
    return (np.random.default_rng(seed).random(n) < probability) - float(expected)


@pytest.mark.kernels
def test_drift_is_detected_when_the_slow_twin_detects_it():
    n_stationary = 1300 if INTERPRETED else 6000
    errors = [
        errors_of(0.9, 0.9, n_stationary),
        errors_of(0.1, 0.9, 100),
        errors_of(0.5, 0.5, 1300),
        errors_of(0.1, 0.5, 200),
    ]
    twin, errors = DriftDetector(), np.concatenate(errors)
    assert noticed(errors) == [number for number, error in enumerate(errors.tolist()) if twin.update(error)]
    assert twin.n_drifts == 2


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
@pytest.mark.parametrize("probability", [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
def test_chance_alone_is_no_change(probability):
    for seed in range(5):
        assert noticed(errors_of(probability, probability, 200_000, seed)) == []


@pytest.mark.kernels
@pytest.mark.parametrize(("before", "after", "within"), [(0.9, 0.1, 60), (0.5, 0.1, 200), (0.99, 0.9, 200)])
def test_rewards_that_fall_short_are_noticed_soon(before, after, within):
    errors = np.concatenate([errors_of(before, before, 2000), errors_of(after, before, 900)])
    (found,) = noticed(errors)
    assert 2000 < found < 2000 + within


@pytest.mark.kernels
def test_better_rewards_than_expected_are_no_change():
    assert noticed(np.concatenate([errors_of(0.5, 0.5, 2000), errors_of(0.9, 0.5, 1000)])) == []


def turned(n=N_ROWS, turn=None, seed=1):
    """Rows of numbers whose cell of a grid says which of four actions pays; from `turn` on it is another one."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, 3))
    best = ((rows[:, 0] * 4).astype(int) + (rows[:, 1] * 4).astype(int)) % 4
    best[turn or n :] = 3 - best[turn or n :]
    return rows, (rng.random((n, 4)) < 0.1 + 0.8 * (best[:, None] == np.arange(4))).astype(float)


def paid(policy, rows, rewards):
    """What a policy earns, event by event."""
    return rewards[np.arange(len(rows)), policy.play(rows, rewards).actions]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_forest_that_forgets_nothing_else_follows_drifts_and_logs_them(seed, caplog):
    policy = st.RewardForest(actions=range(4), seed=seed)
    with caplog.at_level("INFO", logger="stumpery"):
        earned = paid(policy, *turned(turn=N_ROWS // 2, seed=seed))
    assert policy.n_drifts == 1
    assert [record.getMessage() for record in caplog.records if record.name.startswith("stumpery.policies")] == [
        "drift 1 detected: rewards fell short of their scores"
    ]
    assert len(policy._arena.state.ring.bytes) >= N_ROWS
    assert earned[-2000:].mean() > earned[N_ROWS // 2 - 2000 : N_ROWS // 2].mean() - 0.03


@pytest.mark.parametrize("max_bytes", [1_000_000, 512_000_000])
@pytest.mark.parametrize("seed", [1, 2, 7, 11, 19])
def test_a_forest_whose_rewards_are_certain_follows_one_change_after_another(seed, max_bytes):
    policy, rng = st.RewardForest(actions=range(3), seed=seed, max_bytes=max_bytes), np.random.default_rng(seed)
    for turn in range(6):
        rows = rng.random((5000, 2))
        best = ((rows[:, 0] * 3).astype(int) + turn) % 3
        earned = paid(policy, rows, (best[:, None] == np.arange(3)).astype(float))
        assert earned[-1000:].mean() > 0.95
    assert policy.n_drifts == 5


@pytest.mark.parametrize("n_actions", [10, 200])
def test_actions_that_are_better_than_expected_at_first_are_no_change(n_actions):
    policy = st.RewardForest(actions=range(n_actions), seed=1)
    policy.play(np.random.default_rng(1).random((4000, 3)), np.ones((4000, n_actions)))
    assert policy.n_drifts == 0


def test_no_drift_is_detected_on_a_stationary_stream():
    policy = st.RewardForest(actions=range(4), seed=1)
    assert policy.n_drifts == 0
    paid(policy, *turned())
    assert policy.n_drifts == 0


def test_a_saved_forest_notices_the_same_changes(tmp_path):
    rows, rewards = turned(turn=3000, n=4000)
    straight, first = (st.RewardForest(actions=range(4), seed=1) for _ in range(2))
    expected = straight.play(rows, rewards).actions
    for start in range(0, len(rows), 500):
        actual = first.play(rows[start : start + 500], rewards[start : start + 500]).actions
        assert actual.tolist() == expected[start : start + 500].tolist()
        st.save(first, tmp_path / "policy.safetensors")
        first = st.load(tmp_path / "policy.safetensors")
        assert first.n_drifts == int(start >= 3000)
    assert straight.n_drifts == 1


def test_no_score_is_less_than_the_least_reward():
    policy, rng = st.RewardForest(actions=range(3), seed=2), np.random.default_rng(2)
    for turn in range(4):
        rows = rng.random((1000, 2))
        best = ((rows[:, 0] * 3).astype(int) + turn) % 3
        policy.play(rows, (best[:, None] == np.arange(3)).astype(float))
    scores = [row["score"] for context in rows[:30] for row in policy.explain(policy.decide(context)).rows]
    assert min(scores) == 0.0  # the weights add up to less
    assert max(scores) > 0.3
