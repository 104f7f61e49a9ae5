"""Hoeffding trees against their slow twin, and what only shows in long or unusual streams."""

import numpy as np
import pytest
from tests.reference.hoeffding_tree import HoeffdingTree
from tests.support import assert_same_state, bits_of, restored

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.jit import INTERPRETED
from stumpery.streaming import state as states
from stumpery.streaming.validation import validate

pytestmark = pytest.mark.kernels
N_ROWS = 160 if INTERPRETED else 700


def stream(n, seed=3, n_classes=3):
    """Numbers, names and bits of which some decide the class."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)).round(2)
    names = rng.choice(["red", "green", "blue", "grey"], size=n)
    bits = rng.integers(0, 2, n).astype(float)
    labels = (numbers[:, 0] > 0.3).astype(int) + (names == "red") * (bits == 1)
    noisy = np.where(rng.random(n) < 0.1, rng.integers(0, n_classes, n), labels)
    rows = [
        {"a": float(a), "b": float(b), "name": str(name), "bit": float(bit)}
        for (a, b), name, bit in zip(numbers, names, bits, strict=True)
    ]
    for row in rows[:: n // 20]:
        row["a"] = None
    return rows, noisy.tolist()


def encoded(rows):
    codes = {}
    for row in rows:
        codes.setdefault(row["name"], len(codes) + 1)
    missing = -np.inf
    return [
        [missing if row["a"] is None else row["a"], row["b"], float(codes[row["name"]]), row["bit"]] for row in rows
    ]


def as_timestamps(rows):
    """The same rows, whose numbers differ by milliseconds of a day."""
    return [
        {**row, **{name: None if row[name] is None else 1.7e12 + round(100.0 * row[name]) for name in ("a", "b")}}
        for row in rows
    ]


IS_CATEGORICAL = [False, False, True, False]
OPTIONS = [{}, {"delta": 0.01, "tau": 0.05}, {"grace_period": 20}, {"binary_split": False}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("criterion", ["info_gain", "gini"])
@pytest.mark.parametrize("is_large", [False, True], ids=["small numbers", "timestamps"])
def test_the_tree_equals_its_slow_twin(criterion, options, is_large):
    rows, labels = stream(N_ROWS)
    rows = as_timestamps(rows) if is_large else rows
    settings = {"grace_period": 30, "delta": 0.05, "tau": 0.3, **options}
    model = st.HoeffdingTreeClassifier(split_criterion=criterion, leaf_prediction="mc", **settings)
    weights = np.random.default_rng(1).integers(1, 3, N_ROWS).astype(float)
    model.learn_many(rows, labels, weights)
    twin = HoeffdingTree(IS_CATEGORICAL, 10**9, criterion, **settings)
    matrix = [np.array(row, dtype=np.float64 if is_large else np.float32) for row in encoded(rows)]
    for row, label, weight in zip(matrix, labels, weights.tolist(), strict=True):
        twin.learn(row, label, weight)
    assert twin.n_leaves() == model.n_leaves
    assert model.n_leaves > 2 or options
    if "binary_split" in options and not INTERPRETED:
        assert "name in {" in model.to_text(max_depth=10)
    found = model.predict_proba_many(rows[::5])
    for row, probabilities in zip(matrix[::5], found, strict=True):
        expected = twin.probabilities(row)
        assert probabilities == pytest.approx([expected.get(label, 0.0) for label in model.classes], abs=1e-5)


def test_naive_bayes_equals_the_formula_on_the_leaves_own_events():
    rows, labels = stream(N_ROWS)
    model = st.HoeffdingTreeClassifier(leaf_prediction="nb", max_depth=0, grace_period=N_ROWS)
    names = [{"name": row["name"], "more": row["name"] + str(row["bit"])} for row in rows]
    model.learn_many(names, labels)
    shares = np.array([labels.count(each) for each in model.classes]) / len(labels)
    for row in names[:20]:
        scores = np.log(shares)
        for column in ("name", "more"):
            codes = {each[column] for each in names}
            for place, label in enumerate(model.classes):
                own = [each[column] for each, other in zip(names, labels, strict=True) if other == label]
                scores[place] += np.log((own.count(row[column]) + 1.0 / (len(codes) + 1)) / (len(own) + 1.0))
        expected = np.exp(scores - scores.max())
        assert model.predict_proba_many([row])[0] == pytest.approx(expected / expected.sum(), rel=1e-3)


def test_the_adaptive_leaf_uses_the_recent_events_where_they_predict_better():
    labels = [str(event // 50 % 2) for event in range(2000)]
    rows = [{"x": 1.0}] * len(labels)
    right = {}
    for prediction in ("mc", "recent", "adaptive"):
        model = st.HoeffdingTreeClassifier(leaf_prediction=prediction)
        probabilities = model.test_then_learn(rows, labels)
        right[prediction] = np.mean(
            [model.classes[row.argmax()] == y for row, y in zip(probabilities, labels, strict=True)]
        )
    assert right["recent"] > 0.9
    assert right["adaptive"] > 0.85
    assert right["mc"] < 0.7


def test_a_label_that_is_no_class_changes_nothing():
    model = st.HoeffdingTreeClassifier()
    model.learn_many(*stream(50))
    before = bits_of(model)
    for wrong in (None, float("nan"), [1], b"x", 1j, float("inf")):
        with pytest.raises(ValueError, match=r"^a label is "):
            model.learn_one({"a": 1.0}, wrong)
        with pytest.raises(ValueError, match=r"^a label is "):
            model.learn_many([{"a": 1.0}, {"a": 2.0}], [1, wrong])
    assert bits_of(model) == before


def test_labels_never_seen_before_are_new_classes_up_to_a_limit():
    model = st.HoeffdingTreeClassifier()
    model.learn_one({"x": 1.0}, "a")
    model.learn_one({"x": 1.0}, "b")
    assert model.predict_proba_one({"x": 1.0}).keys() == {"a", "b"}
    with pytest.raises(ValueError, match="there would be 1002 classes; 1000 is the most"):
        model.learn_many(np.zeros((1000, 1)), list(range(1000)))
    assert model.classes == ("a", "b")


def test_one_class_only_is_predicted_with_certainty():
    model = st.HoeffdingTreeClassifier()
    model.learn_many(np.random.default_rng(0).normal(size=(300, 3)), np.ones(300, dtype=int))
    assert model.predict_proba_one(np.zeros(3)) == {1: 1.0}
    assert model.n_leaves == 1


def test_events_are_renumbered_before_their_numbers_overflow(monkeypatch):
    rows, labels = stream(3000)
    plain, renumbered = (st.HoeffdingTreeClassifier(max_bytes=40_000) for _ in range(2))
    plain.learn_many(rows, labels)
    monkeypatch.setattr(trees, "MAX_EVENT_NUMBER", 300)
    for start in range(0, len(rows), 50):
        renumbered.learn_many(rows[start : start + 50], labels[start : start + 50])
    assert renumbered._arena.state.forest.counters[trees.COUNTER_TIME] < len(rows)
    assert renumbered.predict_proba_many(rows).tobytes() == plain.predict_proba_many(rows).tobytes()


def test_leaves_are_deactivated_where_memory_is_low_and_all_blocks_stay_accounted_for():
    n = 400 if INTERPRETED else 20_000
    rng = np.random.default_rng(0)
    matrix = rng.random((n, 2))
    labels = (np.floor(matrix[:, 0] * 8) + np.floor(matrix[:, 1] * 8)).astype(int) % 2
    model = st.HoeffdingTreeClassifier(max_bytes=60_000, grace_period=20)
    model.learn_many(matrix, labels)
    assert model.n_bytes <= 60_000
    validate(model._arena.state, model._arena.shape)


def test_the_regression_tree_equals_its_slow_twin():
    rows, classes = stream(N_ROWS)
    rng = np.random.default_rng(4)
    numbers = [1000.0 + 3.0 * each + float(rng.normal()) for each in classes]
    settings = {"grace_period": 30, "delta": 0.05, "tau": 0.3}
    model = st.HoeffdingTreeRegressor(leaf_prediction="mc", **settings)
    model.learn_many(rows, numbers)
    twin = HoeffdingTree(IS_CATEGORICAL, 10**9, "variance", **settings)
    matrix = [np.array(row, dtype=np.float32) for row in encoded(rows)]
    for row, number in zip(matrix, numbers, strict=True):
        twin.learn(row, float(np.float32(number)), 1.0)
    assert model.n_leaves == twin.n_leaves() > 2
    for row, found in zip(matrix[::5], model.predict_many(rows[::5]), strict=True):
        own = [twin.history[number][1] for number in twin.leaf_of(row).events]
        assert found == pytest.approx(np.mean(own), abs=6.0 / len(own))


@pytest.mark.parametrize("wrong", [None, "1", float("nan"), float("inf"), 1e30, [1.0]], ids=str)
def test_a_label_that_is_no_number_changes_nothing(wrong):
    model = st.HoeffdingTreeRegressor()
    model.learn_many([{"x": 1.0}, {"x": 2.0}], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^a label is .*must be a number"):
        model.learn_one({"x": 1.0}, wrong)
    assert model.n_events == 2


def drifting(n, seed=0):
    """Two columns decide the class; half-way they decide the opposite."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((n, 5))
    labels = (matrix[:, 0] + matrix[:, 1] > 1.0).astype(int)
    labels[n // 2 :] = 1 - labels[n // 2 :]
    return matrix, labels


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_a_forest_recovers_from_drift_by_replacing_trees():
    matrix, labels = drifting(12_000)
    adaptive, static = (
        st.ForestClassifier(seed=3, leaf_prediction="mc", **options)
        for options in ({}, {"warning_delta": 1e-300, "drift_delta": 1e-300})
    )
    late = slice(6_500, 7_500)
    right = []
    for model in (adaptive, static):
        probabilities = model.test_then_learn(matrix, labels)
        right.append((np.array(model.classes)[probabilities.argmax(axis=1)] == labels)[late].mean())
        validate(model._arena.state, model._arena.shape)
    assert right[0] > 0.9
    assert right[1] < 0.5


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_a_regression_forest_recovers_from_drift():
    matrix, labels = drifting(12_000)
    model = st.ForestRegressor(seed=3)
    found = model.test_then_learn(matrix, labels * 10.0)
    assert np.abs(found - labels * 10.0)[9_000:].mean() < 2.0


@pytest.mark.parametrize("late", [17, 60, 900])
def test_classes_that_come_late_stay_within_the_memory_or_are_refused(late):
    rng = np.random.default_rng(4)
    matrix = rng.random((N_ROWS * 10, 3))
    for kind in (st.HoeffdingTreeClassifier, st.ForestClassifier):
        model = kind(max_bytes=400_000, grace_period=20)
        model.learn_many(matrix, (matrix[:, 0] > matrix[:, 1]).tolist())
        before = model.state().arrays["events"].tobytes()
        try:
            model.learn_many(matrix[:late], list(range(late)))
        except st.CapacityError as error:
            assert str(error).startswith("max_bytes is 400000; ")
            assert model.classes == (False, True) or set(model.classes) == {True, False}
            assert model.state().arrays["events"].tobytes() == before
        else:
            assert late < 900
            assert len(model.classes) == late
        assert model.n_bytes <= 400_000
        restored(model)


def test_a_smaller_ring_buffer_keeps_the_newest_events():
    matrix = np.arange(10_000.0).reshape(-1, 1)
    model = st.HoeffdingTreeClassifier(max_bytes=200_000)
    model.learn_many(matrix, (matrix[:, 0] % 2).tolist())
    shape, capacity = model._arena.shape, states.capacity_of(model._arena.state)
    smaller = states.resized(model._arena.state, shape, capacity._replace(n_events=300))
    kept = {number % 300: float(number) for number in range(9_700, 10_000)}
    assert smaller.events[:, 0].tolist() == [kept[place] for place in range(300)]


def test_numbers_too_large_to_square_are_refused_and_models_of_large_ones_can_be_saved():
    model = st.HoeffdingTreeRegressor(grace_period=10)
    for wrong in (10**400, 2e15, float("nan")):
        with pytest.raises(ValueError, match=r"a label is .*; it must be a number from -1e"):
            model.learn_one({"a": 1.0}, wrong)
    rows = [{"a": float(place % 2)} for place in range(N_ROWS)]
    model.learn_many(rows, [1e15 if row["a"] else -1e15 for row in rows], 1e6)
    assert np.isfinite(model.state().arrays["forest.stats"]).all()
    assert model.predict_one({"a": 1.0}) == pytest.approx(1e15, rel=0.01)


def many_categories(n=2000, seed=5):
    """A class for each of some categories, and another column that decides within one of them."""
    rng = np.random.default_rng(seed)
    rows = [{"town": f"t{rng.integers(6)}", "x": float(rng.random())} for _ in range(n)]
    return rows, [row["town"] if row["town"] != "t0" else f"t0 {row['x'] > 0.5}" for row in rows]


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
@pytest.mark.parametrize("kind", [st.HoeffdingTreeClassifier, st.ForestClassifier])
def test_a_multiway_split_has_a_leaf_for_each_category_and_counts_as_one_level(kind, tmp_path):
    rows, labels = many_categories()
    model = kind(binary_split=False, max_depth=1)
    model.learn_many(rows, labels)
    assert model.n_leaves >= 6
    whole = kind(binary_split=False)
    whole.learn_many(rows, labels)
    assert np.mean(whole.predict_many(rows) == np.array(labels)) > 0.95
    assert whole.to_text(max_depth=10).count("town in {t") >= 5
    assert "town in {t3}" in str(whole.explain_one({"town": "t3"}))
    assert whole.predict_one({"town": "never seen"}) in whole.classes
    assert whole.draw().get_title() == "tree 0"
    assert len(whole.to_frame()) >= 6
    st.save(whole, tmp_path / "model")
    again = st.load(tmp_path / "model")
    for each in (whole, again):
        each.learn_many(*many_categories(300, seed=6))
    assert again.to_text() == whole.to_text()
    validate(whole._arena.state, whole._arena.shape)


def test_a_regression_tree_has_multiway_splits_too():
    rows, _ = many_categories(N_ROWS)
    model = st.HoeffdingTreeRegressor(binary_split=False, grace_period=20)
    model.learn_many(rows, [float(row["town"][1]) for row in rows])
    assert model.n_leaves >= 6
    assert model.predict_one({"town": "t4"}) == pytest.approx(4.0, abs=0.2)


def test_a_multiway_split_without_enough_memory_leaves_some_categories_together():
    rows, labels = many_categories(N_ROWS)
    model = st.HoeffdingTreeClassifier(binary_split=False, grace_period=20, max_bytes=22_000)
    model.learn_many(rows, labels)
    assert model.n_bytes <= 22_000
    validate(model._arena.state, model._arena.shape)


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_a_forest_with_background_trees_is_saved_and_goes_on():
    matrix, labels = drifting(12_000)
    model = st.ForestClassifier(seed=3, leaf_prediction="mc", warning_delta=0.5, drift_delta=1e-100)
    start = 6_200
    model.learn_many(matrix[:start], labels[:start])
    again = restored(model)
    assert again.n_background == model.n_background > 0
    for each in (model, again):
        each.learn_many(matrix[start:], labels[start:])
    assert np.mean(model.predict_many(matrix[-1000:]) == labels[-1000:]) > 0.9  # they have replaced the old ones
    assert_same_state(again, model)
