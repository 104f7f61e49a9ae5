"""Ensembles of any learners, on a stream and of a table."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import stumpery as st


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
    "OnlineBagging": lambda models: st.OnlineBagging(models=models, seed=3),
    "OnlineBoosting": lambda models: st.OnlineBoosting(models=models, seed=3),
    "OnlineStacking": lambda models: st.OnlineStacking(models=models, seed=3),
    "ExponentialWeights": lambda models: st.ExponentialWeights(models=models, seed=3),
    "Voting": lambda models: st.Voting(models=models, seed=3),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def accuracy(model, rows, labels):
    return np.mean([guess == label for guess, label in zip(model.predict_many(rows), labels, strict=True)])


def test_many_equals_one_by_one_and_a_saved_ensemble_goes_on(make, tmp_path):
    rows, labels = stream(200)
    many, single = make([TREE, TREE]), make([TREE, TREE])
    many.learn_many(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        single.learn_one(row, label)
    assert many.predict_proba_many(rows[:20]) == single.predict_proba_many(rows[:20])
    st.save(many, tmp_path / "model")
    loaded = st.load(tmp_path / "model")
    for model in (many, loaded):
        model.learn_many(*stream(100, seed=5))
    assert loaded.predict_proba_many(rows[:20]) == many.predict_proba_many(rows[:20])


def test_ours_others_and_nested_ensembles_learn_together(make):
    rows, labels = stream()
    model = make([TREE, Always(), st.Voting(models=[TREE, TREE])])
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
    assert model.predict_proba_many(stream(20)[0]) == before


@pytest.mark.parametrize("wrong", [[], ["tree"], [st.Stump], None, 5], ids=str)
def test_what_is_no_learner_is_refused(make, wrong):
    with pytest.raises(ValueError, match=r"model"):
        make(wrong)


def test_the_out_of_bag_estimate_agrees_with_test_then_learn():
    rows, labels = stream(1500)
    model = st.OnlineBagging(models=TREE, n_models=10, seed=1)
    right = []
    for row, label in zip(rows, labels, strict=True):
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    assert model.out_of_bag == pytest.approx(np.mean(right), abs=0.03)


def test_boosted_stumps_beat_one_stump():
    rows, labels = stream(1500)
    stump = st.HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc")
    boosted = st.OnlineBoosting(models=stump, n_models=10, seed=2)
    stump.learn_many(rows, labels)
    boosted.learn_many(rows, labels)
    assert accuracy(boosted, *stream(500, seed=4)) > accuracy(stump, *stream(500, seed=4)) + 0.05


def test_bagging_voting_and_weights_take_numbers_too():
    rows, _ = stream()
    numbers = [3.0 * row["a"] for row in rows]
    tree = st.HoeffdingTreeRegressor(grace_period=30)
    for model in (
        st.OnlineBagging(models=tree, n_models=3),
        st.Voting(models=[tree, tree]),
        st.ExponentialWeights(models=[tree, st.HoeffdingTreeRegressor(max_depth=0)]),
    ):
        model.learn_many(rows, numbers)
        assert abs(model.predict_one({"a": 0.9, "b": 0.5}) - 2.7) < 0.5
    with pytest.raises(ValueError, match="takes models of classes"):
        st.OnlineBoosting(models=tree)
    with pytest.raises(ValueError, match="must all do the same"):
        st.Voting(models=[tree, TREE])


def digits():
    found = load_digits()
    return found.data[:1200], found.target[:1200], found.data[1200:], found.target[1200:]


def test_batch_bagging_knows_its_error_before_new_rows_come():
    rows, labels, later, true = digits()
    model = st.Bagging(model=DecisionTreeClassifier(), n_models=15).fit(rows, labels)
    error = np.mean(model.predict(later) != true)
    assert model.out_of_bag_error == pytest.approx(error, abs=0.06)
    alone = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    assert error < 1.0 - alone.score(later, true)


def test_adaboost_follows_the_printed_formula():
    rows, labels, _, _ = digits()
    labels = labels % 2
    model = st.AdaBoost(model=DecisionTreeClassifier(max_depth=1), n_models=5).fit(rows, labels)
    weights = np.full(len(labels), 1.0 / len(labels))
    for member, alpha in zip(model.members, model.alphas, strict=True):
        wrong = member.predict(rows) != labels
        error = weights[wrong].sum()
        assert alpha == pytest.approx(0.5 * math.log((1.0 - error) / error))
        weights *= np.exp(np.where(wrong, alpha, -alpha))
        weights /= weights.sum()
        assert weights[wrong].sum() == pytest.approx(0.5)


def test_stacking_is_about_as_good_as_its_best_member():
    rows, labels, later, true = digits()
    good, poor = DecisionTreeClassifier(max_depth=10, random_state=0), DecisionTreeClassifier(max_depth=1)
    model = st.Stacking(models=[poor, good]).fit(rows, labels)
    assert np.mean(model.predict(later) == true) > good.fit(rows, labels).score(later, true) - 0.03


def test_river_evaluates_and_pipelines_our_models():
    river = pytest.importorskip("river")
    from river import datasets, evaluate, metrics, preprocessing

    model = preprocessing.StandardScaler() | st.HoeffdingTreeClassifier()
    found = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert found.get() > 0.8
    assert river.__version__
