"""Workspaces: kept between calls, and never used by two threads at a time."""

from threading import Thread

import numpy as np
import pytest

import stumpery as st
from stumpery.array_forest.arena import WorkspacePool


def test_a_workspace_is_kept_while_no_call_uses_it():
    made = iter(range(3))
    pool = WorkspacePool()
    first, second = pool.take(lambda: next(made)), pool.take(lambda: next(made))
    assert (first, second) == (0, 1)
    pool.give_back(first)
    pool.give_back(second)
    assert pool.take(lambda: next(made)) == 0
    assert pool.take(lambda: next(made)) == 2


def stream(n=400):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, 4))
    return rows, (rows[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [st.HoeffdingTreeClassifier, st.ForestClassifier])
def test_several_threads_may_predict_at_a_time(kind):
    rows, labels = stream()
    model = kind(seed=1)
    model.learn_many(rows, labels)
    alone = model.predict_proba_many(rows)
    found = [[] for _ in range(3)]

    def ask(answers):
        for _ in range(30):
            answers.append(model.predict_proba_many(rows))

    threads = [Thread(target=ask, args=(answers,)) for answers in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(answers) for answers in found] == [30] * 3
    assert all(np.array_equal(np.asarray(alone), np.asarray(each)) for answers in found for each in answers)


def test_small_forests_need_small_workspaces():
    rows, labels = stream()
    policy = st.RewardForest(actions=[0, 1], seed=1, n_trees=2, max_bytes=60_000)
    policy.play(rows, np.eye(2)[labels])
    workspace = policy._arena._new_workspace(policy._arena.state)
    assert sum(array.nbytes for array in _arrays(workspace)) < 300_000


def _arrays(workspace):
    for each in workspace:
        if isinstance(each, tuple):
            yield from _arrays(each)
        else:
            yield each
