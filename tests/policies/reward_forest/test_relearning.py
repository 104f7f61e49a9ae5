"""Relearning at the start: the scorers against their slow twins, and when events are not learned anew."""

import numpy as np
import pytest
from tests.reference.hashed_linear import HashedLinear
from tests.reference.ridge_scorer import RidgeScorer

import stumpery as st
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import relearning_kernels as relearning
from stumpery.types import Decision

ACTIONS = ["a", "b", "c"]
KINDS = ["number", "number", "bit", "category"]
TIMES = [12, 24, 48, 96, 192, 384, 768]  # after so many events all are learned anew
N_CODES = 64
N_EVENTS = 60 if INTERPRETED else 200


def events_of(n, seed=1, n_categories=5):
    """Rows as the forest stores them, with an action and a reward each."""
    rng = np.random.default_rng(seed)
    numbers = np.float32(np.column_stack([rng.normal(50.0, 7.0, n), rng.exponential(3.0, n)])).astype(float)
    numbers[rng.random(n) < 0.2, 1] = -np.inf
    bits, names = rng.integers(0, 2, n), rng.integers(0, n_categories, n)
    rows = [
        {"x": x, "y": None if y == -np.inf else y, "bit": bool(bit), "name": f"name {name}"}
        for (x, y), bit, name in zip(numbers.tolist(), bits.tolist(), names.tolist(), strict=True)
    ]
    actions = rng.integers(0, 3, n).tolist()
    rewards = [
        float(rng.random() < 0.2 + 0.2 * action + 0.3 * (row["x"] > 50))
        for row, action in zip(rows, actions, strict=True)
    ]
    codes = {name: code for code, name in enumerate(dict.fromkeys(row["name"] for row in rows), start=1)}
    encoded = [(row["x"], -np.inf if row["y"] is None else row["y"], row["bit"], codes[row["name"]]) for row in rows]
    return rows, encoded, actions, rewards


def learned(rows, actions, rewards, **options):
    """A forest that has learned these events."""
    policy = st.RewardForest(actions=ACTIONS, n_trees=3, seed=1, **options)
    for row, action, reward in zip(rows, actions, rewards, strict=True):
        policy.learn(Decision(ACTIONS[action], 0.5, row), reward)
    return policy


def codes_of(row, edges):
    """The codes of a row: a constant, the bins of numbers, set bits, categories."""
    codes = [0]
    for column, (kind, value) in enumerate(zip(KINDS, row, strict=True), start=1):
        if kind == "category":
            codes.append(column * N_CODES + value)
        elif kind == "number":
            codes.append(column * N_CODES + (0 if value == -np.inf else 1 + int((value > edges[column - 1]).sum())))
        elif value:
            codes.append(column * N_CODES + 1)
    return codes


@pytest.mark.kernels
@pytest.mark.parametrize("time", [12, 48, 60])
def test_the_linear_scorer_equals_one_that_knew_the_bins_from_the_first_event(time):
    rows, encoded, actions, rewards = events_of(time)
    state = learned(rows, actions, rewards)._arena.state
    twins = [HashedLinear() for _ in ACTIONS]
    for row, action, reward in zip(encoded, actions, rewards, strict=True):
        codes = codes_of(row, state.edges)  # unchanged since the last relearning
        twins[action].averaging_step(codes, reward - twins[action].predict(codes), 1.0, len(state.linear))
    found = {(slot, action): weight for (slot, action), weight in np.ndenumerate(state.linear[:, 0]) if weight}
    expected = {(slot, action): weight for action, twin in enumerate(twins) for slot, weight in twin.weights.items()}
    assert found == pytest.approx({key: weight for key, weight in expected.items() if weight}, abs=1e-5)


@pytest.mark.kernels
def test_the_ridge_scorer_equals_its_slow_twin():
    rows, encoded, actions, rewards = events_of(N_EVENTS)
    policy, twin = learned([], [], []), None
    for number, (row, action, reward) in enumerate(zip(rows, actions, rewards, strict=True), start=1):
        policy.learn(Decision(ACTIONS[action], 0.5, row), reward)
        state = policy._arena.state
        twin = twin or RidgeScorer(KINDS, len(ACTIONS), len(state.ridge.weights))
        twin.learn(encoded[number - 1], action, reward, 0)
        if number in TIMES:
            twin.relearn(list(zip(encoded[:number], actions, rewards)))  # noqa: B905 - the first ones
        if number >= TIMES[0]:
            expected = np.array([np.linalg.solve(a, b) for a, b in zip(twin.a, twin.b, strict=True)])
            assert np.allclose(state.ridge.weights.T, expected, atol=1e-7)


@kernel
def is_relearned(state, time, first, end, n_pairs):
    """Whether events are learned anew."""
    return relearning.is_relearned(state, time, first, end, n_pairs)


@pytest.mark.kernels
def test_events_are_learned_anew_only_at_the_start_if_all_are_stored_and_rows_are_not_too_wide():
    rows, _, actions, rewards = events_of(20)
    state = learned(rows, actions, rewards)._arena.state
    assert is_relearned(state, 48.0, 0, 48, 15)
    assert not is_relearned(state, 1536.0, 0, 1536, 15)
    assert not is_relearned(state, 48.0, 10, 48, 15)  # the ring has gone round
    assert not is_relearned(state, 48.0, 0, 40, 15)  # some were not stored
    assert not is_relearned(state, 768.0, 0, 768, 1_000_000)
    rows, _, actions, rewards = events_of(200, n_categories=150)
    assert not is_relearned(learned(rows, actions, rewards)._arena.state, 48.0, 0, 48, 15)


@pytest.mark.kernels
def test_events_of_removed_actions_are_left_out():
    rows, _, actions, rewards = events_of(47)
    policy = learned(rows, actions, rewards)
    policy.remove_action("b")
    policy.learn(Decision("a", 0.5, rows[0]), 1.0)  # the 48th event: all are learned anew
    state = policy._arena.state
    assert np.isfinite(state.ridge.weights).all()
    assert np.isfinite(state.linear).all()
