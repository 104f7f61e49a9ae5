"""Online feature selection against its slow twins, round by round, and what a user may rely on."""

import math
import threading
from copy import deepcopy

import numpy as np
import pytest
from tests.reference import feature_selection as slow
from tests.support import bits_of

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.selection import choosers, classifiers
from stumpery.selection import feature_selector_kernels as selector_kernels
from stumpery.types import State

N, K, M = (120 if INTERPRETED else 900), 9, 3
METHODS = {
    "Thompson and network": (choosers.thompson(prior=(1, 2)), classifiers.SmallNetwork()),
    "logistic units": (choosers.thompson(), classifiers.SmallNetwork(units="logistic", n_hidden=3)),
    "all features": (choosers.everything(), classifiers.SmallNetwork()),
    "OFS": (choosers.epsilon_greedy(epsilon=0.3), classifiers.SparsePerceptron()),
    "perceptron": (choosers.epsilon_greedy(epsilon=0.3), classifiers.Perceptron()),
    "perceptron, not truncated": (choosers.epsilon_greedy(), classifiers.Perceptron(truncate=False)),
    "network by its weights": (choosers.epsilon_greedy(), classifiers.SmallNetwork()),
    "upper confidence": (choosers.ucb(), classifiers.Perceptron()),
    "ours": (choosers.loss_reduction(), classifiers.AdditiveModel(memory=60)),
}


def events(n=N, *, missing=True):
    """Numbers, bits, a constant and skewed columns; the class is a noisy rule of two of them and a product."""
    rng = np.random.default_rng(7)
    rows = rng.normal(3, 2, (n, K))
    rows[:, 1] = rng.random(n) < 0.1
    rows[:, 2] = 4.0
    rows[:, 3] = np.exp(rows[:, 3])
    signal = (rows[:, 0] - 3) + (rows[:, 5] - 3) * (rows[:, 6] > 3) + 3 * rows[:, 1]
    labels = (signal + rng.normal(0, 0.5, n) > 0.3).astype(int)
    if missing:
        rows[rng.random((n, K)) < 0.05] = np.nan
    return rows, labels


def selector(name="ours", **options):
    chooser, classifier = METHODS[name]
    size = {} if chooser.kind == "everything" or "budget" in options else {"n_features": M}
    return st.FeatureSelector(
        **{"features": K, "chooser": chooser, "classifier": classifier, "seed": 5, **size, **options}
    )


def twin_of(name, model, *, online):
    chooser, classifier = METHODS[name]
    makers = {
        "thompson": lambda: slow.Thompson(K, M, 5, chooser.prior),
        "ucb": lambda: slow.UpperConfidence(K, M, 5),
        "everything": lambda: slow.AllFeatures(K, M, 5),
        "epsilon_greedy": lambda: slow.EpsilonGreedy(K, M, 5, chooser.epsilon),
        "loss_reduction": lambda: slow.LossReduction(K, M, 5),
    }
    if isinstance(classifier, classifiers.SmallNetwork):
        logistic = classifier.units == "logistic"
        network = slow.Network(K, model._weights, n_hidden=classifier.n_hidden, logistic=logistic)
    other = {
        classifiers.Perceptron: lambda: slow.Perceptron(K, M, truncated=classifier.truncate),
        classifiers.SparsePerceptron: lambda: slow.SparsePerceptron(K, M, epsilon=chooser.epsilon),
        classifiers.SmallNetwork: lambda: network,
        classifiers.AdditiveModel: lambda: slow.Additive(K, memory=60),
    }
    return slow.Selector(makers[chooser.kind](), other[type(classifier)](), K, online=online)


@pytest.mark.kernels
@pytest.mark.parametrize("online", [True, False], ids=["online", "as they come"])
@pytest.mark.parametrize("name", METHODS)
def test_every_round_equals_the_twin(name, online):
    rows, labels = events()
    if not online:
        rows = (rows - np.nanmean(rows, axis=0)) / np.maximum(np.nanstd(rows, axis=0), 1e-9)
    model = selector(name, standardise=online)
    twin = twin_of(name, model, online=online)
    n_mistakes = 0
    for row, label in zip(rows, labels, strict=True):
        asked = model.ask()
        assert model.ask() == asked
        chosen, score, mistake = twin.round(row, 2 * label - 1)
        assert asked == tuple(chosen)
        assert model.predict_one(row) == int(score >= 0)
        model.tell({feature: row[feature] for feature in asked}, label)
        n_mistakes += mistake
    assert 0 < n_mistakes < len(rows)
    assert selector(name, standardise=online).play(rows, labels).mistakes.sum() == n_mistakes


