"""Context memory: the kernel against its slow twin, and forests whose contexts come again."""

import numpy as np
import pytest
from tests.reference.context_memory import ContextBucket, ContextMemory

import stumpery as st
from stumpery import RewardForest
from stumpery.array_forest import forest_kernels as trees
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import context_memory_kernels as contexts
from stumpery.policies.reward_forest.scorers.context_memory import memory_with_actions, new_context_memory

N_ACTIONS, N_COLUMNS = 3, 4
NUMBERS = np.full(N_COLUMNS, trees.NUMERICAL, np.uint8)
NEVER = np.uint64(1)  # a key by which nothing ages
N_EVENTS = 150 if INTERPRETED else 2000


@kernel
def learn_one(memory, row, kinds, action, error, scores, key=NEVER):
    """Add what is known of a row to the scores, then learn an error, in place; give the row's print."""
    found = contexts.hash_and_prefetch(memory, row, kinds)
    contexts.add_residuals(memory, found, scores)
    contexts.learn(memory, found, action, error, key)
    return found


@pytest.mark.kernels
@pytest.mark.parametrize("n_actions", [3, 20], ids=["few actions", "actions in three buckets"])
@pytest.mark.parametrize("told", [0.0, 0.4], ids=["chance alone", "each context has its own"])
def test_mean_residuals_and_shrinkage_equal_the_slow_twin(told, n_actions):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(20, N_COLUMNS)).astype(np.float32)
    rows[:, 1] = -np.inf  # as if it were missing
    own = rng.choice([-told, told], (len(rows), n_actions))
    memory, twin = new_context_memory(2**13), ContextMemory()
    for _ in range(N_EVENTS):
        context, action = int(rng.integers(len(rows))), int(rng.integers(n_actions))
        error, scores = float(own[context, action] + rng.normal() / 4), np.zeros(n_actions)
        learn_one(memory, rows[context], NUMBERS, action, error, scores)
        expected = [twin.shrinkage() * twin.mean(context, each) for each in range(n_actions)]
        assert scores == pytest.approx(expected, abs=1e-9)
        twin.learn(context, action, error)
    assert INTERPRETED or (
        memory.shrinkage[contexts.SHRINKAGE_FACTOR] > 0.8 if told else memory.shrinkage[contexts.SHRINKAGE_FACTOR] < 0.3
    )


@pytest.mark.kernels
def test_a_bucket_has_the_entries_of_its_slow_twin():
    rng = np.random.default_rng(6)
    memory, twin, scores = new_context_memory(1), ContextBucket(), np.zeros(N_ACTIONS)
    rows = rng.normal(size=(15, N_COLUMNS)).astype(np.float32)
    refused = 0
    for _ in range(N_EVENTS):
        context, action = int(rng.integers(len(rows)) * rng.random()), int(rng.integers(2))
        error = float(rng.choice([0.125, 1.0]) * rng.normal())
        before = memory.buckets.copy()
        key = np.uint64(rng.integers(64))
        found = int(learn_one(memory, rows[context], NUMBERS, action, error, scores, key))
        twin.learn(found >> 40, action, error, key % 8 == 0)
        known = [(hash_, action, mean, plays) for hash_, action, plays, mean in of_bucket(memory) if hash_]
        assert known == twin.entries
        refused += (memory.buckets[0, :-1] == before[0, :-1]).all()
    assert INTERPRETED or refused > 100


@pytest.mark.kernels
def test_entries_of_contexts_that_are_not_repeated_are_evicted_in_the_end():
    rng = np.random.default_rng(6)
    memory, scores = new_context_memory(1), np.zeros(N_ACTIONS)
    old, new = rng.normal(size=(2, contexts.BUCKET_SIZE, N_COLUMNS)).astype(np.float32)
    for row in old:
        for _ in range(100):  # the highest eviction score
            learn_one(memory, row, NUMBERS, 1, 1.0, scores)
    before = {each[0] for each in of_bucket(memory)}
    for number in range(N_EVENTS):
        learn_one(memory, new[number % len(new)], NUMBERS, 1, 0.05, scores, np.uint64(rng.integers(64)))
    left = before & {each[0] for each in of_bucket(memory)}
    assert INTERPRETED or not left


