import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stumpery.streams.blocks import BLOCK
from stumpery.streams.random_tree import leaves, new_tree
from stumpery.streams.tree_problem import CATEGORIES, TreeProblem

SHAPES = st.fixed_dictionaries(
    {
        "depth": st.integers(1, 7),
        "n_numbers": st.integers(1, 4),
        "n_names": st.integers(0, 4),
        "n_codes": st.just(4),
    }
)


def slow_leaf(tree, row):
    """Walk down from the root, one row at a time."""
    n_numbers = len(row) - len(tree.ranks)
    node = 0
    while node < len(tree.cut):
        column = tree.column[node]
        value = row[column]
        if column >= n_numbers and not np.isnan(value):
            value = tree.ranks[column - n_numbers][int(value)]
        right = tree.missing_right[node] if np.isnan(value) else value >= tree.cut[node]
        node = 2 * node + (2 if right else 1)
    return node - len(tree.cut)


def random_values(rng, shape, n, missing):
    values = rng.random((n, shape["n_numbers"] + shape["n_names"]))
    values[:, shape["n_numbers"] :] = rng.integers(0, 4, (n, shape["n_names"]))
    values[rng.random(values.shape) < missing] = np.nan
    return values


@settings(deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 2**32))
def test_rows_reach_the_leaf_that_a_walk_reaches(shape, seed):
    rng = np.random.default_rng(seed)
    tree = new_tree(rng, **shape)
    values = random_values(rng, shape, 60, missing=0.1)
    assert leaves(tree, values).tolist() == [slow_leaf(tree, row) for row in values]


@settings(deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 2**32))
def test_every_leaf_of_a_tree_can_be_reached(shape, seed):
    tree = new_tree(np.random.default_rng(seed), **shape)
    n_numbers = shape["n_numbers"]
    for leaf in range(2 ** shape["depth"]):
        low = np.zeros(n_numbers + shape["n_names"])
        high = np.where(np.arange(len(low)) < n_numbers, 1.0, 4.0)
        node = leaf + len(tree.cut)
        while node:
            parent, right = (node - 1) // 2, node % 2 == 0
            column, cut = tree.column[parent], tree.cut[parent]
            low[column], high[column] = (
                (max(low[column], cut), high[column]) if right else (low[column], min(high[column], cut))
            )
            node = parent
        low[n_numbers:] = np.ceil(low[n_numbers:])  # codes are whole
        assert (low < high).all()


def test_values_are_uniform_and_missing_as_often_as_asked():
    stream = TreeProblem(n_columns=4, n_names=2, missing=0.2)
    frame = nw.from_native(next(stream.batches(seed=1, size=20_000)).contexts)
    assert frame.columns == ["x0", "x1", "name0", "name1"]
    for column in frame.columns[:2]:
        numbers = frame[column].to_numpy()
        assert abs(np.isnan(numbers).mean() - 0.2) < 4 * np.sqrt(0.16 / 20_000)
        assert stats.kstest(numbers[~np.isnan(numbers)], "uniform").pvalue > 0.001
    for column in frame.columns[2:]:
        names = frame[column].to_list()
        assert abs(names.count(None) / 20_000 - 0.2) < 4 * np.sqrt(0.16 / 20_000)
        assert stats.chisquare([names.count(name) for name in CATEGORIES]).pvalue > 0.001


@pytest.mark.parametrize("n_names", [0, 3])
def test_rewards_are_bernoulli_draws_of_the_expected_probabilities(n_names):
    batch = next(TreeProblem(n_names=n_names, depth=3, missing=0.1).batches(seed=2, size=100_000))
    assert set(np.unique(batch.rewards)) == {0.0, 1.0}
    _, leaf = np.unique(batch.expected, axis=0, return_inverse=True)
    n = np.bincount(leaf)
    assert len(n) == 8
    for action in range(5):
        probability = np.bincount(leaf, batch.expected[:, action]) / n
        seen = np.bincount(leaf, batch.rewards[:, action]) / n
        assert (np.abs(seen - probability) < 4.5 * np.sqrt(probability * (1 - probability) / n)).all()