@pytest.mark.kernels
@pytest.mark.parametrize("name", METHODS)
def test_playing_equals_the_loop_bit_for_bit_also_from_an_open_round(name):
    rows, labels = events()
    fast, loop = selector(name), selector(name)
    predictions = []
    for row, label in zip(rows, labels, strict=True):
        predictions.append(loop.predict_one(row))
        loop.learn_one(row, label)
    fast.ask()
    played = fast.play(rows, labels)
    assert played.predictions.tolist() == predictions
    assert bits_of(fast) == bits_of(loop)
    assert played.spent.sum() == played.looks.sum() == sum(row["looks"] for row in fast.explain().rows)


class Jealous:
    """A source that fails when it is asked for more than it should be."""

    def __init__(self, row, allowed):
        self.row, self.allowed, self.touched = row, allowed, set()

    def __getitem__(self, feature):
        assert feature in self.allowed, f"{feature} was touched"
        self.touched.add(feature)
        return self.row[feature]


@pytest.mark.parametrize("name", METHODS)
def test_features_that_were_not_asked_are_never_touched(name):
    rows, labels = events(150)
    model = selector(name)
    for row, label in zip(rows, labels, strict=True):
        asked = model.ask()
        assert len(asked) <= M or name == "all features"
        source = Jealous(row, set(asked))
        model.predict_one(source)
        model.learn_one(source, label)
        assert source.touched == set(asked)


@pytest.mark.parametrize("name", METHODS)
def test_what_was_not_looked_at_changes_nothing(name):
    rows, labels = events(200)
    plain, poisoned = selector(name), selector(name)
    for row, label in zip(rows, labels, strict=True):
        asked = plain.ask()
        garbled = np.where(np.isin(np.arange(K), asked), row, 1e6)
        assert poisoned.predict_one(garbled) == plain.predict_one(row)
        plain.learn_one(row, label)
        poisoned.learn_one(garbled, label)
    assert bits_of(plain) == bits_of(poisoned)


def test_a_state_with_the_former_name_of_the_chooser_goes_on():
    model, (rows, labels) = selector(), events(40)
    model.play(rows, labels)
    options, arrays = deepcopy(model.state())
    assert options["chooser"]["kind"] == "loss_reduction"
    former = st.FeatureSelector.from_state(
        State({**options, "chooser": {**options["chooser"], "kind": "worth"}}, arrays)
    )
    assert former.chooser == model.chooser
    assert former.ask() == model.ask()


@pytest.mark.parametrize("name", METHODS)
def test_a_selector_saved_in_the_middle_of_a_round_goes_on_bit_for_bit(name, tmp_path):
    rows, labels = events()
    straight, first = selector(name), selector(name)
    expected = straight.play(rows, labels)
    first.play(rows[:80], labels[:80])
    asked = first.ask()
    st.save(first, tmp_path / "selector.safetensors")
    second = st.load(tmp_path / "selector.safetensors")
    assert second.ask() == asked
    assert second.play(rows[80:], labels[80:]).mistakes.tolist() == expected.mistakes[80:].tolist()
    assert bits_of(second) == bits_of(straight)


def test_ours_finds_the_features_that_matter():
    rows, labels = events(4000)
    played = selector(seed=1).play(rows, labels)
    assert {0, 5, 6, 1} >= set(np.argsort(-played.looks)[:3].tolist())
    assert played.mistakes[-1000:].mean() < 0.2
    assert played.looks.sum() == 3 * 4000


def test_a_class_may_come_late():
    rows, labels = events(60, missing=False)
    model = selector()
    open_rounds = []
    for row, label in zip(rows, labels, strict=True):
        asked = model.ask()
        open_rounds.append(({feature: row[feature] for feature in asked}, label))
        model.skip()
    for x, label in reversed(open_rounds):
        model.tell(x, label, asked=list(x))
    assert sum(row["looks"] for row in model.explain().rows) == 60 * M


def test_a_class_told_with_the_open_rounds_features_ends_that_round_and_no_other():
    rows, labels = events(200, missing=False)
    plain, named = selector(), selector()
    for row, label in zip(rows, labels, strict=True):
        asked = plain.ask()
        assert named.ask() == asked
        x = {feature: row[feature] for feature in asked}
        plain.tell(x, label)
        named.tell(x, label, asked=asked[::-1])
    assert bits_of(named) == bits_of(plain)
    asked = named.ask()
    others = [feature for feature in range(K) if feature not in asked][:M]
    for features in (others, asked[:-1]):
        named.tell(rows[0], 1, asked=features)
        assert named.ask() == asked
    before = named.explain().rows
    named.tell(rows[0], 1, asked=asked)
    assert sum(row["looks"] for row in named.explain().rows) == sum(row["looks"] for row in before) + M
    with pytest.raises(ValueError, match="x has no"):
        named.tell({}, 1, asked=named.ask())


