"""Combinations against their definitions, over our predictors and anyone's."""

import math

import numpy as np
import pytest

import stumpery as st
from stumpery.types import State

SCHEMA = st.Schema.of({"a": "numerical", "b": "numerical", "name": "categorical"})
RECIPES = [st.clicks.Stump(prior=0.2, m=5.0), st.clicks.HashedStump(prior=0.2, m=5.0)]


class Fixed:
    """A learner that always says the same, and remembers what it was taught."""

    def __init__(self, probability, key=True):
        self.probability, self.key, self.seen = probability, key, []

    def predict_proba_one(self, x):
        return {self.key: self.probability} if self.probability is not None else {}

    def learn_one(self, x, y):
        self.seen.append((x, y))


def stream(n=400):
    rng = np.random.default_rng(6)
    rows = [{"a": rng.random(), "b": rng.random(), "name": f"v{rng.integers(5)}"} for _ in range(n)]
    return rows, [bool(rng.random() < 0.1 + 0.6 * (row["a"] > 0.7)) for row in rows]


def outputs_of(model, row):
    return model._outputs(model._matrix([row]), [row])[0]


def test_the_average_is_the_mean_of_the_outputs():
    model = st.clicks.Average(predictors=RECIPES, schema=SCHEMA)
    model.learn_many(*stream())
    row = stream(1)[0][0]
    assert model.score_many([row])[0] == pytest.approx(outputs_of(model, row).mean(), rel=1e-12)
    alone = [st.clicks.Stump(prior=0.2, m=5.0, column=column, schema=SCHEMA) for column in ("a", "b")]
    alone.append(st.clicks.HashedStump(prior=0.2, m=5.0, schema=SCHEMA))
    for each in alone:
        each.learn_many(*stream())
    assert model.score_many([row])[0] == pytest.approx(
        np.mean([each.score_many([row])[0] for each in alone]), rel=1e-12
    )


def test_exponential_weights_are_those_of_the_formula():
    model = st.clicks.WeightedPredictors(predictors=RECIPES, schema=SCHEMA, eta=0.7)
    weights = np.full(3, 1 / 3)
    for row, click in zip(*stream(), strict=True):
        found = np.clip(outputs_of(model, row), 1e-6, 1 - 1e-6)
        model.learn_one(row, click)
        weights = weights * np.exp(0.7 * np.log(found if click else 1 - found))
        weights /= weights.sum()
        assert model._weights == pytest.approx(weights, rel=1e-9)
    assert model._weights[0] == max(model._weights), "the column that tells gets the largest weight"


def test_the_linear_ranker_points_from_one_centroid_to_the_other():
    model = st.clicks.LinearRanker(predictors=RECIPES, schema=SCHEMA)
    outputs = {True: [], False: []}
    for row, click in zip(*stream(), strict=True):
        outputs[click].append(outputs_of(model, row))
        model.learn_one(row, click)
        if outputs[True] and outputs[False]:
            line = np.mean(outputs[True], axis=0) - np.mean(outputs[False], axis=0)
            if abs(line).sum() > 1e-12:
                assert model._weights == pytest.approx(line / abs(line).sum(), abs=1e-9)
    assert abs(model._weights).sum() == pytest.approx(1.0)


