"""What every click predictor and ensemble must obey; a new one is found here by itself."""

import copy
import math
import sys
from abc import ABCMeta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support import assert_same_state, mixed_rows, public, restored

import stumpery as st
from stumpery.clicks import ClickModel
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.types import State

MODELS = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type) and issubclass(getattr(public, name), ClickModel)
]
OPTIONS = {st.clicks.RandomHoeffdingTree: {"grace_period": 50, "tau": 0.2}}
PREDICTORS = [st.clicks.Stump(), st.clicks.HashedStump(), (st.clicks.RandomHoeffdingTree(grace_period=50, tau=0.2), 3)]


def rows_and_clicks(n, seed=2):
    rng = np.random.default_rng(seed)
    rows = mixed_rows(n, rng)
    return rows, [bool(rng.random() < 0.05 + 0.5 * (row["device"] == "watch")) for row in rows]


@pytest.fixture(params=MODELS, ids=lambda kind: kind.__name__)
def new(request):
    def make(**options):
        if issubclass(request.param, PredictorEnsemble):
            options = {"predictors": PREDICTORS, **options}
        return request.param(**{**OPTIONS.get(request.param, {}), "seed": 5, **options})

    return make


@pytest.fixture
def trained(new):
    model = new()
    model.learn_many(*rows_and_clicks(200))
    return model


def test_there_are_models_to_check():
    assert {st.clicks.Stump, st.clicks.RandomHoeffdingTree, st.clicks.BaggedPredictors} <= set(MODELS)


def test_learning_many_equals_learning_one_by_one(new, trained):
    single = new(schema=trained.schema)
    rows, clicks = rows_and_clicks(200)
    for row, click in zip(rows, clicks, strict=True):
        single.learn_one(row, click)
    assert_same_state(single, trained)


def test_what_watches_are_clicked_ranks_higher_or_all_rank_the_same(trained):
    watch, phone = trained.score_many(
        [{"age": 30, "device": "watch", "x": 0.0}, {"age": 30, "device": "phone", "x": 0.0}]
    )
    assert watch >= phone


def test_frames_lists_and_single_rows_give_the_same(new, trained):
    rows, clicks = rows_and_clicks(200)
    forms = {
        "polars": (pl.DataFrame(rows), pl.Series(clicks)),
        "pandas": (pd.DataFrame(rows), pd.Series(clicks, dtype="boolean")),
        "pyarrow": (pa.Table.from_pylist(rows), pa.array(clicks)),
        "plain": (tuple(rows), np.array(clicks)),
    }
    for form, labels in forms.values():
        model = new(schema=trained.schema)
        model.learn_many(form, labels)
        assert_same_state(model, trained)
        assert model.score_many(form).tobytes() == trained.score_many(rows).tobytes()
    one_by_one = [trained.predict_proba_one(row)[True] for row in rows]
    assert trained.predict_proba_many(rows)[:, 1].tolist() == one_by_one
    assert trained.predict_many(rows).tolist() == [trained.predict_one(row) for row in rows]


def test_no_rows_have_no_scores(trained):
    assert len(trained.score_many([])) == len(trained.predict_many([])) == 0


def test_probabilities_are_probabilities(trained):
    found = trained.predict_proba_many(rows_and_clicks(50)[0])
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=1), 1.0)