def test_two_threads_that_ask_and_tell_go_on_exploring():
    rows, labels = events(100, missing=False)
    model = st.FeatureSelector(features=K, n_features=M, chooser=choosers.thompson(), **OWN, seed=5)
    asked_by, turns = ([], []), threading.Barrier(2)

    def work(place):
        for row, label in zip(rows, labels, strict=True):
            turns.wait(60.0)
            asked = model.ask()
            turns.wait(60.0)  # both have asked, in the same round
            model.tell({feature: row[feature] for feature in asked}, label, asked=asked)
            asked_by[place].append(asked)

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120.0)
    assert asked_by[0] == asked_by[1]
    assert len(set(asked_by[0])) > 20
    assert sum(row["looks"] for row in model.explain().rows) == 2 * 100 * M


def test_fixed_features_are_always_the_same():
    model = st.FeatureSelector(features=["a", "b", "c"], chooser=choosers.fixed(["c", "a"]))
    for step in range(5):
        assert set(model.ask()) == {"a", "c"}
        model.tell({"a": step, "c": 1}, step % 2)


def test_frames_are_read_by_the_names_of_their_columns():
    import polars as pl

    rows, labels = events(missing=False)
    names = [f"f{index}" for index in range(K)]
    frame = pl.DataFrame(rows, schema=names).select(reversed(names))
    by_frame, by_matrix = selector(features=names), selector(features=names)
    by_frame.play(frame, labels)
    by_matrix.play(rows, labels)
    assert bits_of(by_frame) == bits_of(by_matrix)


def test_a_frames_columns_may_be_numbers_and_bits_with_gaps_but_not_text():
    import pandas as pd
    import polars as pl

    bits = [True, None, False, True]
    expected = np.array([[1, np.nan, 0, 1]] * K, dtype=float).T
    names = [f"f{index}" for index in range(K)]
    frames = [
        pl.DataFrame(dict.fromkeys(names, bits)),
        pd.DataFrame({name: pd.array(bits, dtype="boolean") for name in names}),
        pd.DataFrame({name: pd.array([1, None, 0, 1], dtype="Int64") for name in names}),
    ]
    by_matrix = selector(features=names)
    by_matrix.play(expected, [0, 1, 1, 0])
    for frame in frames:
        by_frame = selector(features=names)
        by_frame.play(frame, [0, 1, 1, 0])
        assert bits_of(by_frame) == bits_of(by_matrix)
    numbered, plain = selector(), selector()
    numbered.play(pd.DataFrame(expected), [0, 1, 1, 0])
    plain.play(expected, [0, 1, 1, 0])
    assert bits_of(numbered) == bits_of(plain)
    with pytest.raises(ValueError, match=r"^'f0' is '1'; a feature must be a number of at most 1e\+09 in size$"):
        selector(features=names).play(pl.DataFrame({name: ["1"] for name in names}), [0])


def test_masked_values_are_missing():
    rows, labels = events()
    masked, plain = selector(), selector()
    masked.play(np.ma.masked_array(np.nan_to_num(rows, nan=1e99), mask=np.isnan(rows)), labels)
    plain.play(rows, labels)
    assert bits_of(masked) == bits_of(plain)
    plain.tell([np.ma.masked] * K, 1)


def test_no_rows_and_no_order_are_no_rounds():
    model = selector()
    before = bits_of(model)
    for rows, labels, order in ((np.ones((0, K)), [], None), (np.ones((2, K)), [0, 1], [])):
        assert len(model.play(rows, labels, order).predictions) == 0
    assert bits_of(model) == before


def test_a_late_round_that_looked_at_nothing_is_learned_as_well():
    model = selector("OFS", chooser=choosers.epsilon_greedy(epsilon=0))
    asked = model.ask()
    model.skip()
    assert asked == ()
    model.tell({}, 1, asked=asked)
    assert model.explain().summary.startswith("After 1 rounds")


def test_classes_and_prices_are_kept_as_they_were_given(tmp_path):
    prices = dict.fromkeys(range(K), 2)
    model = selector(classes=iter(["no", 1]), prices=prices)
    prices.clear()
    assert model.play(np.ones((2, K)), ["no", 1]).predictions.dtype == object
    st.save(model, tmp_path / "selector.safetensors")
    again = st.load(tmp_path / "selector.safetensors")
    assert (again.classes, again.prices) == (("no", 1), dict.fromkeys(range(K), 2.0))


