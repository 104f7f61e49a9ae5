"""Online ensembles of any learners."""

import math

import numpy as np
import pytest
from tests.support import assert_same_state, restored

import stumpery as st
from stumpery.types import State


class Always:
    """A learner as others write them: always the class that came first."""

    def __init__(self):
        self.label = None

    def learn_one(self, x, y):
        self.label = y if self.label is None else self.label

    def predict_one(self, x):
        return self.label

    def predict_proba_one(self, x):
        return {} if self.label is None else {self.label: 1.0}


def stream(n=600, seed=0):
    rng = np.random.default_rng(seed)
    rows = [{"a": float(a), "b": float(b)} for a, b in rng.random((n, 2)).round(3)]
    labels = ["up" if (row["a"] + row["b"] > 1.0) != (rng.random() < 0.05) else "down" for row in rows]
    return rows, labels


TREE = st.HoeffdingTreeClassifier(grace_period=30)
MAKERS = {
    "OnlineBagging": lambda models: st.ensembles.OnlineBagging(models=models, seed=3),
    "OnlineBoosting": lambda models: st.ensembles.OnlineBoosting(models=models, seed=3),
    "OnlineStacking": lambda models: st.ensembles.OnlineStacking(models=models, seed=3),
    "ExponentialWeights": lambda models: st.ensembles.ExponentialWeights(models=models, seed=3),
    "Voting": lambda models: st.ensembles.Voting(models=models, seed=3),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def accuracy(model, rows, labels):
    return np.mean([guess == label for guess, label in zip(model.predict_many(rows), labels, strict=True)])


def test_asking_one_that_has_learned_nothing_changes_nothing(make):
    asked, other = make([TREE, TREE]), make([TREE, TREE])
    asked.predict_many([{"a": 1.0, "b": 0.5}])
    assert_same_state(restored(asked), other)


NESTED = {
    "trees": [TREE, TREE],
    "forests": [st.ForestClassifier(n_models=2, grace_period=30)] * 2,
    "bags": [st.ensembles.OnlineBagging(models=TREE, n_models=2)] * 2,
    "boosts": [st.ensembles.OnlineBoosting(models=TREE, n_models=2)] * 2,
    "several kinds": [TREE, st.ensembles.OnlineStacking(models=[TREE, st.ensembles.Voting(models=[TREE, TREE])])],
}


@pytest.mark.parametrize("members", NESTED)
def test_many_equals_one_by_one_and_a_saved_ensemble_goes_on(make, members, tmp_path):
    rows, labels = stream(150)
    for row in rows[::3]:
        row["c"] = ("x", "y", "z")[int(10 * row["a"]) % 3]
    many, single = make(NESTED[members]), make(NESTED[members])
    many.learn_many(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    assert_same_state(many, single)
    st.save(many, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    for model in (many, loaded):
        model.learn_many(*stream(60, seed=5))
    assert_same_state(loaded, many)
    assert loaded.predict_many(rows[:20]).tolist() == [many.predict_one(row) for row in rows[:20]]
    assert loaded.predict_proba_many(rows).tobytes() == many.predict_proba_many(rows).tobytes()


def test_predictions_of_many_rows_are_arrays_with_a_column_for_each_class(make):
    model = make([TREE, Always()])
    assert model.predict_proba_many([{"a": 1.0}]).shape == (1, 0)
    assert model.predict_many([{"a": 1.0}]).tolist() == [None]
    rows, labels = stream(80)
    model.learn_many(rows, labels)
    assert model.classes == tuple(dict.fromkeys(labels))
    probabilities = model.predict_proba_many(rows)
    for row, shares in zip(rows, probabilities, strict=True):
        single = model.predict_proba_one(row)
        assert shares.tolist() == [single.get(label, 0.0) for label in model.classes]
    assert model.predict_many(rows).dtype.kind == "U"
    assert model.predict_many([]).shape == (0,)
    assert model.predict_proba_many([]).shape == (0, 2)


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - {"OnlineStacking"}))  # whose files always had classes
def test_a_file_without_classes_takes_those_of_its_members(name):
    model = MAKERS[name]([TREE, TREE])
    rows, labels = stream(60)
    model.learn_many(rows, labels)
    options, arrays = restored(model).state()
    del options["_classes"]
    former = type(model).from_state(State(options, arrays))
    assert former.classes == model.classes
    assert former.predict_proba_many(rows).tobytes() == model.predict_proba_many(rows).tobytes()


def test_members_that_take_no_weights_learn_as_one_by_one(make):
    pytest.importorskip("jax")
    tree = st.DQNTree(warm_up=20, memory=100, batch_size=8)
    rows, labels = stream(40)
    many, single = make([tree, TREE]), make([tree, TREE])
    many.learn_many(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    assert many.predict_proba_many(rows).tobytes() == single.predict_proba_many(rows).tobytes()


def test_text_in_place_of_a_list_of_columns_is_refused(make):
    model = make([TREE, TREE])
    for learner in (model, TREE):
        with pytest.raises(ValueError, match=r"^names is 'abc'; it must be a list of column names$"):
            learner.declare_columns("abc")
    model.declare_columns(["a", "b"])
    assert model.members[0].schema.names == ("a", "b")


@pytest.mark.parametrize("members", NESTED)
def test_wrong_rows_change_no_member(make, members):
    model = make(NESTED[members])
    model.learn_many(*stream(60))
    before, good = restored(model), {"a": 1.0, "b": 2.0}
    for rows, labels in (
        ([good, {"a": "much"}], ["up", "down"]),
        ([good, 5], ["up", "down"]),
        ([good, good], ["new", None]),
        ([good, good], ["new"]),
    ):
        with pytest.raises(ValueError, match=r"must be|labels"):
            model.learn_many(rows, labels)
        assert_same_state(model, before)
    for row, label in (({"a": "much"}, "up"), (good, None)):
        with pytest.raises(ValueError, match="must be"):
            model.learn_one(row, label)
        assert_same_state(model, before)
    model.learn_many([], [])
    assert_same_state(model, before)


def test_a_member_that_would_need_more_memory_keeps_the_others_from_learning(make):
    model = make([TREE, st.HoeffdingTreeClassifier(max_bytes=100)])
    with pytest.raises(ValueError, match="max_bytes is 100"):
        model.learn_many(*stream(20))
    with pytest.raises(ValueError, match="max_bytes is 100"):
        model.learn_one({"a": 1.0}, "up")
    assert model.members[0].n_events == 0
    assert_same_state(model, make([TREE, st.HoeffdingTreeClassifier(max_bytes=100)]))


class Fails(Always):
    """A member as others write them, which cannot take a row."""

    def learn_one(self, x, y):
        super().learn_one(x, y)
        if x["a"] > 2.0:
            raise KeyError("a")


def test_foreign_members_that_fail_leave_nothing_learned(make):
    model = make([TREE, Fails()])
    model.learn_many(*stream(40))
    before = restored(model.members[0])
    with pytest.raises(KeyError):
        model.learn_many([{"a": 0.5, "b": 0.5}] * 5 + [{"a": 3.0, "b": 0.0}] * 30, ["up"] * 35)
    assert_same_state(model.members[0], before)
    model.learn_many(*stream(40))


def test_an_ensemble_can_be_cloned_as_river_does(make):
    model = make([TREE, TREE])
    model.learn_many(*stream(60))
    assert_same_state(model.clone(include_attributes=True), model)
    assert_same_state(model.clone(), make([TREE, TREE]))
    assert model.clone({"seed": 9}).seed == 9


def test_ours_others_and_nested_ensembles_learn_together(make):
    rows, labels = stream()
    model = make([TREE, Always(), st.ensembles.Voting(models=[TREE, TREE])])
    model.learn_many(rows, labels)
    assert accuracy(model, *stream(200, seed=9)) > 0.8
    assert sum(model.predict_proba_one(rows[0]).values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="none of Stumpery's own"):
        model.state()


def test_bad_labels_are_refused_and_change_nothing(make):
    model = make([TREE, TREE])
    model.learn_many(*stream(60))
    before = model.predict_proba_many(stream(20)[0])
    for wrong in (None, math.nan, [1]):
        with pytest.raises(ValueError, match=r"^a label is"):
            model.learn_one({"a": 1.0, "b": 0.0}, wrong)
    with pytest.raises(ValueError, match="1 rows and 2 labels"):
        model.learn_many([{"a": 1.0}], ["up", "down"])
    assert model.predict_proba_many(stream(20)[0]).tobytes() == before.tobytes()


@pytest.mark.parametrize("wrong", [[], ["tree"], [st.clicks.Stump], None, 5], ids=str)
def test_what_is_no_learner_is_refused(make, wrong):
    with pytest.raises(ValueError, match=r"model"):
        make(wrong)


def test_the_out_of_bag_estimate_agrees_with_test_then_learn():
    rows, labels = stream(1500)
    model = st.ensembles.OnlineBagging(models=TREE, n_models=10, seed=1)
    right = []
    for row, label in zip(rows, labels, strict=True):
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    assert model.out_of_bag == pytest.approx(np.mean(right), abs=0.03)


def test_boosted_stumps_beat_one_stump():
    rows, labels = stream(1500)
    stump = st.HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc")
    boosted = st.ensembles.OnlineBoosting(models=stump, n_models=10, seed=2)
    stump.learn_many(rows, labels)
    boosted.learn_many(rows, labels)
    assert accuracy(boosted, *stream(500, seed=4)) > accuracy(stump, *stream(500, seed=4)) + 0.05


def test_bagging_voting_and_weights_take_numbers_too():
    rows, _ = stream()
    numbers = [3.0 * row["a"] for row in rows]
    tree = st.HoeffdingTreeRegressor(grace_period=30)
    for model in (
        st.ensembles.OnlineBagging(models=tree, n_models=3),
        st.ensembles.Voting(models=[tree, tree]),
        st.ensembles.ExponentialWeights(models=[tree, st.HoeffdingTreeRegressor(max_depth=0)]),
        st.ensembles.Voting(models=[st.ensembles.OnlineBagging(models=tree, n_models=2), tree]),
    ):
        model.learn_many(rows, numbers)
        assert abs(model.predict_one({"a": 0.9, "b": 0.5}) - 2.7) < 0.5
        assert st.prequential(model.clone(seed=0), rows, numbers).metrics == ("mae", "rmse", "r2")
        for wrong in (10**400, math.inf, "1", None):
            with pytest.raises(ValueError, match=r"^a label is .* finite number"):
                model.learn_one({"a": 0.9, "b": 0.5}, wrong)
    with pytest.raises(ValueError, match="takes classifiers"):
        st.ensembles.OnlineBoosting(models=tree)
    with pytest.raises(ValueError, match="must be of one kind"):
        st.ensembles.Voting(models=[tree, TREE])


RIVER = {"tree": lambda models: models[0], **MAKERS}


@pytest.mark.parametrize("name", RIVER)
def test_river_evaluates_pipelines_and_combines_our_models(name):
    pytest.importorskip("river")
    from river import datasets, ensemble, evaluate, metrics, multiclass, preprocessing, tree

    ours = TREE.clone()  # made after river was imported, so that river knows its class
    model = RIVER[name]([ours, tree.HoeffdingTreeClassifier()])
    score = evaluate.progressive_val_score
    events = datasets.Phishing().take(400)
    assert score(events, preprocessing.StandardScaler() | model, metrics.Accuracy()).get() > 0.6
    for outer in (
        ensemble.ADWINBaggingClassifier(model=model, n_models=2, seed=1),
        multiclass.OneVsRestClassifier(model),
    ):
        assert score(datasets.Phishing().take(200), outer, metrics.Accuracy()).get() > 0.6


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_votes_count_by_the_weights_of_the_members(voting, tmp_path):
    rows = [{"hour": float(event % 24)} for event in range(400)]
    labels = ["work" if 8 < row["hour"] < 18 else "home" for row in rows]
    members = [TREE, st.HoeffdingTreeClassifier(max_depth=0, leaf_prediction="mc")]  # the second always says "home"
    votes = {}
    for weights in (None, [1, 1], [9.0, 1.0], (1.0, 9.0)):
        model = st.ensembles.Voting(models=members, voting=voting, weights=weights)
        model.learn_many(rows, labels)
        votes[str(weights)] = model.predict_proba_one({"hour": 12.0})["work"]
    tree, stump = (
        (1.0, 0.0)
        if voting == "hard"
        else (member.predict_proba_one({"hour": 12.0})["work"] for member in model.members)
    )
    assert votes["None"] == votes["[1, 1]"] == pytest.approx((tree + stump) / 2)
    assert votes["[9.0, 1.0]"] == pytest.approx(0.9 * tree + 0.1 * stump)
    assert votes["(1.0, 9.0)"] == pytest.approx(0.1 * tree + 0.9 * stump)
    st.save(model, tmp_path / "voting.safetensors")
    assert st.load(tmp_path / "voting.safetensors").weights == [1.0, 9.0]


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -2.0], [1.0, float("nan")], "ab", 3, [1.0, "x"]], ids=str)
def test_weights_of_votes_are_a_positive_number_for_each_member(weights):
    with pytest.raises(st.InvalidInput, match="weight"):
        st.ensembles.Voting(models=[TREE, TREE], weights=weights)


def test_weights_without_an_order_are_refused():
    models = [st.HoeffdingTreeClassifier(), st.HoeffdingTreeClassifier()]
    with pytest.raises(st.InvalidInput, match="it must have a number for each of the 2 members"):
        st.ensembles.Voting(models=models, weights={1.0, 2.0})