@pytest.mark.kernels
def test_where_contexts_exceed_the_buckets_entries_with_large_residuals_stay():
    rng = np.random.default_rng(6)
    n_buckets = 4
    memory, scores = new_context_memory(n_buckets), np.zeros(N_ACTIONS)
    rows = rng.normal(size=(3 * n_buckets * contexts.BUCKET_SIZE, N_COLUMNS)).astype(np.float32)
    errors = rng.permutation(np.linspace(0.1, 1.0, len(rows)))
    for _ in range(4):
        for row, error in zip(rows, errors, strict=True):
            learn_one(memory, row, NUMBERS, 2, float(error), scores)
    kept = {int(word) >> 40 for word in memory.buckets.ravel()}
    told = [int(learn_one(memory, row, NUMBERS, 2, 0.0, scores)) >> 40 in kept for row in rows[errors > 0.8]]
    assert np.mean(told) > 0.9


@pytest.mark.kernels
def test_what_a_context_earned_is_added_when_it_comes_again():
    memory, scores = new_context_memory(1), np.zeros(N_ACTIONS)
    memory.shrinkage[contexts.SHRINKAGE_FACTOR] = 1.0
    row = np.ones(N_COLUMNS, np.float32)
    found = int(learn_one(memory, row, NUMBERS, 2, 1.0, scores))
    assert not scores.any()
    learn_one(memory, row, NUMBERS, 2, 1.0, scores)
    assert scores.tolist() == [0.0, 0.0, 0.5]
    assert of_bucket(memory)[0] == (found >> 40, 2, 2, pytest.approx(2 / 3, abs=1e-5))


def of_bucket(memory):
    """The prints, actions, plays and means in the first bucket."""
    words = [int(word) for word in memory.buckets[0]]
    return [(word >> 40, word >> 24 & 0xFFFF, word >> 18 & 63, ((word & 2**18 - 1) - 2**17) / 2**16) for word in words]


@pytest.mark.kernels
@pytest.mark.parametrize("error", [-1e300, -3.0, 3.0, 1e300])
def test_an_error_beyond_all_measure_is_the_largest_there_is(error):
    memory, row = new_context_memory(1), np.zeros(N_COLUMNS, np.float32)
    for _ in range(300):
        learn_one(memory, row, NUMBERS, 1, error, np.zeros(N_ACTIONS))
    assert of_bucket(memory)[0][1:] == (1, 63, pytest.approx(np.copysign(2.0, error), abs=1e-4))
    assert not memory.buckets[0, 1:].any()


@pytest.mark.kernels
def test_an_action_has_one_entry_where_actions_exceed_the_buckets():
    n_actions = 100
    memory, scores, row = new_context_memory(2), np.zeros(n_actions), np.zeros(N_COLUMNS, np.float32)
    memory.shrinkage[contexts.SHRINKAGE_FACTOR] = 1.0
    for action in range(n_actions):
        learn_one(memory, row, NUMBERS, action, 1.0, scores)
    scores[:] = 0.0
    learn_one(memory, row, NUMBERS, 0, 1.0, scores)
    assert np.count_nonzero(scores) == 2 * contexts.BUCKET_SIZE
    assert set(scores.tolist()) == {0.0, 0.5}