def test_an_order_is_as_good_as_ordered_rows():
    rows, labels = events()
    order = np.random.default_rng(1).permutation(N)[:100]
    played, expected = selector().play(rows, labels, order), selector().play(rows[order], labels[order])
    assert played.predictions.tolist() == expected.predictions.tolist()


class Majority:
    """A learner with river's verbs and any classes: the most frequent class of what it saw."""

    def __init__(self):
        self.seen, self.counts = [], {}

    def predict_one(self, x):
        self.seen.append(set(x))
        return max(self.counts, key=self.counts.get, default=None)

    def learn_one(self, x, y):
        self.counts[y] = self.counts.get(y, 0) + 1


def test_any_learner_with_rivers_verbs_may_classify_any_number_of_classes():
    rows, _ = events(200, missing=False)
    labels = np.array([*"aabc" * 50])
    learner = Majority()
    model = st.FeatureSelector(
        features=K, n_features=2, chooser=choosers.thompson(), classifier=learner, classes=None, seed=1
    )
    played = model.play(rows, labels)
    assert played.mistakes.mean() == pytest.approx(0.5, abs=0.02)
    assert {len(seen) for seen in learner.seen} == {2}
    model.tell(dict.fromkeys(model.ask(), 1.0), "z")
    assert learner.counts["z"] == 1
    assert {type(label) for label in learner.counts} == {str}
    for label in (None, float("nan"), ["z"]):
        with pytest.raises(ValueError, match=r"^label is .*; it must name a class, a round without one ends with skip"):
            model.tell(dict.fromkeys(model.ask(), 1.0), label)
    with pytest.raises(
        ValueError, match=r"^a Majority among the models is none of Stumpery's own, so this cannot be saved$"
    ):
        model.state()


def test_a_learner_whose_prediction_is_no_class_learns_nothing():
    class Wrong(Majority):
        def predict_one(self, x):
            return np.ones(2)

    model = st.FeatureSelector(features=K, n_features=2, chooser=choosers.thompson(), classifier=Wrong(), classes=None)
    with pytest.raises(TypeError):
        model.tell([1.0] * K, "a")
    assert model.classifier.counts == {}
    assert model.explain().rows[0]["looks"] == 0


class Counts:
    """A model of ours by itself: how often each class came."""

    def __init__(self):
        self.counts = np.zeros(2)

    def predict_one(self, x):
        return int(self.counts.argmax())

    def learn_one(self, x, y):
        self.counts[y] += 1

    def state(self):
        return State({}, {"counts": self.counts})

    @classmethod
    def from_state(cls, state):
        made = cls()
        made.counts[:] = state.arrays["counts"]
        return made


def test_a_model_of_ours_as_the_classifier_is_saved_with_the_selector(monkeypatch, tmp_path):
    monkeypatch.setattr(st.selection, "Counts", Counts, raising=False)
    monkeypatch.setattr(st.selection, "__all__", [*st.selection.__all__, "Counts"])
    rows, labels = events(120, missing=False)
    model = st.FeatureSelector(features=K, n_features=2, chooser=choosers.thompson(), classifier=Counts())
    model.play(rows[:60], labels[:60])
    st.save(model, tmp_path / "selector.safetensors")
    again = st.load(tmp_path / "selector.safetensors")
    assert again.classifier.counts.tolist() == model.classifier.counts.tolist()
    first, second = (each.play(rows[60:], labels[60:]) for each in (model, again))
    assert first.mistakes.tolist() == second.mistakes.tolist()
    assert bits_of(again) == bits_of(model)


def test_classes_may_have_any_names():
    rows, labels = events(missing=False)
    named = np.where(labels > 0, "a long name", "no")
    plain, texts = selector(), selector(classes=("no", "a long name"))
    expected, actual = plain.play(rows, labels), texts.play(rows, named)
    assert actual.predictions.tolist() == np.where(expected.predictions > 0, "a long name", "no").tolist()
    only = selector(classes=("no", "a long name")).play(rows[:30], ["no"] * 30)
    assert set(only.predictions.tolist()) <= {"no", "a long name"}