def test_bagging_shows_each_predictor_an_event_poisson_times():
    model = st.clicks.BaggedPredictors(predictors=[(st.clicks.Stump(), 500)], schema=SCHEMA, seed=1)
    n = 40
    model.learn_many([{"a": event / 7, "b": 1.0} for event in range(n)], [False] * n)
    streams = model._bank.univariate.streams
    sizes = np.arange(streams.values.shape[1]) < streams.sizes[:, np.newaxis]
    buffered = np.arange(streams.buffers.shape[1]) < streams.n_buffered[:, np.newaxis]
    seen = np.where(sizes[:, :, np.newaxis], streams.counts, 0).sum(axis=(1, 2))
    seen = seen + np.where(buffered, streams.buffer_labels // 2, 0).sum(axis=1)
    assert seen.mean() == pytest.approx(n, rel=0.03)
    assert seen.var() == pytest.approx(n, rel=0.3)


def test_columns_are_used_in_turn():
    model = st.clicks.BaggedPredictors(
        predictors=[(st.clicks.Stump(), 5), (st.clicks.HashedStump(n_hashes=2), 3)], schema=SCHEMA
    )
    assert model._bank.univariate.columns.tolist() == [0, 1, 0, 1, 0, 2, 2, 2]
    assert model._bank.univariate.hashes.tolist() == [0, 0, 0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "kind",
    [
        st.clicks.Average,
        st.clicks.WeightedPredictors,
        st.clicks.LinearRanker,
        st.clicks.LogOdds,
        st.clicks.BaggedPredictors,
    ],
)
def test_any_learner_may_take_part(kind):
    rows, clicks = stream(60)
    inner = st.clicks.Average(predictors=[st.clicks.Stump()])
    model = kind(predictors=[Fixed(0.25), Fixed(0.75, key=1), Fixed(None), inner, *RECIPES], schema=SCHEMA, seed=2)
    model.learn_many(rows, clicks)
    assert np.isfinite(model.score_many(rows)).all()
    first = model._bank.learners[0]
    assert first.seen
    assert first.seen[0][0] in rows
    if kind is not st.clicks.BaggedPredictors:
        assert first.seen == list(zip(rows, clicks, strict=True))
    assert inner.schema is None, "a predictor is read, not trained"
    assert set(model.contributions(rows[0])) == {"a", "b", "name"}


def test_the_average_of_other_learners_alone():
    model = st.clicks.Average(predictors=[Fixed(0.25), Fixed(0.75)])
    model.learn_one({"a": 1.0}, y=True)
    assert model.predict_proba_one({"a": 2.0})[True] == 0.5
    with pytest.raises(ValueError, match="its predictors have a Fixed, which is not one of Stumpery's"):
        model.state()


def test_learners_in_an_ensemble_are_told_its_columns_too():
    model = st.clicks.Average(predictors=[st.clicks.Stump(), st.HoeffdingTreeClassifier()])
    model.declare_columns(["a", "b"])
    model.learn_one({"b": 1.0}, y=True)
    assert model.schema.names == model._bank.learners[0].schema.names == ("a", "b")


@pytest.mark.parametrize("schema", [None, st.Schema.of({"a": "numerical", "b": "numerical"})])
@pytest.mark.parametrize("kind", [st.clicks.Average, st.clicks.BaggedPredictors])
def test_columns_that_a_predictor_refuses_change_nothing(kind, schema):
    narrow = st.HoeffdingTreeClassifier(schema=st.Schema.of({"a": "numerical"}))
    model = kind(predictors=[st.clicks.Stump(), st.HoeffdingTreeClassifier(), narrow], schema=schema)
    with pytest.raises(ValueError, match=r"^the schema has no column 'b'; it has 'a'$"):
        model.declare_columns(["a", "b"])
    assert model.schema is schema
    learners = [] if model._bank is None else model._bank.learners
    assert all(learner.schema is None or learner.schema.names == ("a",) for learner in learners)
    model.learn_one({"a": 1.0}, y=True)
    assert model.schema.names == (("a",) if schema is None else ("a", "b"))


def test_log_ratios_of_trees_are_over_their_roots_and_of_learners_over_their_mean():
    tree = st.clicks.RandomHoeffdingTree(grace_period=20, tau=1.0, prior=0.2, m=5.0)
    model = st.clicks.LogOdds(predictors=[(tree, 2), Fixed(0.25)], schema=SCHEMA)
    rows, clicks = stream()
    model.learn_many(rows, clicks)
    raw = model._bank.outputs(model._matrix(rows[:5]), rows[:5])
    roots = model._bank.tree_banks[0].probabilities[:2]
    expected = np.log(raw[:, :2] / roots).sum(axis=1)  # the third says the same of every row
    assert model.score_many(rows[:5]) == pytest.approx(expected, abs=1e-9)
    assert sum(model.contributions(rows[0]).values()) == pytest.approx(expected[0], abs=1e-9)
    assert np.ptp(expected) > 0


def test_a_thousand_predictors_are_one_set_of_arrays():
    model = st.clicks.BaggedPredictors(
        predictors=[(st.clicks.Stump(), 660), (st.clicks.HashedStump(), 140), (st.clicks.RandomHoeffdingTree(), 200)],
        schema=SCHEMA,
    )
    model.learn_many(*stream(30))
    assert model._bank.n_outputs == 1000
    assert len(model.state().arrays) < 60
    assert not model._bank.learners


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        [],
        "Stump",
        st.clicks.Stump(),
        [st.clicks.Stump],
        [3],
        [(st.clicks.Stump(), 0)],
        [(st.clicks.Stump(), 1.5)],
        [{}],
    ],
    ids=str,
)
def test_what_are_no_predictors_is_refused(wrong):
    with pytest.raises(ValueError, match="predictor"):
        st.clicks.Average(predictors=wrong)


def test_a_predictor_that_can_use_no_column_is_refused():
    with pytest.raises(ValueError, match="can use"):
        st.clicks.Average(predictors=[st.clicks.HashedStump()]).learn_one({"a": 1.0}, y=True)
    with pytest.raises(ValueError, match="HashedStump can use none of the columns 'a'"):
        st.clicks.HashedStump().learn_one({"a": 1.0}, y=True)
    with pytest.raises(ValueError, match=r"^column is 'c'; it must be one of 'a'"):
        st.clicks.Stump(column="c").learn_one({"a": 1.0}, y=True)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, 1e308, "1"])
def test_eta_must_be_a_number_above_zero(wrong):
    with pytest.raises(ValueError, match=r"^eta is "):
        st.clicks.WeightedPredictors(predictors=RECIPES, eta=wrong)