@pytest.mark.kernels
def test_of_very_many_actions_the_first_have_entries():
    n_actions, row = 65_540, np.zeros(N_COLUMNS, np.float32)
    memory, scores = new_context_memory(2**14), np.zeros(n_actions)
    memory.shrinkage[contexts.SHRINKAGE_FACTOR] = 1.0
    for action in (0, 7, 65_535, 65_536, 65_539):
        learn_one(memory, row, NUMBERS, action, 1.0, scores)
    scores[:] = 0.0
    known(memory, row, NUMBERS, scores)
    assert np.flatnonzero(scores).tolist() == [0, 7, 65_535]
    known(memory_with_actions(memory, [*range(1, n_actions), None]), row, NUMBERS, scores)
    assert np.flatnonzero(scores).tolist() == [0, 6, 7, 65_534, 65_535]


@pytest.mark.kernels
def test_a_mean_does_not_stay_with_rare_errors():
    memory, row, rng = new_context_memory(1), np.zeros(N_COLUMNS, np.float32), np.random.default_rng(8)
    means = []
    for error in (rng.random(500 if INTERPRETED else 40_000) < 0.002) - 0.002:
        learn_one(memory, row, NUMBERS, 1, float(error), np.zeros(N_ACTIONS))
        means.append(of_bucket(memory)[0][3])
    assert INTERPRETED or np.mean(means) == pytest.approx(0.0, abs=0.002)


@pytest.mark.kernels
def test_missing_values_and_zeros_have_one_hash_each():
    memory, scores = new_context_memory(2**10), np.zeros(N_ACTIONS)
    kinds = np.array([trees.CATEGORICAL, trees.NUMERICAL, trees.BINARY, trees.CATEGORICAL], np.uint8)

    def hash_of(row, kinds=kinds):
        return learn_one(memory, np.array(row, np.float32), kinds, 0, 1.0, scores)

    first = hash_of([0, -np.inf, 1, 3])
    assert hash_of([-np.inf, -np.inf, 1, 3], NUMBERS) == first  # the first column was missing before it held names
    assert hash_of([0, 0, 1, 3]) != first
    assert hash_of([0, 0, 1, 3]) == hash_of([0, -0.0, 1, 3])


@pytest.mark.kernels
def test_values_that_differ_in_64_bits_only_have_different_hashes():
    memory, scores = new_context_memory(2**10), np.zeros(N_ACTIONS)

    def hash_of(row, kind=np.float64):
        return learn_one(memory, np.array(row, kind), NUMBERS[:2], 0, 1.0, scores)

    values = [0.5, 2.0**24, 2.0**24 + 1, 2.0**53 - 2, 2.0**53 - 1, 1e-300, 2e-300, 1e200, 2e200]
    assert len({hash_of([one, two]) for one in values for two in values}) == len(values) ** 2
    for row in ([0.5, 2.0**24], [-np.inf, 3e38 * 0.0]):  # what 32 bits tell has the same print as ever
        assert hash_of(row) == hash_of(row, np.float32)


@kernel
def known(memory, row, kinds, scores):
    """Add what is known of a row to the scores, in place."""
    contexts.add_residuals(memory, contexts.hash_and_prefetch(memory, row, kinds), scores)


def all_known(memory, rows, n_actions):
    scores = np.zeros((len(rows), n_actions))
    for row, line in zip(rows, scores, strict=True):
        known(memory, row, NUMBERS, line)
    return scores