@pytest.mark.parametrize("kind", [st.FeatureSelector, st.clicks.UnivariateTree, st.HoeffdingTreeClassifier, "river's"])
@pytest.mark.parametrize(
    "classes", [(-1, 1), (1, 2), ("no", "yes"), (False, True), (np.int64(-1), np.int64(1)), (-1.0, 1.0)], ids=str
)
def test_two_classes_are_called_as_one_likes(kind, classes):
    rows, labels = events(400, missing=False)
    labels[:] = rows[:, 3] > np.median(rows[:, 3])
    named = np.array(classes)[labels]
    options = {"classifier": Binary()} if kind == "river's" else {}
    if kind in (st.clicks.UnivariateTree, st.HoeffdingTreeClassifier):
        options = {"classifier": kind(**({"prior": 0.5, "m": 1.0} if kind is st.clicks.UnivariateTree else {}))}
    made = [
        st.FeatureSelector(features=K, chooser=choosers.fixed([3, 4]), classes=names, **{**OWN, **deepcopy(options)})
        for names in (classes, classes, (0, 1))
    ]
    played, plain = made[0].play(rows, named), made[2].play(rows, labels)
    assert played.mistakes.tolist() == plain.mistakes.tolist()
    assert played.mistakes.mean() < 0.4
    for row, label, prediction, number in zip(rows, named, played.predictions, plain.predictions, strict=True):
        assert made[1].predict_one(row) == prediction
        assert prediction == (None if number is None else classes[int(number)])
        made[1].tell(row, label)


class Binary:
    """A learner of two classes, which knows them as True and False."""

    _multiclass = False

    def __init__(self):
        self.mean = 0.0

    def predict_one(self, x):
        return bool(x[3] > self.mean)

    def learn_one(self, x, y):
        assert y in (False, True)
        self.mean += 0.05 * (x[3] - self.mean)


OWN = {"classifier": classifiers.SmallNetwork()}
OURS = {
    "tree": lambda schema: st.HoeffdingTreeClassifier(schema=schema, seed=1),
    "forest": lambda schema: st.ForestClassifier(schema=schema, n_models=3, seed=1),
    "bagging": lambda schema: st.ensembles.OnlineBagging(models=st.HoeffdingTreeClassifier(schema=schema), n_models=2),
    "stump": lambda schema: st.clicks.Stump(schema=schema, prior=0.5, m=1.0),
    "log-odds": lambda schema: st.clicks.LogOdds(
        predictors=[st.clicks.UnivariateTree(prior=0.5, m=1.0)], schema=schema
    ),
}


def over(learner, **options):
    """A selector over a learner with river's verbs."""
    size = {} if "budget" in options else {"n_features": 2}
    return st.FeatureSelector(
        **{"features": K, "chooser": choosers.thompson(), "classifier": learner, "seed": 3, **size, **options}
    )


def one_rule(n=2000):
    """The class is whether one feature is above its mean."""
    rows, labels = events(n, missing=False)
    labels[:] = rows[:, 5] > 3
    return rows, labels


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("names", [K, [f"f{index}" for index in range(K)]], ids=["numbers", "text"])
def test_a_learner_of_ours_knows_all_columns_from_the_first_round(name, names):
    rows, labels = one_rule()
    columns = [str(name) for name in (range(K) if names == K else names)]
    inferred = over(OURS[name](None), features=names)
    declared = over(OURS[name](st.Schema.of(dict.fromkeys(columns, "numerical"))), features=names)
    mistakes = inferred.play(rows, labels).mistakes
    assert mistakes.tolist() == declared.play(rows, labels).mistakes.tolist()
    assert mistakes[-500:].mean() < 0.05


@pytest.mark.parametrize("name", OURS)
def test_a_learner_of_ours_plays_as_the_loop_is_saved_and_keeps_to_a_budget(name, tmp_path):
    rows, labels = one_rule(400)
    options = {"prices": {feature: 1.0 + feature % 3 for feature in range(K)}, "budget": 5.0}
    played, loop = over(OURS[name](None), **options), over(OURS[name](None), **options)
    found, predictions = played.play(rows, labels), []
    for row, label in zip(rows, labels, strict=True):
        predictions.append(loop.predict_one(row))
        asked = loop.ask()
        loop.tell({feature: float(row[feature]) for feature in asked}, label)
    assert found.predictions.tolist() == predictions
    assert found.spent.max() <= 5.0
    assert bits_of(played) == bits_of(loop)
    loop.ask()
    st.save(loop, tmp_path / "selector.safetensors")
    again = st.load(tmp_path / "selector.safetensors")
    more, labels_of_more = one_rule(600)
    assert again.play(more, labels_of_more).mistakes.tolist() == loop.play(more, labels_of_more).mistakes.tolist()
    assert bits_of(again) == bits_of(loop)


