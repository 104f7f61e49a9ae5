"""Prints digests of what every public model says, and of all that it holds, after a short stream.

`test_modes.py` runs this in one process for each way in which kernels run, and compares.
"""

import hashlib
import json

import numpy as np

import stumpery as st
from stumpery.clicks import ClickModel, PredictorEnsemble
from stumpery.encoding.encoder import Encoder
from stumpery.ensembles import LearnerEnsemble
from stumpery.ensembles.batch import BatchEnsemble
from stumpery.policies import ContextualPolicy, Policy
from stumpery.reinforcement import DeepTree
from stumpery.selection import choosers, classifiers
from stumpery.streaming import StreamClassifier, StreamModel, StreamRegressor

ACTIONS = ("a", "b", "c")
FEATURES = {"a": {"kind": "x", "size": 1.3}, "b": {"kind": "y", "size": None}, "c": {"kind": "x", "size": 2.7}}
PREDICTORS = [st.Stump(), st.HashedStump(), (st.RandomHoeffdingTree(grace_period=25, tau=0.2), 2)]


def make_rows(n):
    """Dicts of two numbers, a name and a bit, with gaps."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(n):
        device = ("phone", "desk", "watch", "tv")[rng.integers(4)]
        age, member = float(rng.integers(18, 80)) / 7.0, int(rng.integers(2))
        row = {"x": rng.normal(3.0, 2.0), "age": age, "device": device, "member": member}
        gaps = rng.random(4) < 0.1
        columns = zip(row.items(), gaps, strict=True)
        rows.append({name: None if gap and rows else value for (name, value), gap in columns})
    return rows


def signal(row):
    return 0.7 * (row["device"] == "watch") + 0.1 * (row["age"] or 5.0) + 0.3 * ((row["x"] or 0.0) > 3.0)


ROWS = make_rows(400)
SCHEMA = st.Schema.infer(ROWS, max_names=10)
NUMBERS = [signal(row) + 0.2 * ((7919 * place) % 101 / 101.0 - 0.5) for place, row in enumerate(ROWS)]
CLASSES = ["low" if number < 0.6 else "high" if number > 1.1 else "middle" for number in NUMBERS]
CLICKS = [number > 1.0 for number in NUMBERS]
NO_CONTEXTS = [None] * len(ROWS)
WEIGHTS = [0.7 + place % 5 / 3.0 for place in range(len(ROWS))]
REWARDS = np.array([[number % 1.0, abs(number - 0.5) % 1.0, (3.0 * number) % 1.0] for number in NUMBERS])


def learned(model, labels, weights=None):
    """Guess rows and learn them, some at a time, and guess again."""
    said = []
    for start in range(0, len(ROWS), 40):
        rows = ROWS[start : start + 40]
        said += guessed(model, rows) if start else []
        more = () if weights is None else (weights[start : start + 40],)
        model.learn_many(rows, labels[start : start + 40], *more)
    return [model, *said, *guessed(model, ROWS[:60])]


def guessed(model, rows):
    predicts_probabilities = hasattr(model, "predict_proba_many") and not isinstance(model, StreamRegressor)
    return [model.predict_many(rows), model.predict_proba_many(rows) if predicts_probabilities else None]


def fitted(model, labels):
    """Fit a model to a table and guess its rows."""
    model.fit(ROWS[:160], labels[:160])
    return [model, model.predict(ROWS[100:]), model.predict_proba(ROWS[100:])]


def played(policy, contexts):
    """Decide and learn in the compiled loop, one by one, and many at once."""
    n = len(ROWS) - 30
    seen = contexts[0] is not None
    result = policy.play(contexts[:n] if seen else None, REWARDS[:n])
    said = [result.actions, result.probabilities]
    for place in range(n, n + 15):
        decision = policy.decide(contexts[place], available=["a", "c"] if place % 3 == 0 else None)
        policy.learn(decision, REWARDS[place, ACTIONS.index(decision.action)])
        said += [decision.action, decision.probability]
    many = policy.decide_many(contexts[n + 15 :] if seen else 15)
    policy.learn_many(many, REWARDS[n + 15 :, 1])
    return [policy, *said, list(many.actions), many.probabilities, policy.explain(next(iter(many))).rows]


def picked(selector):
    """Pick one of four candidates and learn from its click."""
    said = []
    for place in range(150):
        decision = selector.decide(ROWS[place : place + 4])
        selector.learn(decision, CLICKS[ROWS.index(decision.context)])
        said += [decision.context, decision.probability]
    return [selector, *said]


def selected(selector):
    """Look at a few features of each event."""
    rows = [{name: row[name] for name in ("x", "age", "member")} for row in ROWS]
    matrix = np.array([list(row.values()) for row in rows], dtype=float)
    rounds = selector.play(matrix[:150], CLICKS[:150])
    for row, click in zip(rows[150:180], CLICKS[150:180], strict=True):
        selector.tell(row, click)
    return [
        selector,
        rounds.predictions,
        rounds.looks,
        selector.ask(),
        [selector.predict_one(row) for row in rows[:30]],
    ]


def chosen(policy):
    """Draw sets and learn from their rewards."""
    said = []
    for place in range(80):
        decision = policy.decide()
        policy.learn(decision, REWARDS[place, 0])
        said.append(decision.actions)
    return [policy, *said]


def summarised(summary, *more):
    summary.add_many([row["x"] or 0.5 for row in ROWS], *more)
    asked = [summary.quantile(0.3), summary.histogram(5)] if isinstance(summary, st.QuantileSummary) else []
    return [summary, *asked]


def counted(sketch):
    sketch.add_many([str(row["device"]) for row in ROWS], CLICKS)
    return [sketch, sketch.class_counts("watch")]


def exact(model):
    """Rows of names alone, for an exact tree; what it finds is a tree of arrays."""
    rows = [{"device": row["device"], "member": str(row["member"])} for row in ROWS]
    model.learn_many(rows, CLASSES)
    return [model, model.value, model.tree(), model.predict_proba_many(rows[:20]), model.tree().predict_many(rows[:20])]


def asked(model):
    """A network in jax, and kernels that ask it."""
    model.learn_many(ROWS, CLASSES)
    return [model, model.tree(), model.predict_proba_many(ROWS[:60])]


OPTIONS = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 2_000_000},
    st.NeuralBandit: {"committee": [(3, 0.1), (4, 0.03)], "gamma": 0.2},
    st.Banditron: {"gamma": 0.2},
    st.BanditStump: {"delta": 1.0, "epsilon": 0.9},
    st.BanditTree: {"delta": 1.0, "epsilon": 0.9, "max_depth": 2},
    st.BanditForest: {"delta": 1.0, "epsilon": 0.9, "n_trees": 3, "max_depth": 2},
    st.ForestClassifier: {"n_models": 3, "delta": 0.3},
    st.ForestRegressor: {"n_models": 3, "delta": 0.3},
    st.DQNTree: {"learning_rate": 0.01, "batch_size": 32},
    st.ActorCriticTree: {"learning_rate": 0.01},
    st.RandomHoeffdingTree: {"grace_period": 25, "tau": 0.2},
}
EXPLORERS = (
    "greedy",
    "uniform",
    "upper_confidence",
    "inverse_gap",
    "beta_thompson",
    "gaussian_thompson",
    "uncertainty_thompson",
)
SELECTORS = (
    (choosers.thompson(), classifiers.SmallNetwork()),
    (choosers.epsilon_greedy(), classifiers.SparsePerceptron()),
    (choosers.ucb(), classifiers.Perceptron()),
    (choosers.worth(), classifiers.AdditiveModel(memory=60)),
)
LEARNER = st.HoeffdingTreeClassifier(grace_period=25, tau=0.2)


def contextual_policies(kind):
    options = {"actions": ACTIONS, "seed": 5, "schema": SCHEMA, **OPTIONS.get(kind, {})}
    yield "", lambda: played(kind(**options), ROWS)
    for explorer in explorers_of(kind):
        yield explorer.kind, lambda explorer=explorer: played(kind(**options, explorer=explorer), ROWS)
    if kind is st.RewardForest:
        yield "features", lambda: played(kind(**options, features=FEATURES), ROWS)


def policies(kind):
    yield "", lambda: played(kind(actions=ACTIONS, seed=5), NO_CONTEXTS)
    for explorer in explorers_of(kind):
        yield (
            explorer.kind,
            lambda explorer=explorer: played(kind(actions=ACTIONS, seed=5, explorer=explorer), NO_CONTEXTS),
        )


def explorers_of(kind):
    field = kind.__dataclass_fields__.get("explorer")
    return [getattr(st.explorers, name)() for name in EXPLORERS] if field and field.init else []


def stream_models(kind):
    is_classifier = issubclass(kind, StreamClassifier)
    labels = CLASSES if is_classifier else NUMBERS
    options = {"grace_period": 25, "tau": 0.2, "seed": 3, **OPTIONS.get(kind, {})}
    yield "", lambda: learned(kind(**options), labels)
    yield (
        "weights, many children",
        lambda: learned(kind(**options, binary_split=False, leaf_prediction="recent"), labels, WEIGHTS),
    )
    if is_classifier:
        yield "Gini", lambda: learned(kind(**options, split_criterion="gini", leaf_prediction="nba"), labels)
        yield "naive Bayes", lambda: learned(kind(**options, leaf_prediction="nb"), labels)


def combinations(kind):
    yield "", lambda: learned(kind(predictors=PREDICTORS, seed=5), CLICKS)


def click_models(kind):
    yield "", lambda: learned(kind(seed=5, **OPTIONS.get(kind, {})), CLICKS)


def learner_ensembles(kind):
    yield "", lambda: learned(kind(models=[LEARNER, st.HoeffdingTreeClassifier(max_depth=0)], seed=3), CLASSES)


def batch_ensembles(kind):
    more = {"models": [LEARNER, LEARNER]} if kind is st.Stacking else {"model": LEARNER, "n_models": 2}
    yield "", lambda: fitted(kind(seed=2, **more), CLICKS)


def deep_trees(kind):
    yield "", lambda: asked(kind(warm_up=60, memory=300, n_cells=4, seed=5, **OPTIONS.get(kind, {})))


def encoders(kind):
    schema = st.Schema.of({"x": "number", "device": "name"}) if kind is st.HashEncoder else SCHEMA
    yield "", lambda: [encoder := kind(schema=schema), encoder.encode_many(ROWS)]


def feature_selectors(kind):
    for chooser, classifier in SELECTORS:
        options = {"chooser": chooser, "classifier": classifier, "classes": (False, True), "seed": 5}
        yield (
            f"{chooser.kind}, {type(classifier).__name__}",
            lambda options=options: selected(kind(features=["x", "age", "member"], n_features=2, **options)),
        )


def others(kind):
    plays = {
        st.ContentSelector: lambda: picked(kind(model=st.Average(predictors=PREDICTORS), seed=3, epsilon=0.1)),
        st.CombinatorialThompson: lambda: chosen(kind(actions=["a", "b", "c", "d"], size=2, seed=3)),
        st.OptimalTree: lambda: exact(kind(depth_penalty=0.01)),
        st.PolicyTree: lambda: [exact(st.OptimalTree(depth_penalty=0.01))[0].tree()],
        st.CountMin: lambda: counted(kind(width=64, depth=4, n_classes=2)),
        st.QuantileSummary: lambda: summarised(kind(max_tuples=30, n_classes=2), CLICKS),
        st.Moments: lambda: summarised(kind()),
        st.Schema: lambda: [SCHEMA],
    }
    if kind not in plays:
        raise TypeError(f"{kind.__name__} is a model, and nothing here plays it")
    yield "", plays[kind]


SORTS = {  # the first that fits
    ContextualPolicy: contextual_policies,
    Policy: policies,
    StreamModel: stream_models,
    PredictorEnsemble: combinations,
    ClickModel: click_models,
    LearnerEnsemble: learner_ensembles,
    BatchEnsemble: batch_ensembles,
    DeepTree: deep_trees,
    Encoder: encoders,
    st.FeatureSelector: feature_selectors,
}


def cases_of(kind):
    """A label and a function for each way in which a public class is played; none for a class that keeps no state."""
    if not hasattr(kind, "from_state"):
        return
    cases = next((cases for sort, cases in SORTS.items() if issubclass(kind, sort)), others)
    for label, play in cases(kind):
        yield f"{kind.__name__} ({label})" if label else kind.__name__, play


def fold(digest, value):
    """Put a value into a digest: its bits, not how it is written."""
    if hasattr(value, "state"):
        fold(digest, list(value.state()))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, dict):
        for name, each in value.items():
            digest.update(f"{name}:".encode())
            fold(digest, each)
    elif isinstance(value, list | tuple | np.ndarray):
        digest.update(f"{len(value)} of".encode())
        for each in value:
            fold(digest, each)
    else:
        digest.update(f"{float(value).hex() if isinstance(value, float | np.floating) else value};".encode())


def digests(label, said):
    """A digest of each array of a model's state, one of its options, and one of all that it said."""
    model, *said = said
    assert getattr(model, "n_leaves", 3) > 2, f"{label} has not grown"
    options, arrays = model.state()
    parts = {"options": options, "said": said, **{f"array {name}": array for name, array in arrays.items()}}
    for part, value in parts.items():
        digest = hashlib.sha256()
        fold(digest, value)
        yield f"{label}: {part}", digest.hexdigest()


def main():
    kinds = [kind for name in st.__all__ if isinstance(kind := getattr(st, name), type)]
    found = {}
    for kind in kinds:
        for label, play in cases_of(kind):
            found.update(digests(label, play()))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