def filled(n_buckets, n_contexts, n_actions):
    """A table of contexts, the rows, and what it knows of them."""
    rng = np.random.default_rng(7)
    memory = new_context_memory(n_buckets)
    rows = rng.normal(size=(n_contexts, N_COLUMNS)).astype(np.float32)
    for row in rows:
        for action in rng.permutation(n_actions)[: n_actions // 2]:
            learn_one(memory, row, NUMBERS, int(action), float(rng.normal()), np.zeros(n_actions))
    memory.shrinkage[contexts.SHRINKAGE_FACTOR] = 1.0
    return memory, rows, all_known(memory, rows, n_actions)


@pytest.mark.kernels
def test_contexts_follow_their_actions():
    memory, rows, before = filled(n_buckets=256, n_contexts=10, n_actions=20)
    keep = [3, None, 19, 0, 11]
    after = all_known(memory_with_actions(memory, keep), rows, len(keep))
    assert before.any()
    for place, old in enumerate(keep):
        assert np.array_equal(after[:, place], np.zeros(len(rows)) if old is None else before[:, old])


def test_what_was_played_last_stays_where_too_many_come_to_one_bucket():
    memory = new_context_memory(2)
    for bucket in range(2):
        for way, context in enumerate([1, 3] * 4):
            memory.buckets[bucket, way] = (context << 40) + (8 * bucket + way // 2 << 24) + (1 << 18)
    after = memory_with_actions(memory, [0, 1, 2, 3, 8, 9, 10, 11])  # all of them in the first bucket
    assert [each[:2] for each in of_bucket(after)] == [(1, 0), (1, 4), (3, 0), (3, 4), (1, 1), (1, 5), (3, 1), (3, 5)]
    assert not after.buckets[1].any()


def returning(n_contexts, n_events, seed):
    """Contexts of which each has a best action of its own that its numbers do not tell."""
    rng = np.random.default_rng(seed)
    rows, best = rng.random((n_contexts, 6)), rng.integers(0, N_ACTIONS, n_contexts)
    drawn = rng.integers(0, n_contexts, n_events)
    return rows[drawn], (best[drawn, None] == np.arange(N_ACTIONS)).astype(float)


def earned(rows, rewards):
    policy = RewardForest(actions=range(N_ACTIONS), seed=1)
    actions = policy.play(rows, rewards).actions
    return rewards[np.arange(len(rows)), actions].mean(), policy.context_shrinkage


@pytest.mark.skipif(INTERPRETED, reason="it takes many events")
def test_a_forest_remembers_contexts_that_are_repeated():
    rows, rewards = returning(2000, 6000, seed=1)
    again, shrinkage = earned(rows, rewards)
    nearly_same = rows + 1e-5 * np.random.default_rng(1).random(rows.shape)
    never, shrinkage_of_never = earned(nearly_same, rewards)
    assert again > never + 0.05
    assert shrinkage > 0.1
    assert shrinkage_of_never == 0.0


def test_the_context_shrinkage_is_zero_where_no_context_comes_again():
    policy = RewardForest(actions=range(N_ACTIONS), seed=1)
    assert policy.context_shrinkage == 0.0
    rng = np.random.default_rng(2)
    n_events = 100 if INTERPRETED else 3000
    policy.play(rng.random((n_events, 5)), rng.integers(0, 2, (n_events, N_ACTIONS)).astype(float))
    assert policy.context_shrinkage == 0.0


def test_what_contexts_earned_is_saved_and_follows_the_actions(tmp_path):
    policy = RewardForest(actions=["a", "b", "c"], seed=1)
    rows, rewards = returning(20, 60 if INTERPRETED else 600, seed=3)
    policy.play(rows, rewards)
    assert policy.context_shrinkage > 0.0
    st.save(policy, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    assert again.context_shrinkage == policy.context_shrinkage
    for each in (policy, again):
        each.remove_action("a")
        each.add_action("d")
    words = again._arena.state.context_memory.buckets
    assert {int(word) >> 24 & 0xFFFF for word in words[words != 0]} == {0, 1}  # "b" and "c"
    assert policy.decide_many(rows).actions == again.decide_many(rows).actions


def test_an_explanation_shows_what_the_same_context_earned_before():
    policy = RewardForest(actions=["a", "b", "c"], seed=1)
    rows, rewards = returning(20, 60 if INTERPRETED else 600, seed=3)
    policy.play(rows, rewards)
    known, unknown = policy.explain(policy.decide(rows[0])), policy.explain(policy.decide(rows[0] + 0.001))
    assert any(row["context memory"] for row in known.rows)
    assert all("context memory" not in row for row in unknown.rows)
