"""Digests of what every public model says, and of all that it holds, after a short stream; run, it prints them.

`test_modes.py` runs this in one process for each way in which kernels run, and compares; `digests.py` compares the
digests with those of earlier versions. A class that no entry here fits is refused, so that a new model is played, too.
"""

import hashlib
import json

import numpy as np
from tests.contracts.plays import (
    ACTIONS,
    CLASSES,
    CLICKS,
    FEATURES,
    NO_CONTEXTS,
    NUMBERS,
    PREDICTORS,
    ROWS,
    SCHEMA,
    WEIGHTS,
    Said,
    chosen,
    counted,
    encoded,
    exact,
    fitted,
    learned,
    picked,
    played,
    selected,
    summarised,
    trained,
)
from tests.support import public

import stumpery as st
from stumpery.clicks import ClickModel
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.encoding.encoder import Encoder
from stumpery.ensembles import OnlineEnsemble
from stumpery.ensembles.batch_ensemble import BatchEnsemble
from stumpery.policies import ContextualPolicy, Policy
from stumpery.reinforcement import DeepTree
from stumpery.selection import choosers, classifiers
from stumpery.streaming import StreamModel
from stumpery.streaming.classifier import StreamClassifier

OPTIONS = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 2_000_000},
    st.NeuralBandit: {"committee": [(3, 0.1), (4, 0.03)], "gamma": 0.2},
    st.policies.Banditron: {"gamma": 0.2},
    st.policies.BanditStump: {"delta": 1.0, "epsilon": 0.9},
    st.policies.BanditTree: {"delta": 1.0, "epsilon": 0.9, "max_depth": 2},
    st.BanditForest: {"delta": 1.0, "epsilon": 0.9, "n_trees": 3, "max_depth": 2},
    st.ForestClassifier: {"n_models": 3, "delta": 0.3},
    st.ForestRegressor: {"n_models": 3, "delta": 0.3},
    st.DQNTree: {"learning_rate": 0.01, "batch_size": 32},
    st.reinforcement.ActorCriticTree: {"learning_rate": 0.01},
    st.clicks.RandomHoeffdingTree: {"grace_period": 25, "tau": 0.2},
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
    (choosers.loss_reduction(), classifiers.AdditiveModel(memory=60)),
)
LEARNER = st.HoeffdingTreeClassifier(grace_period=25, tau=0.2)


def contextual_policies(kind):
    options = {"actions": ACTIONS, "seed": 5, "schema": SCHEMA, **OPTIONS.get(kind, {})}
    yield "", lambda: played(kind(**options), ROWS)
    for name, explorer in explorers_of(kind).items():
        yield name, lambda explorer=explorer: played(kind(**options, explorer=explorer), ROWS)
    if kind is st.RewardForest:
        yield "features", lambda: played(kind(**options, features=FEATURES), ROWS)


def policies(kind):
    yield "", lambda: played(kind(actions=ACTIONS, seed=5), NO_CONTEXTS)
    for name, explorer in explorers_of(kind).items():
        yield name, lambda explorer=explorer: played(kind(actions=ACTIONS, seed=5, explorer=explorer), NO_CONTEXTS)


def explorers_of(kind):
    field = kind.__dataclass_fields__.get("explorer")
    return {name: getattr(st.explorers, name)() for name in EXPLORERS} if field and field.init else {}


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


def ensembles(kind):
    yield "", lambda: learned(kind(predictors=PREDICTORS, seed=5), CLICKS)


def click_models(kind):
    yield "", lambda: learned(kind(seed=5, **OPTIONS.get(kind, {})), CLICKS)


def online_ensembles(kind):
    yield "", lambda: learned(kind(models=[LEARNER, st.HoeffdingTreeClassifier(max_depth=0)], seed=3), CLASSES)


def batch_ensembles(kind):
    more = {"models": [LEARNER, LEARNER]} if kind is st.ensembles.Stacking else {"model": LEARNER, "n_models": 2}
    yield "", lambda: fitted(kind(seed=2, **more), CLICKS)


def deep_trees(kind):
    yield "", lambda: trained(kind(warm_up=60, memory=300, n_cells=4, seed=5, **OPTIONS.get(kind, {})))


def encoders(kind):
    schema = st.Schema.of({"x": "numerical", "device": "categorical"}) if kind is st.encoding.HashEncoder else SCHEMA
    yield "", lambda: encoded(kind(schema=schema))


def feature_selectors(kind):
    for chooser, classifier in SELECTORS:
        options = {"chooser": chooser, "classifier": classifier, "classes": (False, True), "seed": 5}
        yield (
            f"{chooser.kind}, {type(classifier).__name__}",
            lambda options=options: selected(kind(features=["x", "age", "member"], n_features=2, **options)),
        )


def others(kind):
    plays = {
        st.ContentSelector: lambda: picked(kind(model=st.clicks.Average(predictors=PREDICTORS), seed=3, epsilon=0.1)),
        st.selection.CombinatorialThompson: lambda: chosen(kind(actions=["a", "b", "c", "d"], size=2, seed=3)),
        st.reinforcement.OptimalTree: lambda: exact(kind(depth_penalty=0.01)),
        st.reinforcement.PolicyTree: lambda: exact(st.reinforcement.OptimalTree(depth_penalty=0.01)),
        st.summaries.CountMin: lambda: counted(kind(width=64, depth=4, n_classes=2)),
        st.summaries.QuantileSummary: lambda: summarised(kind(max_tuples=30, n_classes=2), CLICKS),
        st.summaries.Moments: lambda: summarised(kind()),
        st.Schema: lambda: Said([SCHEMA], [], []),
    }
    if kind not in plays:
        raise TypeError(f"{kind.__name__} is a model, and nothing here plays it")
    yield "", plays[kind]


SORTS = {  # the first that fits
    ContextualPolicy: contextual_policies,
    Policy: policies,
    StreamModel: stream_models,
    PredictorEnsemble: ensembles,
    ClickModel: click_models,
    OnlineEnsemble: online_ensembles,
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
    if isinstance(value, np.ndarray) and value.dtype != object:
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


def digest_of(value):
    digest = hashlib.sha256()
    fold(digest, value)
    return digest.hexdigest()


def arrays_of(said):
    """The saved arrays of all models, in order."""
    return [array for model in said.models for array in model.state().arrays.values()]


def parts_of(said):
    """A digest of each array, of the options, and of all that was said."""
    arrays = {f"array {place}": array for place, array in enumerate(arrays_of(said))}
    options = [model.state().options for model in said.models]
    parts = {**arrays, "options": options, "decisions": said.decisions, "probabilities": said.probabilities}
    parts["explained"] = said.explained
    return {part: digest_of(value) for part, value in parts.items()}


def all_cases():
    """A label and a function for each way in which any public class is played."""
    kinds = [kind for name in public.__all__ if isinstance(kind := getattr(public, name), type)]
    for kind in kinds:
        yield from cases_of(kind)


def main():
    found = {}
    for label, play in all_cases():
        said = play()
        assert getattr(said.models[0], "n_leaves", 3) > 2, f"{label} has not grown"
        found |= {f"{label}: {part}": digest for part, digest in parts_of(said).items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