@pytest.mark.parametrize("name", ["tree", "forest", "bagging"])
def test_a_feature_may_turn_out_to_hold_text_late(name):
    rng = np.random.default_rng(2)
    options = {"features": ["age", "city", "visits"], "classes": None, "n_features": None}
    model = over(OURS[name](None), **options, chooser=choosers.fixed(["city", "visits"]))
    wrong = []
    for event in range(800):
        city = str(rng.choice(["Rome", "Oslo"]))
        row, label = {"city": city if event > 100 else None, "visits": None}, "warm" if city == "Rome" else "cold"
        wrong.append(model.predict_one(row) != label)
        model.tell(row, label)
    assert not any(wrong[-200:])


def test_an_optimal_tree_knows_all_columns_from_the_first_round(tmp_path):
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (300, 3)).astype(float)
    model = over(st.reinforcement.OptimalTree(), features=["a", "b", "c"], classes=None)
    assert model.classifier.schema.names == ("a", "b", "c")
    st.save(model, tmp_path / "selector")
    again = st.load(tmp_path / "selector")
    for each in (model, again):
        each.play(rows, rows[:, 2].astype(int))
        assert each.classifier.tree().to_text().splitlines()[0] == "100.0% of rows, ask c"
    assert bits_of(again) == bits_of(model)


def test_a_learner_of_another_kind_gets_what_was_looked_at_by_the_features_own_names():
    rows, labels = one_rule(20)
    learner = Majority()
    model = over(learner, classes=None)
    model.play(rows, labels)
    assert all(len(seen) == 2 and seen <= set(range(K)) for seen in learner.seen)
    mixed = st.ensembles.OnlineStacking(models=[st.HoeffdingTreeClassifier(), WithProbabilities()])
    over(mixed).play(rows, labels)
    assert len(mixed.members[0].schema) == K
    assert {len(seen) for seen in mixed.members[1].seen} == {2}


class WithProbabilities(Majority):
    """The most frequent class, with certainty."""

    def predict_proba_one(self, x):
        return {self.predict_one(x): 1.0} if self.counts else {}


@pytest.mark.parametrize(
    ("learner", "features", "sentence"),
    [
        (
            lambda: st.HoeffdingTreeClassifier(schema=st.Schema.of({"a": "numerical"})),
            ["a", "b", "c"],
            "the schema has no column 'b', 'c'; it has 'a'",
        ),
        (st.HoeffdingTreeClassifier, [1, "1"], "features hold 1 and '1', which would be one column; .*"),
        (st.clicks.HashedStump, ["a", "b"], "HashedStump can use none of .*, taken as numerical; give a schema .*"),
        (lambda: st.HoeffdingTreeClassifier(max_bytes=100), ["a", "b"], "max_bytes .*"),
        (
            lambda: st.ensembles.OnlineBagging(
                models=[st.HoeffdingTreeClassifier(), st.HoeffdingTreeClassifier(max_bytes=100)]
            ),
            ["a", "b"],
            "max_bytes .*",
        ),
    ],
    ids=["schema", "names", "kinds", "memory", "a member's memory"],
)
def test_columns_that_a_learner_of_ours_cannot_take_are_refused_at_once(learner, features, sentence):
    model = learner()
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        over(model, features=features)
    members = model.members if isinstance(model, st.ensembles.OnlineBagging) else [model]
    assert all(member.schema is None or member.schema.names == ("a",) for member in members)


@pytest.mark.kernels
@pytest.mark.parametrize("name", [name for name in METHODS if name != "all features"])
def test_a_budget_is_never_exceeded_and_cheap_features_are_preferred(name):
    rows, labels = events()
    prices = {feature: 1.0 + 2.0 * (feature % 3) for feature in range(K)}
    played = selector(name, prices=prices, budget=6.0).play(rows, labels)
    assert played.spent.max() <= 6.0
    assert played.spent @ np.ones(N) == pytest.approx(sum(prices[k] * n for k, n in enumerate(played.looks)))


def test_with_even_prices_a_budget_is_a_number_of_features():
    rows, labels = events()
    by_price = selector("Thompson and network", prices=dict.fromkeys(range(K), 2.0), budget=6.0)
    by_number = selector("Thompson and network")
    assert by_price.play(rows, labels).looks.tolist() == by_number.play(rows, labels).looks.tolist()


def test_the_score_of_nothing_is_a_mistake_for_ofs_and_a_success_for_thompson():
    rows, labels = np.zeros((20, 4)), np.ones(20, dtype=int)
    ofs = st.FeatureSelector(
        features=4, n_features=2, chooser=choosers.thompson(), classifier=classifiers.SparsePerceptron()
    )
    assert ofs.play(rows, labels).mistakes.all()
    assert {row["success"] for row in ofs.explain().rows} == {1.0}


