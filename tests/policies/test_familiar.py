"""Contexts that come again: the kernel against its slow twin, and forests that remember what a context earned."""

import numpy as np
import pytest
from tests.reference.familiar import Twin

import stumpery as st
from stumpery import RewardForest
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies import familiar_kernels as contexts
from stumpery.policies import hashed_kernels as hashed
from stumpery.policies import reward_forest_memory as memory
from stumpery.policies.familiar_kernels import Familiar
from stumpery.trees import forest_kernels as trees

N_ACTIONS, N_COLUMNS = 3, 4
NUMBERS = np.full(N_COLUMNS, trees.NUMBER, np.uint8)
N_EVENTS = 150 if INTERPRETED else 2000


def empty(n_slots):
    return Familiar(np.zeros(n_slots, np.uint64), hashed.new_linear(n_slots, N_ACTIONS), np.zeros(contexts.N_TRUST))


@kernel
def learn_one(familiar, row, kinds, action, error, scores):
    """Add what is known of a row to the scores, then learn an error, in place; give the row's slot."""
    found = contexts.look_up(familiar, row, kinds)
    contexts.recall(familiar, found, scores)
    contexts.learn(familiar, found, action, error)
    return contexts.slot_of(familiar, found)


@pytest.mark.kernels
@pytest.mark.parametrize("told", [0.0, 0.4], ids=["chance alone", "each context has its own"])
def test_errors_and_trust_are_those_of_the_slow_twin(told):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(20, N_COLUMNS)).astype(np.float32)
    rows[:, 1] = -np.inf  # as if it were missing
    own = rng.choice([-told, told], (len(rows), N_ACTIONS))
    familiar, twin = empty(2**16), Twin()
    for _ in range(N_EVENTS):
        context, action = int(rng.integers(len(rows))), int(rng.integers(N_ACTIONS))
        error, scores = float(own[context, action] + rng.normal() / 4), np.zeros(N_ACTIONS)
        learn_one(familiar, rows[context], NUMBERS, action, error, scores)
        expected = [twin.trust() * twin.mean(context, each) for each in range(N_ACTIONS)]
        assert scores == pytest.approx(expected, abs=1e-5)
        twin.learn(context, action, error)
    assert INTERPRETED or (familiar.trust[contexts.SHARE] > 0.8 if told else familiar.trust[contexts.SHARE] < 0.3)


@pytest.mark.kernels
def test_a_slot_belongs_to_the_context_that_came_last():
    rng = np.random.default_rng(6)
    familiar, scores = empty(2), np.zeros(N_ACTIONS)
    familiar.trust[contexts.SHARE] = 1.0
    rows = rng.normal(size=(50, N_COLUMNS)).astype(np.float32)
    slots = [learn_one(familiar, row, NUMBERS, 0, 1.0, scores) for row in rows]
    assert set(slots) == {0, 1}
    assert not scores.any()  # none of them came again
    assert familiar.errors[:, hashed.PAST].tolist() == [[1.0, 0.0, 0.0]] * 2
    assert familiar.errors[:, hashed.WEIGHT].tolist() == [[0.5, 0.0, 0.0]] * 2


@pytest.mark.kernels
def test_missing_values_and_zeros_have_one_print_each():
    familiar, scores = empty(2**10), np.zeros(N_ACTIONS)
    kinds = np.array([trees.NAME, trees.NUMBER, trees.BIT, trees.NAME], np.uint8)

    def slot(row, kinds=kinds):
        return learn_one(familiar, np.array(row, np.float32), kinds, 0, 1.0, scores)

    first = slot([0, -np.inf, 1, 3])
    assert slot([-np.inf, -np.inf, 1, 3], NUMBERS) == first  # the first column was missing before it held names
    assert slot([0, 0, 1, 3]) != first
    assert slot([0, 0, 1, 3]) == slot([0, -0.0, 1, 3])


def returning(n_contexts, n_events, seed):
    """Contexts of which each has a best action of its own that its numbers do not tell."""
    rng = np.random.default_rng(seed)
    rows, best = rng.random((n_contexts, 6)), rng.integers(0, N_ACTIONS, n_contexts)
    drawn = rng.integers(0, n_contexts, n_events)
    return rows[drawn], (best[drawn, None] == np.arange(N_ACTIONS)).astype(float)


def earned(rows, rewards):
    policy = RewardForest(actions=range(N_ACTIONS), seed=1)
    actions = policy.play(rows, rewards).actions
    return rewards[np.arange(len(rows)), actions].mean(), policy.trust


@pytest.mark.skipif(INTERPRETED, reason="it takes many events")
def test_a_forest_knows_contexts_that_come_again():
    rows, rewards = returning(1000, 6000, seed=1)
    again, trust = earned(rows, rewards)
    never, distrust = earned(rows + 1e-5 * np.random.default_rng(1).random(rows.shape), rewards)  # all but the same
    assert again > never + 0.05
    assert trust > 0.1
    assert distrust == 0.0


def test_a_forest_trusts_nothing_where_no_context_comes_again():
    policy = RewardForest(actions=range(N_ACTIONS), seed=1)
    assert policy.trust == 0.0
    rng = np.random.default_rng(2)
    n_events = 100 if INTERPRETED else 3000
    policy.play(rng.random((n_events, 5)), rng.integers(0, 2, (n_events, N_ACTIONS)).astype(float))
    assert policy.trust == 0.0


def test_what_contexts_earned_is_saved_and_follows_the_actions(tmp_path):
    policy = RewardForest(actions=["a", "b", "c"], seed=1)
    rows, rewards = returning(20, 60 if INTERPRETED else 600, seed=3)
    policy.play(rows, rewards)
    assert policy.trust > 0.0
    st.save(policy, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    assert again.trust == policy.trust
    before = policy._models.familiar.errors.copy()
    for each in (policy, again):
        each.remove_action("a")
        each.add_action("d")
    after = again._models.familiar.errors
    assert before[..., 1:].any()
    assert np.array_equal(after[..., :2], before[..., 1:])
    assert not after[..., 2].any()
    assert policy.decide_many(rows).actions == again.decide_many(rows).actions


def test_contexts_are_still_known_when_there_is_room_for_more():
    policy = RewardForest(actions=range(N_ACTIONS), seed=1)
    rows, rewards = returning(20, 60, seed=3)
    policy.play(rows, rewards)
    models = policy._models
    sizes = memory.sizes_of(models)
    more = memory.resized(models, sizes._replace(n_contexts=4 * sizes.n_contexts)).familiar
    assert len(more.prints) == 4 * len(models.familiar.prints)
    for found in models.familiar.prints[models.familiar.prints != 0]:
        old, new = int(found) % len(models.familiar.prints), int(found) % len(more.prints)
        assert more.prints[new] == found
        assert np.array_equal(more.errors[new], models.familiar.errors[old])
    assert np.array_equal(more.trust, models.familiar.trust)


def test_an_explanation_shows_what_the_same_context_earned_before():
    policy = RewardForest(actions=["a", "b", "c"], seed=1)
    rows, rewards = returning(20, 60 if INTERPRETED else 600, seed=3)
    policy.play(rows, rewards)
    known, unknown = policy.explain(policy.decide(rows[0])), policy.explain(policy.decide(rows[0] + 0.001))
    assert any(row["came before"] for row in known.rows)
    assert all("came before" not in row for row in unknown.rows)