def test_a_saved_model_goes_on(trained, tmp_path):
    st.save(trained, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    more = rows_and_clicks(100, seed=9)
    for model in (trained, loaded):
        model.learn_many(*more)
    assert_same_state(loaded, trained)
    assert loaded.score_many(more[0]).tobytes() == trained.score_many(more[0]).tobytes()


def test_an_untrained_model_can_be_saved_and_gives_every_row_the_same(new, tmp_path):
    model = new()
    st.save(model, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    assert len(set(loaded.score_many([{"age": 1.0}, {"age": 2.0}]).tolist())) == 1
    loaded.learn_many(*rows_and_clicks(50))
    model.learn_many(*rows_and_clicks(50))
    assert_same_state(loaded, model)


def test_the_seed_decides_and_fresh_starts_anew(new, trained):
    again = trained.clone(seed=5)
    assert again.schema is not None
    again.learn_many(*rows_and_clicks(200))
    assert_same_state(again, trained)


def test_weights_count_as_so_many_events_and_zero_as_none(new, trained):
    before = restored(trained)
    trained.learn_one({"age": 3}, y=True, w=0)
    assert_same_state(trained, before)
    trained.learn_one({"age": 3}, y=True, w=2.0)


def test_the_memory_never_grows(trained):
    before = trained.n_bytes
    trained.learn_many(*rows_and_clicks(300, seed=3))
    assert trained.n_bytes == before


def test_new_categories_missing_values_and_extra_columns_are_ordinary(trained):
    for row in ({"device": "never seen"}, {}, {"age": math.inf, "x": -math.inf}, {"age": math.nan, "more": "x"}):
        trained.learn_one(row, y=True)
        assert np.isfinite(trained.score_many([row])).all()


BAD_ROWS = [{"age": "old"}, {"device": 3}, {"x": "1"}, {"age": [1]}, "row", 5, None, {"age": 1j}, {"device": b"x"}]


@pytest.mark.parametrize("wrong", BAD_ROWS, ids=str)
def test_a_value_of_another_type_than_the_columns_changes_nothing(trained, wrong):
    before = restored(trained)
    with pytest.raises(ValueError, match="must be"):
        trained.learn_one(wrong, y=True)
    with pytest.raises(ValueError, match="must be"):
        trained.learn_many([{"age": 3.0}, wrong], [True, False])
    with pytest.raises(ValueError, match="must be"):
        trained.predict_proba_one(wrong)
    assert_same_state(trained, before)


@pytest.mark.parametrize("wrong", [math.nan, None, 2, -1, 0.5, "1", "click", [1], math.inf], ids=str)
def test_a_label_that_is_no_click_changes_nothing(trained, wrong):
    before = restored(trained)
    with pytest.raises(ValueError, match=r"^a label is .*True or False"):
        trained.learn_one({"age": 3.0}, wrong)
    with pytest.raises(ValueError, match=r"^a label is .*True or False"):
        trained.learn_many([{"age": 3.0}, {"age": 4.0}], [True, wrong])
    assert_same_state(trained, before)


@pytest.mark.parametrize("wrong", [-1, 0.5, math.nan, "1", 10**6, None])
def test_a_weight_that_is_none_changes_nothing(trained, wrong):
    before = restored(trained)
    with pytest.raises(ValueError, match=r"^w is "):
        trained.learn_one({"age": 3.0}, y=True, w=wrong)
    assert_same_state(trained, before)


def test_rows_labels_and_weights_must_be_as_many(trained):
    before = restored(trained)
    with pytest.raises(ValueError, match="1 rows, 2 labels and 2 weights"):
        trained.learn_many([{"age": 3.0}], [True, False])
    trained.learn_many([], [])
    assert_same_state(trained, before)


def test_a_wrong_first_row_leaves_a_model_untrained(new):
    model = new()
    with pytest.raises(ValueError, match="must be"):
        model.learn_one({"age": [1]}, y=True)
    assert model.schema is None
    model.learn_many(*rows_and_clicks(50))


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"schema": {}}])
def test_wrong_options_are_refused(new, wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        new(**wrong)


def test_contributions_name_every_column(trained):
    contributions = trained.contributions({"age": 40, "device": "watch", "x": 0.0})
    assert set(contributions) == {"age", "device", "x"}
    assert all(math.isfinite(each) for each in contributions.values())


SENTENCES = {
    "children": "the child of a node is",
    "partitions.n_cuts": "the number of cuts of a predictor is",
    "slots": "(the summary of a node is|a node with children has a summary)",
    "splits": "the column of a node is",
    "streams.n_buffered": "the number of buffered values of a summary is",
    "streams.gap_fractions": "the gap fraction of a summary is nan",
    "streams.sizes": "the number of tuples of a summary is",
    "streams.values": "a value of a summary is NaN",
    "streams.buffers": "a value of a summary is NaN",
    "used": "the number of nodes is",
}


def test_arrays_that_would_lead_a_kernel_astray_are_refused(trained):
    options, arrays = trained.state()
    whole = {"streams.sizes", "streams.n_buffered", "partitions.n_cuts", "children", "slots", "used", "splits"}
    decided = {"columns", "hashes", "kinds", "limits", "settings", "features"}
    real = {"streams.values", "streams.buffers", "streams.gap_fractions", "partitions.probabilities", "probabilities"}
    wrong = {10**6: whole | decided, -7: {"children", "slots"}, math.nan: real}
    for value, names in wrong.items():
        for key in (key for key in arrays if key.partition(".")[2] in names):
            name = key.partition(".")[2]
            other = f"its array '{key}' does not match its options" if name in decided else "a probability of a"
            damaged = {each: array.copy() for each, array in arrays.items()}
            damaged[key].flat[0] = value
            with pytest.raises(ValueError, match=f"^corrupt file: {SENTENCES.get(name, other)}"):
                type(trained).from_state(State(options, damaged))


@pytest.mark.parametrize("wrong", [[3], [None], ["row"], np.zeros(3), 5], ids=str)
def test_what_are_no_rows_is_refused_before_anything_is_learned_too(new, wrong):
    model = new()
    with pytest.raises(ValueError, match="must"):
        model.score_many(wrong)
    assert model.schema is None


def test_encoded_rows_have_the_columns_of_the_schema(trained):
    before = restored(trained)
    with pytest.raises(ValueError, match="they must have the schema's 3 columns"):
        trained.score_rows(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="they must have the schema's 3 columns"):
        trained.learn_row(np.zeros(2), 1)
    assert_same_state(trained, before)


@pytest.mark.parametrize("n", [3, 100])
def test_rows_may_be_arrays(new, n):
    rows, clicks = rows_and_clicks(n)
    names = ("age", "device", "x")
    schema = st.Schema.of({"age": "numerical", "device": "categorical", "x": "numerical"})
    dicts, arrays = new(schema=schema), new(schema=schema)
    dicts.learn_many(rows, clicks)
    arrays.learn_many([np.array([row[name] for name in names], dtype=object) for row in rows], clicks)
    assert_same_state(arrays, dicts)


def test_a_copy_goes_its_own_way(trained):
    before, twin = restored(trained), copy.deepcopy(trained)
    twin.learn_many(*rows_and_clicks(50, seed=4))
    assert_same_state(trained, before)
    trained.learn_many(*rows_and_clicks(50, seed=4))
    assert_same_state(twin, trained)


def test_river_takes_a_model_for_a_classifier(new, trained, monkeypatch):
    classifier = ABCMeta("Classifier", (), {})
    monkeypatch.setitem(sys.modules, "river.base", SimpleNamespace(Classifier=classifier))
    model = new()
    assert isinstance(model, classifier)
    assert (model._supervised, model._multiclass) == (True, False)
    assert trained._raw_memory_usage == trained.n_bytes
    assert_same_state(trained.clone(include_attributes=True), trained)
    again = trained.clone({"seed": 5})
    again.learn_many(*rows_and_clicks(200))
    assert_same_state(again, trained)
