"""Batch ensembles of classifiers."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import stumpery as st
from stumpery.types import State

TREE = st.HoeffdingTreeClassifier(grace_period=30)
MAKERS = {
    "Bagging": lambda model=None: st.ensembles.Bagging(model=model, n_models=3, seed=2),
    "AdaBoost": lambda model=None: st.ensembles.AdaBoost(model=model, n_models=3, seed=2),
    "Stacking": lambda model=None: st.ensembles.Stacking(models=[model, TREE] if model else [], seed=2, n_folds=3),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def table(n=200):
    rng = np.random.default_rng(1)
    rows = [{"a": float(a), "b": ("x", "y")[int(b > 0.4)]} for a, b in rng.random((n, 2))]
    return rows, ["up" if (row["a"] > 0.5) or row["b"] == "y" else "down" for row in rows]


def digits():
    found = load_digits()
    return found.data[:1200], found.target[:1200], found.data[1200:], found.target[1200:]


def test_batch_bagging_knows_its_error_before_new_rows_come():
    rows, labels, later, true = digits()
    model = st.ensembles.Bagging(model=DecisionTreeClassifier(), n_models=15).fit(rows, labels)
    error = np.mean(model.predict(later) != true)
    assert model.out_of_bag_error == pytest.approx(error, abs=0.06)
    alone = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    assert error < 1.0 - alone.score(later, true)


def test_the_vote_of_the_members_errs_less_out_of_bag_than_a_member():
    rows, labels, _, _ = digits()
    tree = DecisionTreeClassifier()
    model = st.ensembles.Bagging(model=tree, n_models=15, seed=4).fit(rows, labels)
    errors, rng = [], np.random.default_rng(4)
    for member in model.members:
        left_out = np.setdiff1d(np.arange(len(labels)), rng.integers(0, len(labels), len(labels)))
        errors.append(np.mean(member.predict(rows[left_out]) != labels[left_out]))
    assert model.member_out_of_bag_error == pytest.approx(np.mean(errors))
    assert model.out_of_bag_error < model.member_out_of_bag_error - 0.05, (
        model.out_of_bag_error,
        model.member_out_of_bag_error,
    )


def test_the_member_error_is_saved_and_unknown_in_files_of_former_versions(tmp_path):
    rows, labels = table()
    model = st.ensembles.Bagging(model=TREE, n_models=2).fit(rows, labels)
    st.save(model, tmp_path / "bagging.safetensors")
    assert st.load(tmp_path / "bagging.safetensors").member_out_of_bag_error == model.member_out_of_bag_error
    assert math.isnan(st.ensembles.Bagging().member_out_of_bag_error)


def test_the_final_model_of_stacking_is_one_of_choice(tmp_path):
    rows, labels, later, true = digits()
    members = [DecisionTreeClassifier(max_depth=6), KNeighborsClassifier(3)]
    default = st.ensembles.Stacking(models=members, n_folds=3).fit(rows, labels)
    neighbours = st.ensembles.Stacking(models=members, n_folds=3, final_model=KNeighborsClassifier(15)).fit(
        rows, labels
    )
    outputs = np.hstack([member.predict_proba(later) for member in neighbours.members])
    assert (neighbours.predict_proba(later) == neighbours._final[0].predict_proba(outputs)).all()
    assert np.mean(neighbours.predict(later) == true) > np.mean(default.predict(later) == true) - 0.05
    assert not np.array_equal(neighbours.predict_proba(later), default.predict_proba(later))


def test_a_final_model_of_ours_is_saved_with_the_ensemble(tmp_path):
    rows, labels = table()
    model = st.ensembles.Stacking(models=[TREE], n_folds=2, final_model=TREE, seed=3)
    st.save(model.fit(rows, labels), tmp_path / "stacking.safetensors")
    loaded = st.load(tmp_path / "stacking.safetensors")
    assert (loaded.predict_proba(rows) == model.predict_proba(rows)).all()
    assert loaded.fit(rows, labels).predict(rows).tolist() == model.predict(rows).tolist()
    with pytest.raises(st.InvalidInput, match="must have fit or learn_many, and predict probabilities"):
        st.ensembles.Stacking(models=[TREE], final_model=LinearSVC())


def test_adaboost_follows_the_printed_formula():
    rows, labels, _, _ = digits()
    labels = labels % 2
    model = st.ensembles.AdaBoost(model=DecisionTreeClassifier(max_depth=1), n_models=5).fit(rows, labels)
    weights = np.full(len(labels), 1.0 / len(labels))
    for member, alpha in zip(model.members, model.alphas, strict=True):
        wrong = member.predict(rows) != labels
        error = weights[wrong].sum()
        assert alpha == pytest.approx(0.5 * math.log((1.0 - error) / error))
        weights *= np.exp(np.where(wrong, alpha, -alpha))
        weights /= weights.sum()
        assert weights[wrong].sum() == pytest.approx(0.5)


def test_adaboost_of_many_classes_is_samme():
    rows, labels, later, true = digits()
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = st.ensembles.AdaBoost(model=stump, n_models=20).fit(rows, labels)
    theirs = AdaBoostClassifier(stump, n_estimators=20, random_state=0).fit(rows, labels)
    assert 2.0 * np.array(model.alphas) == pytest.approx(theirs.estimator_weights_)
    assert model.predict(later).tolist() == theirs.predict(later).tolist()
    assert np.mean(model.predict(later) == true) > 0.6


@pytest.mark.parametrize("classes", [2, 10])
def test_click_predictors_become_members_of_one_for_each_class(make, classes, tmp_path):
    rows, labels, later, true = digits()
    names = np.array([f"digit {number}" for number in range(10)])
    labels, true = names[labels % classes], names[true % classes]
    model = make(st.clicks.LogOdds(predictors=[st.clicks.Stump(m=1.0)])).fit(rows, labels)
    probabilities = model.predict_proba(later)
    assert probabilities.shape == (len(later), classes)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(model.predict(later) == true) > 0.75
    st.save(model, tmp_path / "model")
    assert st.load(tmp_path / "model").predict_proba(later).tobytes() == probabilities.tobytes()
    state = model.state()
    for count in (1, len(state.options["_members"]) - 1):
        with pytest.raises(ValueError, match=r"its (classes do not|arrays are)"):
            type(model).from_state(
                State({**state.options, "_members": state.options["_members"][:count]}, state.arrays)
            )


def test_stacking_is_about_as_good_as_its_best_member():
    rows, labels, later, true = digits()
    good, poor = DecisionTreeClassifier(max_depth=10, random_state=0), DecisionTreeClassifier(max_depth=1)
    model = st.ensembles.Stacking(models=[poor, good]).fit(rows, labels)
    assert np.mean(model.predict(later) == true) > good.fit(rows, labels).score(later, true) - 0.03


@pytest.mark.parametrize("labels", [("up", "down"), (True, False), (1, "down"), (2.5, 0)], ids=str)
def test_rows_and_classes_of_any_kind_give_the_same(make, labels):
    rows, given = table()
    given = [labels[each == "down"] for each in given]
    found = [make().fit(form, given).predict(form).tolist() for form in (rows, pd.DataFrame(rows), pl.DataFrame(rows))]
    assert found[0] == found[1] == found[2]
    assert np.mean([guess == label for guess, label in zip(found[0], given, strict=True)]) > 0.8


@pytest.mark.parametrize(
    "model",
    [
        None,
        TREE,
        st.ensembles.Bagging(n_models=2),
        st.ensembles.OnlineBagging(models=TREE, n_models=2),
        st.ForestClassifier(n_models=2),
        st.clicks.LogOdds(predictors=[st.clicks.Stump(m=1.0), st.clicks.HashedStump(m=1.0)]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_saved_ensemble_predicts_the_same_and_can_be_fitted_anew(make, model, tmp_path):
    rows, labels = table()
    ensemble = make(model)
    for _ in range(2):  # untrained, then trained
        st.save(ensemble, tmp_path / "model")
        loaded = st.load(tmp_path / "model")
        assert loaded.state().options == ensemble.state().options
        again = loaded.fit(rows, labels).predict_proba(rows)
        ensemble.fit(rows, labels)
        assert again.tobytes() == ensemble.predict_proba(rows).tobytes()
        st.save(ensemble, tmp_path / "model")
        assert st.load(tmp_path / "model").predict_proba(rows).tobytes() == again.tobytes()


def test_only_members_of_ours_can_be_saved(make):
    with pytest.raises(ValueError, match="a DecisionTreeClassifier among the models is none of Stumpery's own"):
        make(DecisionTreeClassifier()).fit(np.eye(8), [0, 1] * 4).state()


def test_states_that_no_table_led_to_are_refused(make):
    options, arrays = make().fit(*table()).state()
    name = next(name for name in ("estimate", "alphas", "weights") if name in arrays)
    for wrong in ({"_classes": ["up"]}, {"_classes": []}, {"_members": []}):
        with pytest.raises(ValueError, match=r"its (classes|arrays)"):
            type(make()).from_state(State({**options, **wrong}, {key: each.copy() for key, each in arrays.items()}))
    with pytest.raises(ValueError, match="not all finite"):
        type(make()).from_state(State(options, {**arrays, name: np.full_like(arrays[name], np.nan)}))
    with pytest.raises(ValueError, match="its array"):
        type(make()).from_state(State(options, {**arrays, name: np.zeros(7)}))


def test_estimators_without_weights_and_ensembles_on_a_stream_can_be_members(make):
    rows, labels, later, true = digits()
    assert np.mean(make(KNeighborsClassifier()).fit(rows, labels).predict(later) == true) > 0.9
    dicts, given = table()
    model = make(st.ensembles.OnlineBagging(models=TREE, n_models=2)).fit(dicts, given)
    assert np.mean(model.predict(dicts) == np.array(given)) > 0.8


@pytest.mark.parametrize("wrong", [st.HoeffdingTreeRegressor(), LinearSVC(), TREE.__class__, "tree", 5], ids=str)
def test_what_gives_no_probabilities_of_classes_is_refused(make, wrong):
    with pytest.raises(ValueError, match=r"^a model is .* predict probabilities"):
        make(wrong)


def test_a_fit_that_fails_leaves_what_was_learned(make):
    rows, labels = table()
    model = make()
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        model.predict(rows)
    before = model.fit(rows, labels).predict_proba(rows)
    for wrong in ((rows, [None] * 200), (rows, labels[:5]), ([*rows[:-1], {"a": "x"}], labels), ([], [])):
        with pytest.raises(ValueError, match=r"must be|labels"):
            model.fit(*wrong)
    assert model.predict_proba(rows).tobytes() == before.tobytes()


def test_a_file_that_lacks_the_click_predictor_of_a_class_is_corrupt():
    rows, labels = [{"a": float(number % 3)} for number in range(30)], [number % 3 for number in range(30)]
    options, arrays = st.ensembles.Bagging(model=st.clicks.Stump(), n_models=1).fit(rows, labels).state()
    options["_members"] = options["_members"][:2]
    arrays = {name: array for name, array in arrays.items() if not name.startswith("2:")}
    with pytest.raises(ValueError, match=r"^corrupt file: its classes do not match those of its models$"):
        st.ensembles.Bagging.from_state(State(options, arrays))