@pytest.mark.parametrize("prior", [0, 1])
@pytest.mark.parametrize("clicks", [[False] * 400, [True] * 400, None], ids=["never", "always", "some"])
@pytest.mark.parametrize(
    "predictor", [st.clicks.Stump, st.clicks.UnivariateTree, st.clicks.OneRule, st.clicks.RandomHoeffdingTree]
)
def test_log_odds_stay_finite_where_a_probability_is_zero(predictor, clicks, prior):
    model = st.clicks.LogOdds(predictors=[predictor(prior=prior)], schema=SCHEMA)
    rows, some = stream()
    model.learn_many(rows, clicks or some)
    model.learn_many([{}] * 40, (clicks or some)[:40])
    assert np.isfinite(model.score_many([*rows, {}])).all()
    assert all(math.isfinite(each) for each in model.contributions(rows[0]).values())


@pytest.mark.parametrize("said", [{True: math.nan}, {True: 5.0}, {True: -0.1}, {True: "1"}, None, 0.5], ids=str)
@pytest.mark.parametrize(
    "kind",
    [
        st.clicks.Average,
        st.clicks.WeightedPredictors,
        st.clicks.LinearRanker,
        st.clicks.LogOdds,
        st.clicks.BaggedPredictors,
    ],
)
def test_a_learner_that_gives_no_probabilities_is_refused(kind, said):
    learner = Fixed(0.5)
    learner.predict_proba_one = lambda x: said
    model = kind(predictors=[learner, *RECIPES], schema=SCHEMA)
    with pytest.raises(ValueError, match=r"^predict_proba_one of a Fixed gave .* probabilities from 0 to 1"):
        model.score_many(stream(1)[0])
    before = {name: array.tobytes() for name, array in model._arrays().items()}
    if kind.uses_outputs or kind is st.clicks.LogOdds:
        with pytest.raises(ValueError, match="probabilities from 0 to 1"):
            model.learn_one(stream(1)[0][0], y=True)
        assert {name: array.tobytes() for name, array in model._arrays().items()} == before


@pytest.mark.parametrize(
    ("kind", "name", "value", "sentence"),
    [
        (st.clicks.LinearRanker, "centroids", math.nan, "a centroid is nan"),
        (st.clicks.LinearRanker, "seen", -1, "the number of events of a class is -1"),
        (st.clicks.LogOdds, "left_out", 9, "the number of rows left out by thinning is 9"),
    ],
)
def test_what_no_stream_leaves_in_an_ensemble_is_refused(kind, name, value, sentence):
    options, arrays = kind(predictors=RECIPES, schema=SCHEMA).state()
    damaged = arrays[name].copy()
    damaged.flat[0] = value
    with pytest.raises(ValueError, match=f"^corrupt file: {sentence}, which is not within [^\n]+$"):
        kind.from_state(State(options, {**arrays, name: damaged}))


@pytest.mark.parametrize(
    ("predictor", "kinds"),
    [
        (st.clicks.Stump(column="name"), "which is categorical; a Stump takes numerical columns"),
        (st.clicks.HashedStump(column="a", n_hashes=3), "which is numerical; a HashedStump takes categorical columns"),
        (st.clicks.UnivariateTree(column="name"), "which is categorical; a UnivariateTree takes numerical columns"),
    ],
    ids=str,
)
def test_a_column_of_another_kind_is_refused(predictor, kinds):
    with pytest.raises(ValueError, match=f"^column is '(a|name)', {kinds}$"):
        st.clicks.Average(predictors=[predictor], schema=SCHEMA)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (st.clicks.UnivariateTree, {"min_samples_split": 10**400}),
        (st.clicks.RandomHoeffdingTree, {"grace_period": 10**400}),
        (st.clicks.RandomHoeffdingTree, {"max_depth": 10**400}),
        (st.clicks.Stump, {"prior": 2}),
        (st.clicks.Stump, {"m": 0}),
        (st.clicks.Stump, {"criterion": "gini"}),
        (st.clicks.Stump, {"max_tuples": 2}),
        (st.clicks.HashedStump, {"n_hashes": 0}),
        (st.clicks.OneRule, {"binary": 1}),
        (st.clicks.UnivariateTree, {"min_samples_split": 0}),
        (st.clicks.UnivariateTree, {"max_leaves": 1}),
        (st.clicks.UnivariateTree, {"categories": "yes"}),
        (st.clicks.RandomHoeffdingTree, {"n_features": 0}),
        (st.clicks.RandomHoeffdingTree, {"grace_period": 0}),
        (st.clicks.RandomHoeffdingTree, {"delta": 0}),
        (st.clicks.RandomHoeffdingTree, {"tau": -1}),
        (st.clicks.RandomHoeffdingTree, {"max_depth": 0}),
        (st.clicks.RandomHoeffdingTree, {"max_leaves": 0}),
    ],
)
def test_wrong_options_of_predictors_are_refused(kind, wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        kind(**wrong)


def test_the_list_of_predictors_is_the_ensembles_own():
    given = [st.clicks.Stump()]
    model = st.clicks.Average(predictors=given)
    given.clear()
    assert len(model.predictors) == 1
    assert isinstance(model.predictors, tuple)