def test_a_constant_feature_and_one_that_is_always_missing_teach_nothing():
    rows, labels = events(300, missing=False)
    rows[:, 4] = np.nan
    for name in METHODS:
        model = selector(name)
        model.play(rows, labels)
        assert np.isfinite(model._weights).all()
        assert model._columns[4].tolist() == [0, 0, 0]


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_no_form_of_input_compiles_anything_anew():
    rows, labels = events(50, missing=False)
    model = selector()
    model.play(rows, labels)
    model.predict_one(rows[0])
    model.tell(rows[0], 1)
    used = (selector_kernels.ask, selector_kernels.predict, selector_kernels.tell, selector_kernels.play)
    before = [len(kernel.signatures) for kernel in used]
    locked = rows.copy()
    locked.flags.writeable = False
    for form in (locked, rows.astype(np.float32), rows.astype(int), np.asfortranarray(rows), rows[::2], rows > 3):
        model.play(form, labels[: len(form)].astype(np.int8), range(3))
    for x, y in (([1] * K, 0), (np.ones(K, dtype=np.int8), True), ([None] * K, np.int64(1)), ([True] * K, 1.0)):
        model.predict_one(x)
        model.tell(x, y)
    assert [len(kernel.signatures) for kernel in used] == before == [1, 1, 1, 1]