@given(gap=st.floats(0, 1), noise=st.floats(0, 0.99), n_actions=st.integers(2, 8), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_the_best_action_leads_by_the_stated_gap(gap, noise, n_actions, seed):
    stream = TreeProblem(n_names=0, gap=gap, noise=noise, n_actions=n_actions)
    expected = np.sort(next(stream.batches(seed=seed, size=200)).expected, axis=1)
    assert expected[:, -1] == pytest.approx(1 - noise / 2)
    assert (expected[:, -1] - expected[:, -2] >= (1 - noise) * gap - 1e-12).all()
    assert (expected >= noise / 2).all()


@pytest.mark.parametrize("drift", [None, "abrupt", "gradual"])
@pytest.mark.parametrize("n_names", [0, 3])
def test_what_is_expected_can_be_asked_for_any_contexts_and_event(n_names, drift):
    stream = TreeProblem(n_names=n_names, missing=0.1, drift=drift, drift_every=300)
    batch = next(stream.batches(seed=4, size=BLOCK + 1000))
    events = np.arange(BLOCK + 1000)
    assert (stream.expected(batch.contexts, seed=4, event=events) == batch.expected).all()
    assert (stream.best_action(batch.contexts, seed=4, event=events) == batch.expected.argmax(axis=1)).all()
    assert (stream.expected(batch.contexts, seed=5, event=events) != batch.expected).any()


def test_without_drift_a_context_keeps_its_means():
    stream = TreeProblem(n_names=0)
    contexts = next(stream.batches(seed=1, size=50)).contexts
    assert (stream.expected(contexts, seed=1, event=0) == stream.expected(contexts, seed=1, event=10**9)).all()


def test_abrupt_drift_changes_the_means_at_once_and_nowhere_else():
    stream = TreeProblem(n_names=0, drift="abrupt", drift_every=100)
    contexts = np.repeat(next(stream.batches(seed=1, size=1)).contexts, 300, axis=0)
    means = stream.expected(contexts, seed=1, event=np.arange(300))
    changes = np.flatnonzero((means[1:] != means[:-1]).any(axis=1)) + 1
    assert changes.tolist() == [100, 200]


def test_gradual_drift_slides_along_a_line_between_the_same_means():
    options = {"n_names": 0, "drift_every": 100}
    contexts = np.random.default_rng(1).random((1, 10)).repeat(301, axis=0)
    events = np.arange(301)
    slide = TreeProblem(drift="gradual", **options).expected(contexts, seed=1, event=events)
    jump = TreeProblem(drift="abrupt", **options).expected(contexts, seed=1, event=events)
    assert slide[::100] == pytest.approx(jump[::100])
    for start in (0, 100, 200):
        line = np.linspace(slide[start], slide[start + 100], 101)
        assert slide[start : start + 101] == pytest.approx(line)


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_the_frame_says_the_same_in_every_library(library, monkeypatch):
    stream = TreeProblem(n_columns=4, n_names=2, missing=0.2)
    usual = next(stream.batches(seed=6, size=500))
    monkeypatch.setattr("stumpery.frames.find_spec", lambda name: name == library or None)
    batch = next(stream.batches(seed=6, size=500))
    assert type(batch.contexts).__module__.partition(".")[0] == library
    names = nw.from_native(batch.contexts)["name0"].to_list()
    assert [None if pd.isna(name) else name for name in names] == nw.from_native(usual.contexts)["name0"].to_list()
    assert (stream.expected(batch.contexts, seed=6) == usual.expected).all()


def test_without_any_library_of_frames_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setattr("stumpery.frames.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="stumpery"):
        next(TreeProblem().batches(seed=1, size=1))


def test_each_seed_draws_its_own_problem():
    contexts = np.random.default_rng(1).random((200, 10))
    stream = TreeProblem(n_names=0)
    best = [tuple(stream.best_action(contexts, seed=seed)) for seed in range(20)]
    assert len(set(best)) == 20
    assert stats.chisquare(np.bincount(np.ravel([row[:1] for row in best]), minlength=5)).pvalue > 0.001


def test_the_repr_is_the_recipe():
    stream = TreeProblem(depth=3, drift="gradual")
    assert eval(repr(stream)) == stream  # noqa: S307


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_columns": 0}, "n_columns is 0; it must be a whole number of 1 or more"),
        ({"n_columns": 3, "n_names": 3}, "n_names is 3; it must be a whole number from 0 to 2"),
        ({"depth": 17}, "depth is 17; it must be a whole number from 1 to 16"),
        ({"n_actions": True}, "n_actions is True; it must be a whole number of 2 or more"),
        ({"noise": 1}, "noise is 1; it must be a number of 0 or more and below 1"),
        ({"gap": -0.1}, "gap is -0.1; it must be a number from 0 to 1"),
        ({"missing": "no"}, "missing is 'no'; it must be a number of 0 or more and below 1"),
        ({"drift": "slow"}, "drift is 'slow'; it must be one of None, 'abrupt', 'gradual'"),
        ({"drift_every": 0}, "drift_every is 0; it must be a whole number of 1 or more"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        TreeProblem(**options)


def test_contexts_of_another_width_and_events_before_the_first_are_refused():
    stream = TreeProblem(n_names=0)
    with pytest.raises(ValueError, match=r"^contexts has the shape \(1, 3\); it must have 10 columns$"):
        stream.expected(np.zeros((1, 3)), seed=1)
    for event in (-1, 1.5, "x", [0, 1]):
        with pytest.raises(
            ValueError, match=r"^event is .*; it must be a whole number of 0 or more, or one for each row$"
        ):
            stream.best_action(np.zeros((1, 10)), seed=1, event=event)
    with pytest.raises(ValueError, match=r"^contexts is \[1\]; it must be a frame, as `batches` gives it$"):
        TreeProblem().expected([1], seed=1)
