"""What every streaming model must obey; new ones are found by themselves."""

import math
import pickle
from copy import copy, deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import assert_same_state, mixed_rows, public, restored

import stumpery as st
from stumpery.streaming import StreamModel
from stumpery.streaming.classifier import StreamClassifier
from stumpery.types import State

MODELS = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type) and issubclass(getattr(public, name), StreamModel)
]
N = 400


def rows_and_labels(kind, n=N, seed=2):
    rng = np.random.default_rng(seed)
    rows = mixed_rows(n, rng)
    if issubclass(kind, StreamClassifier):
        return rows, [
            "buys" if row["device"] == "watch" and rng.random() < 0.9 else "looks" if (row["age"] or 0) > 50 else "goes"
            for row in rows
        ]
    return rows, [2.0 * (row["device"] == "watch") + 0.01 * (row["age"] or 0) + 0.1 * rng.normal() for row in rows]


@pytest.fixture(params=MODELS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def new(kind):
    return lambda **options: kind(**{"seed": 5, "grace_period": 30, **options})


@pytest.fixture
def trained(new, kind):
    model = new()
    model.learn_many(*rows_and_labels(kind))
    return model


def outputs(model, rows):
    return model.predict_proba_many(rows) if isinstance(model, StreamClassifier) else model.predict_many(rows)


def a_label(kind):
    return "buys" if issubclass(kind, StreamClassifier) else 1.0


def test_there_are_models_to_check():
    assert st.HoeffdingTreeClassifier in MODELS


def test_learning_many_equals_learning_one_by_one(new, kind, trained):
    single = new()
    for row, label in zip(*rows_and_labels(kind), strict=True):
        single.learn_one(row, label)
    assert_same_state(single, trained)


def test_testing_then_learning_equals_doing_so_one_by_one(new, kind):
    rows, labels = rows_and_labels(kind)
    together, single = new(), new()
    found = together.test_then_learn(rows, labels)
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        before = outputs(single, [row])[0] if place else None
        if before is not None:
            assert np.array_equal(np.atleast_1d(before), np.atleast_1d(found[place])[: np.size(before)])
        single.learn_one(row, label)
    assert_same_state(single, together)


def test_frames_lists_and_single_rows_give_the_same(new, kind, trained):
    rows, labels = rows_and_labels(kind)
    for form in (pl.DataFrame(rows), pd.DataFrame(rows), tuple(rows)):
        model = new()
        model.learn_many(form, np.array(labels))
        assert_same_state(model, trained)
        assert outputs(model, form).tobytes() == outputs(trained, rows).tobytes()
    assert trained.predict_many(rows).tolist() == [trained.predict_one(row) for row in rows]


def test_it_learns_a_simple_concept(trained, kind):
    watch, other = ({"age": 30, "device": device, "x": 0.0} for device in ("watch", "phone"))
    if issubclass(kind, StreamClassifier):
        assert trained.predict_one(watch) == "buys"
        assert trained.predict_one(other) == "goes"
    else:
        assert trained.predict_one(watch) > trained.predict_one(other) + 0.5


def test_a_saved_model_goes_on(trained, kind, tmp_path):
    st.save(trained, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    assert_same_state(loaded, trained)
    rows, labels = rows_and_labels(kind, seed=9)
    for model in (trained, loaded):
        model.learn_many(rows, labels)
    assert_same_state(loaded, trained)
    assert outputs(loaded, rows).tobytes() == outputs(trained, rows).tobytes()


def test_an_untrained_model_can_be_saved_and_goes_on(new, kind, tmp_path):
    model = new()
    st.save(model, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    loaded.learn_many(*rows_and_labels(kind, 50))
    model.learn_many(*rows_and_labels(kind, 50))
    assert_same_state(loaded, model)


def test_the_seed_decides_and_fresh_starts_anew(trained, kind):
    again = trained.clone(seed=5)
    again.learn_many(*rows_and_labels(kind))
    assert outputs(again, rows_and_labels(kind)[0]).tobytes() == outputs(trained, rows_and_labels(kind)[0]).tobytes()


def test_memory_stays_within_what_is_allowed(new, kind):
    model = new(max_bytes=200_000)
    for seed in range(8):
        model.learn_many(*rows_and_labels(kind, 1000, seed))
        assert model.n_bytes <= 200_000
    assert np.isfinite(outputs(model, rows_and_labels(kind, 50)[0])).all()
    before = restored(model)
    assert_same_state(before, model)


def test_too_little_memory_is_refused_and_changes_nothing(new, kind):
    model = new(max_bytes=100)
    with pytest.raises(ValueError, match=r"^max_bytes is 100; .* need about"):
        model.learn_many(*rows_and_labels(kind, 10))
    assert model.schema is None
    assert model.n_leaves >= 1


def test_new_categories_missing_values_and_extra_columns_are_accepted(trained, kind):
    for row in ({"device": "never seen"}, {}, {"age": math.inf, "x": -math.inf}, {"age": math.nan, "more": "x"}):
        trained.learn_one(row, a_label(kind))
        assert np.isfinite(outputs(trained, [row])).all()


def test_categories_beyond_the_limit_share_a_code(new, kind):
    model = new()
    for start in range(0, 3000, 1000):
        rows = [{"id": f"user {start + place}", "x": float(place % 2)} for place in range(1000)]
        labels = (
            ["a" if row["x"] else "b" for row in rows]
            if issubclass(kind, StreamClassifier)
            else [row["x"] for row in rows]
        )
        model.learn_many(rows, labels)
    assert len(model.schema.columns[0].categories) == 62
    assert model.predict_one({"id": "nobody", "x": 1.0}) in ("a", pytest.approx(1.0, abs=0.3))


def test_a_column_that_was_missing_at_first_may_be_categorical(new, kind):
    model = new()
    model.learn_many([{"x": 1.0, "late": None}] * 40, [a_label(kind)] * 40)
    model.learn_one({"x": 1.0, "late": "here"}, a_label(kind))
    assert model.schema.kinds == {"x": "numerical", "late": "categorical"}
    assert_same_state(restored(model), model)


BAD_ROWS = [{"age": "old"}, {"device": 3}, {"x": "1"}, {"age": [1]}, "row", 5, None, {"age": 1j}, {"device": b"x"}]


@pytest.mark.parametrize("wrong", BAD_ROWS, ids=str)
def test_a_value_of_another_type_than_the_columns_changes_nothing(trained, kind, wrong):
    before = restored(trained)
    with pytest.raises(ValueError, match="must be"):
        trained.learn_one(wrong, a_label(kind))
    with pytest.raises(ValueError, match="must be"):
        trained.learn_many([{"age": 3.0, "device": "brand new"}, wrong], [a_label(kind)] * 2)
    with pytest.raises(ValueError, match="must be"):
        outputs(trained, [wrong])
    assert_same_state(trained, before)


@pytest.mark.parametrize("wrong", [-1, math.nan, "1", 1e9, math.inf, [1.0, 2.0], True], ids=str)
def test_an_invalid_weight_changes_nothing(trained, kind, wrong):
    before = restored(trained)
    with pytest.raises(ValueError, match=r"^w "):
        trained.learn_one({"age": 3.0}, a_label(kind), w=wrong)
    assert_same_state(trained, before)


def test_a_weight_of_zero_learns_nothing_but_categories(trained, kind):
    before = trained.n_events
    trained.learn_one({"age": 3}, a_label(kind), w=0)
    assert trained.n_events == before


def test_rows_labels_and_weights_must_be_as_many(trained, kind):
    before = restored(trained)
    with pytest.raises(ValueError, match="1 rows and 2 labels"):
        trained.learn_many([{"age": 3.0}], [a_label(kind)] * 2)
    with pytest.raises(ValueError, match="one number a row"):
        trained.learn_many([{"age": 3.0}], [a_label(kind)], w=[1.0, 2.0])
    trained.learn_many([], [])
    assert_same_state(trained, before)


def test_a_wrong_first_row_leaves_a_model_untrained(new, kind):
    model = new()
    with pytest.raises(ValueError, match="must be"):
        model.learn_one({"age": [1]}, a_label(kind))
    assert model.schema is None
    model.learn_many(*rows_and_labels(kind, 50))


def test_constant_columns_and_empty_rows_cause_no_split(new, kind):
    model = new()
    label = a_label(kind)
    model.learn_many([{"a": 1.0, "b": "same", "c": None}] * 300, [label] * 300)
    model.learn_many([{}] * 300, [label] * 300)
    assert model.n_leaves == model._n_trees
    assert model.predict_one({}) == pytest.approx(label) if label == 1.0 else model.predict_one({}) == label


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"schema": {}},
        {"grace_period": 0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"tau": -1},
        {"max_depth": -1},
        {"leaf_prediction": "best"},
        {"max_bytes": 0},
        {"binary_split": 1},
    ],
    ids=str,
)
def test_wrong_options_are_refused(new, wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        new(**wrong)


def test_trees_are_rendered_as_text_frame_picture_and_explanation(trained, new):
    text = trained.to_text()
    assert "100.0% of events" in text
    assert "device" in text
    frame = trained.to_frame()
    assert {"rule", "events", "prediction"} <= set(frame.columns)
    assert trained.draw(max_depth=2).get_title() == "tree 0"
    explanation = trained.explain_one({"age": 30, "device": "watch", "x": 0.0})
    assert explanation.summary.startswith("prediction: ")
    assert [row["tree"] for row in explanation.rows] == list(range(min(trained._n_trees, 5)))
    assert "device" in str(explanation)
    importances = trained.feature_importances()
    assert sum(importances.values()) == pytest.approx(1.0)
    assert min(importances, key=importances.get) == "x"
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        new().to_text()
    assert str(new().explain_one({})) == "Nothing has been learned yet."


def test_a_depth_of_zero_is_one_leaf_and_a_limit_is_kept(new, kind):
    stump = new(max_depth=0)
    stump.learn_many(*rows_and_labels(kind))
    assert stump.n_leaves == stump._n_trees
    shallow = new(max_depth=1)
    shallow.learn_many(*rows_and_labels(kind, 2000))
    assert shallow.n_leaves <= 2 * shallow._n_trees


def test_very_deep_trees_need_no_recursion(new, kind):
    model = new(delta=0.999, grace_period=1, tau=10.0)
    n = 3000
    labels = [float(place % 7) for place in range(n)]
    labels = [str(label) for label in labels] if issubclass(kind, StreamClassifier) else labels
    model.learn_many(np.arange(n, dtype=float).reshape(-1, 1), labels)
    assert model.to_text(max_depth=20)
    assert_same_state(restored(model), model)


def test_corrupt_arrays_are_refused(trained):
    options, arrays = trained.state()
    names = ("forest.nodes", "forest.leaves", "forest.blocks", "forest.counters", "marks", "windows.fills")
    for name, place in zip(names, (0, 0, 0, 0, 1, 0), strict=True):
        damaged = {each: array.copy() for each, array in arrays.items()}
        damaged[name].flat[place] = 10**6
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            type(trained).from_state(State(options, damaged))


def test_numbers_of_half_precision_are_accepted(new, kind):
    rows = np.linspace(0.0, 1.0, 60, dtype=np.float16).reshape(-1, 2)
    half, single = new(), new()
    for model, matrix in ((half, rows), (single, rows.astype(np.float32))):
        model.learn_many(matrix, [a_label(kind)] * 30)
    assert_same_state(half, single)


@pytest.mark.parametrize("weight", [1e-300, 1e-38, 1e-7, 1e-6, 1e6], ids=str)
def test_tiny_and_huge_weights_leave_a_model_that_can_be_saved(new, kind, weight):
    model = new(grace_period=10)
    rows, labels = rows_and_labels(kind)
    model.learn_many(rows, labels, weight)
    assert_same_state(restored(model), model)
    assert np.isfinite(outputs(model, rows)).all()
    assert (model.n_events > 0) == (weight >= 1e-6)


def test_labels_that_are_a_table_are_refused(trained, kind):
    before = restored(trained)
    for table in (pd.DataFrame({"y": [a_label(kind)]}), np.array([[a_label(kind)]])):
        with pytest.raises(ValueError, match=r"^y has 2 dimensions"):
            trained.learn_many([{"age": 3.0}], table)
    assert_same_state(trained, before)


def test_checking_refuses_what_learning_would_and_changes_nothing(trained, kind):
    before, (rows, labels) = restored(trained), rows_and_labels(kind)
    trained.check_many([{**row, "device": "new"} for row in rows], labels)
    for wrong in (([{"age": "old"}], labels[:1]), (rows[:2], labels[:1]), (rows[:1], [None])):
        with pytest.raises(ValueError, match=r"must be|2 rows"):
            trained.check_many(*wrong)
    assert_same_state(trained, before)


def test_an_interrupted_model_can_be_saved_and_goes_on(trained, kind, monkeypatch):
    rows, labels = rows_and_labels(kind, 9000)
    with monkeypatch.context() as patched:
        patched.setattr("stumpery.streaming.state.resized", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            trained.learn_many(rows, labels)
    again = restored(trained)
    for model in (trained, again):
        model.learn_many(rows, labels)
    assert_same_state(again, trained)


def raise_interrupt(*_):
    raise KeyboardInterrupt


def test_copies_of_any_making_go_on_alike(trained, kind):
    rows, labels = rows_and_labels(kind, 2000, seed=8)
    copies = [deepcopy(trained), copy(trained), pickle.loads(pickle.dumps(trained)), trained.clone(None, True)]  # noqa: S301
    for model in (trained, *copies):
        model.learn_many(rows, labels)
        assert_same_state(model, trained)
        assert outputs(model, rows).tobytes() == outputs(trained, rows).tobytes()


def test_the_first_category_of_a_column_that_was_only_missing_predicts_as_missing(new):
    model, label = new(), 1
    model.learn_one({"a": 1.0, "b": None}, label)
    row, empty = {"a": 1.0, "b": "red"}, {"a": 1.0, "b": None}
    assert model.predict_one(row) == model.predict_one(empty)
    assert list(model.predict_many([row, empty])) == [model.predict_one(empty)] * 2
    model.learn_one(row, label)
    assert model.predict_one(row) == label
    with pytest.raises(ValueError, match="column 'b'"):
        model.predict_one({"a": 1.0, "b": 3.5})