def test_memory_does_not_grow():
    rows, labels = events()
    model = selector()
    before = model.n_bytes
    model.play(rows, labels)
    assert model.n_bytes == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_features": 0}, "n_features is 0; it must be a whole number from 1 to 9"),
        ({"n_features": 10}, "n_features is 10; it must be a whole number from 1 to 9"),
        ({"n_features": None}, "n_features is None; it must be a whole number from 1 to 9"),
        ({"features": []}, "features is empty; at least one name is needed"),
        ({"features": 0}, "features is 0; it must be a whole number of 1 or more"),
        ({"features": ["a", "a"]}, "features holds 'a' twice; names must differ"),
        ({"classes": (0, 1, 2)}, r"classes is \(0, 1, 2\); this classifier is for two classes, for more give .*"),
        ({"classes": None}, "classes is None; this classifier is for two classes, for more give .*"),
        ({"classifier": 3}, "classifier is 3; it must come from stumpery.selection.classifiers or have the verbs .*"),
        ({"classifier": classifiers.Perceptron()}, "the chooser loss_reduction needs the classifier AdditiveModel, .*"),
        (
            {"chooser": choosers.epsilon_greedy()},
            "the chooser epsilon_greedy needs a classifier with weights: a perceptron .*",
        ),
        ({"chooser": "thompson"}, "chooser is 'thompson'; it must come from stumpery.selection.choosers"),
        ({"chooser": choosers.fixed([1])}, "n_features is 3; this chooser selects 1: leave n_features out"),
        ({"chooser": choosers.fixed(["z"])}, "asked holds 'z'; features are 0, 1, .*"),
        ({"standardise": 1}, "standardise is 1; it must be True or False"),
        ({"budget": 3}, "budget goes with prices, without n_features, and with a chooser that chooses"),
        (
            {"chooser": choosers.everything(), "budget": 3, "prices": dict.fromkeys(range(9), 1), "n_features": None},
            "budget goes with prices, without n_features, and with a chooser that chooses",
        ),
        ({"prices": {0: 1}}, r"prices is \{0: 1\}; it must be a dict with a price for each feature"),
        ({"prices": {**dict.fromkeys(range(9), 1), 3: 0}}, "the price of 3 is 0; it must be a number above 0 .*"),
        (
            {"prices": dict.fromkeys(range(9), 2), "budget": 1, "n_features": None},
            "budget is 1; it is below the price of every feature",
        ),
        ({"seed": -1}, "seed is -1; it must be .*"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        st.FeatureSelector(**{"features": K, "n_features": M, **options})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: choosers.thompson(prior=(1, -1)), "a number of prior is -1; it must be a number above 0"),
        (lambda: choosers.epsilon_greedy(epsilon=2), "epsilon is 2; it must be a number from 0 to 1"),
        (lambda: choosers.ucb(width=-1), "width is -1; it must be a number of 0 or more"),
        (lambda: choosers.loss_reduction(first=0), "first is 0; it must be a whole number of 1 or more"),
        (lambda: classifiers.Perceptron(rate=0), "rate is 0; it must be a number above 0"),
        (lambda: classifiers.SparsePerceptron(radius=0), "radius is 0; it must be a number above 0"),
        (lambda: classifiers.SmallNetwork(n_hidden=0), "n_hidden is 0; it must be a whole number from 1 to 1000"),
        (lambda: classifiers.SmallNetwork(units="relu"), "units is 'relu'; it must be one of 'tanh', 'logistic'"),
        (lambda: classifiers.AdditiveModel(memory=1), "memory is 1; it must be a whole number of 10 or more"),
    ],
)
def test_wrong_parts_are_refused(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            lambda model: model.tell([1.0] * K, 2),
            r"label is 2; classes are 0, 1, and others must be named, as in classes=\(-1, 1\)",
        ),
        (lambda model: model.tell([1.0] * K, math.nan), "label is nan; classes are 0, 1"),
        (lambda model: model.tell([1.0] * K, np.ones(2)), "label is array.*; classes are 0, 1"),
        (
            lambda model: setattr(model, "n_features", 2),
            "n_features is an option of FeatureSelector and stays as it .*",
        ),
        (lambda model: model.tell([1.0] * K, None), "label is None; classes are 0, 1"),
        (lambda model: model.tell({}, 1), "x has no .*; it needs the selected features: .*"),
        (lambda model: model.tell(None, 1), "x has no .*; it needs the selected features: .*"),
        (
            lambda model: model.tell(["many"] * K, 1),
            ".* is 'many'; a feature must be a number of at most .*",
        ),
        (lambda model: model.tell([np.inf] * K, 1), ".* is inf; a feature must be a number of at most .*"),
        (lambda model: model.tell([1e10] * K, 1), ".* is 1.*; a feature must be a number of at most .*"),
        (lambda model: model.tell([1.0] * K, 1, asked=[77]), "asked holds 77; features are 0, .*"),
        (
            lambda model: model.tell([1.0] * K, 1, asked=range(K)),
            "asked holds 9 features; a round of this selector has 3 at most",
        ),
        (lambda model: model.tell([1.0] * K, [[1], [1, 2]]), r"label is \[\[1\], \[1, 2\]\]; classes are 0, 1"),
        (lambda model: model.play(np.ones((2, K)), [[1], [1, 2]]), r"label is \[1\]; classes are 0, 1"),
        (lambda model: model.play(np.ones((2, K)), [1, None]), "label is None; classes are 0, 1"),
        (lambda model: model.play(np.full((1, K), "1", object), [0]), "0 is '1'; a feature must be a number of .*"),
        (lambda model: model.play(np.full((1, K), 10**400), [0]), "0 is 1000.*; a feature must be a number of .*"),
        (lambda model: model.play(np.full((1, K), np.longdouble("1e400")), [0]), "rows hold inf; a feature must .*"),
        (lambda model: model.predict_one({}), "x has no .*; it needs the selected features: .*"),
        (lambda model: model.play(np.ones((3, 4)), [0, 1, 0]), r"rows have shape \(3, 4\); a column for each of 9 .*"),
        (lambda model: model.play(np.full((3, K), "x"), [0, 1, 0]), "rows hold <U1; features must be numbers"),
        (lambda model: model.play(np.full((1, K), -np.inf), [0]), "rows hold inf; a feature must be a number of .*"),
        (
            lambda model: model.play(np.ones((3, K)), ["yes", "no", "no"]),
            r"label is 'yes'; classes are 0, 1, and others must be named, as in classes=\(-1, 1\)",
        ),
        (lambda model: model.play(np.ones((3, K)), [0, 1]), "there are 3 rows and labels of shape .*"),
        (lambda model: model.play(np.ones((3, K)), [0, 1, 0], [3]), r"order is \[3\]; it must be a list of row .*"),
        (lambda model: model.play(7, [0]), "rows is 7; it must be a matrix or a frame with a column for each feature"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(wrong, sentence):
    rows, labels = events(100)
    model = selector()
    model.play(rows, labels)
    for verb in (model.ask, model.skip):  # with a round open, and without
        verb()
        before = bits_of(model)
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            wrong(model)
        assert bits_of(model) == before


def test_a_file_that_no_stream_could_have_led_to_is_refused():
    rows, labels = events(100)
    model = selector()
    model.play(rows, labels)
    options, arrays = model.state()
    wrong = {
        "sums": arrays["sums"] * -1,
        "weights": arrays["weights"] * np.nan,
        "squared_slopes": arrays["squared_slopes"] - 2,
        "statistics": -arrays["statistics"],
        "columns": arrays["columns"] * 1e300,
    }
    for name, array in wrong.items():
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            st.FeatureSelector.from_state(State(options, {**arrays, name: array}))
    for n_open, first in ((1, 99), (K, 0)):  # the second asks for more than a round has room for
        pending = np.array([n_open, *range(first, first + K)])
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            st.FeatureSelector.from_state(State(options, {**arrays, "pending": pending}))
