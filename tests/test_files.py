"""Save and load: nothing is lost, nothing is run, and no other file is taken for one of ours."""

import inspect
import json
import os
import pickle
import stat
import threading
from fractions import Fraction
from pathlib import Path
from typing import get_overloads, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from safetensors import safe_open
from safetensors.numpy import save as serialise
from tests.support import assert_same_state, names_in, public, run

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.policies import ContextualPolicy
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE, EVENT_ACTION, EVENT_REWARD, FLOAT
from stumpery.saving import files, former_names
from stumpery.saving.saveable import Saveable, restore
from stumpery.types import State

ACTIONS = ["a", "b", "c"]
ROWS = [{"age": 20 + number % 7, "device": ["phone", "desktop", None][number % 3]} for number in range(30)]
REWARDS = (np.arange(600).reshape(200, 3) * 7919 % 101) / 100.0
CONTEXTS = [ROWS[number % 30] for number in range(200)]
SCHEMA = st.Schema.infer(ROWS, max_categories=5)
PREDICTORS = [
    st.clicks.Stump(),
    st.clicks.HashedStump(n_hashes=2),
    (st.clicks.RandomHoeffdingTree(grace_period=20, max_leaves=2), 2),
]
COMBINED = {"predictors": PREDICTORS, "schema": SCHEMA, "seed": 5}


def a_policy_tree():
    model = st.reinforcement.OptimalTree(depth_penalty=0.02)
    model.learn_many(ROWS, [number % 2 for number in range(30)])
    return model.tree()


BUILDERS = {
    "ActorCriticTree": lambda: st.reinforcement.ActorCriticTree(warm_up=50, memory=60, schema=SCHEMA, seed=5),
    "Average": lambda: st.clicks.Average(**COMBINED),
    "ContentSelector": lambda: st.ContentSelector(model=st.clicks.Average(**COMBINED), epsilon=0.1, seed=5),
    "CountMin": lambda: st.summaries.CountMin(width=4, depth=2),
    "WeightedPredictors": lambda: st.clicks.WeightedPredictors(**COMBINED, eta=0.5),
    "HashEncoder": lambda: st.encoding.HashEncoder(schema=st.Schema.infer(ROWS)),
    "HashedStump": lambda: st.clicks.HashedStump(schema=SCHEMA, n_hashes=2),
    "LinearRanker": lambda: st.clicks.LinearRanker(**COMBINED),
    "LogOdds": lambda: st.clicks.LogOdds(
        predictors=[(st.clicks.UnivariateTree(categories=True), 3)], schema=SCHEMA, thin=3
    ),
    "OneRule": lambda: st.clicks.OneRule(schema=SCHEMA, max_tuples=4, binary=True),
    "OneVersusAll": lambda: st.clicks.OneVersusAll(schema=SCHEMA, m=5.0),
    "BaggedPredictors": lambda: st.clicks.BaggedPredictors(**COMBINED),
    "QuantileSummary": lambda: st.summaries.QuantileSummary(max_tuples=5),
    "RandomHoeffdingTree": lambda: st.clicks.RandomHoeffdingTree(schema=SCHEMA, grace_period=20, max_leaves=2, seed=5),
    "Stump": lambda: st.clicks.Stump(schema=SCHEMA, column="age"),
    "UnivariateTree": lambda: st.clicks.UnivariateTree(schema=SCHEMA, min_samples_split=20, max_leaves=5),
    "BanditForest": lambda: st.BanditForest(actions=ACTIONS, schema=SCHEMA, n_trees=3, max_bytes=20_000, seed=5),
    "BanditStump": lambda: st.policies.BanditStump(actions=ACTIONS, schema=SCHEMA, epsilon=0.9, delta=1.0),
    "BanditTree": lambda: st.policies.BanditTree(
        actions=ACTIONS, schema=SCHEMA, epsilon=0.9, delta=1.0, max_bytes=20_000
    ),
    "Banditron": lambda: st.policies.Banditron(actions=ACTIONS, schema=SCHEMA, gamma=0.3, seed=5),
    "BitEncoder": lambda: st.encoding.BitEncoder(schema=st.Schema.infer(ROWS), indicators=True),
    "CodeEncoder": lambda: st.encoding.CodeEncoder(schema=st.Schema.infer(ROWS), n_bins=4),
    "CombinatorialThompson": lambda: st.selection.CombinatorialThompson(
        actions=ACTIONS, size=2, prior=(2.0, 1.0), seed=5
    ),
    "DQNTree": lambda: st.DQNTree(warm_up=50, memory=60, batch_size=16, schema=SCHEMA, seed=5),
    "EpsilonGreedy": lambda: st.EpsilonGreedy(actions=ACTIONS, epsilon=0.2, decay=0.3, seed=5),
    "FeatureSelector": lambda: st.FeatureSelector(
        features=ACTIONS,
        n_features=2,
        chooser=st.selection.choosers.thompson(),
        classifier=st.selection.classifiers.SmallNetwork(),
        prices={"a": 1.0, "b": 2.0, "c": 3.0},
        seed=5,
    ),
    "Greedy": lambda: st.policies.Greedy(actions=ACTIONS, initial=0.4),
    "LinUCB": lambda: st.LinUCB(actions=ACTIONS, schema=SCHEMA, alpha=0.5, seed=5),
    "LinearPolicy": lambda: st.policies.LinearPolicy(
        actions=ACTIONS, schema=SCHEMA, explorer=st.explorers.inverse_gap(scale=20)
    ),
    "LinearThompson": lambda: st.LinearThompson(actions=ACTIONS, schema=SCHEMA, scale=0.3, ridge=2.0, seed=5),
    "MeansPolicy": lambda: st.policies.MeansPolicy(
        actions=ACTIONS, explorer=st.explorers.inverse_gap(scale=20), seed=5
    ),
    "Moments": st.summaries.Moments,
    "NeuralBandit": lambda: st.NeuralBandit(actions=ACTIONS, schema=SCHEMA, committee=[(2, 0.1), (3, 0.01)], seed=5),
    "OptimalTree": lambda: st.reinforcement.OptimalTree(depth_penalty=0.02),
    "PolicyTree": a_policy_tree,
    "RandomPolicy": lambda: st.policies.RandomPolicy(actions=ACTIONS, seed=5),
    "RewardForest": lambda: st.RewardForest(actions=ACTIONS, schema=SCHEMA, n_trees=3, max_bytes=200_000, seed=5),
    "Schema": lambda: st.Schema.infer(ROWS),
    "SuccessiveElimination": lambda: st.SuccessiveElimination(actions=ACTIONS, explore="drawn", epsilon=0.1),
    "ThompsonSampling": lambda: st.ThompsonSampling(actions=ACTIONS, prior=(2.0, 1.0), seed=5),
    "UCB": lambda: st.UCB(actions=ACTIONS, reward_range=(-1.0, 2.0), seed=5),
    "OnlineBagging": lambda: st.ensembles.OnlineBagging(
        models=[st.HoeffdingTreeClassifier(grace_period=20), st.clicks.Stump()], seed=5
    ),
    "AdaBoost": lambda: st.ensembles.AdaBoost(n_models=2),
    "Bagging": lambda: st.ensembles.Bagging(model=st.HoeffdingTreeClassifier(grace_period=20), n_models=2),
    "Stacking": lambda: st.ensembles.Stacking(models=[st.HoeffdingTreeClassifier(grace_period=20)], n_folds=2),
    "ForestClassifier": lambda: st.ForestClassifier(n_models=3, grace_period=20, max_bytes=2_000_000, seed=5),
    "ForestRegressor": lambda: st.ForestRegressor(n_models=3, grace_period=20, max_bytes=2_000_000, seed=5),
    "HoeffdingTreeClassifier": lambda: st.HoeffdingTreeClassifier(grace_period=20, max_bytes=2_000_000),
    "HoeffdingTreeRegressor": lambda: st.HoeffdingTreeRegressor(grace_period=20, max_bytes=2_000_000),
    "OnlineBoosting": lambda: st.ensembles.OnlineBoosting(
        models=[st.HoeffdingTreeClassifier(grace_period=20)] * 2, seed=5
    ),
    "OnlineStacking": lambda: st.ensembles.OnlineStacking(models=[st.HoeffdingTreeClassifier(grace_period=20)] * 2),
    "Voting": lambda: st.ensembles.Voting(models=[st.HoeffdingTreeClassifier(grace_period=20)] * 2),
    "ExponentialWeights": lambda: st.ensembles.ExponentialWeights(
        models=[st.HoeffdingTreeClassifier(grace_period=20)] * 2
    ),
    "VectorEncoder": lambda: st.encoding.VectorEncoder(schema=st.Schema.infer(ROWS), one_hot=True),
}
KINDS = sorted(
    name
    for name in public.__all__
    if inspect.isclass(getattr(public, name)) and hasattr(getattr(public, name), "from_state")
)
POLICIES = [kind for kind in KINDS if hasattr(getattr(public, kind), "add_action")]


def use(model, part=slice(None)):
    """Let a model see something; give what it answers."""
    if isinstance(model, st.FeatureSelector):
        return model.play(REWARDS[part], REWARDS[part].argmax(axis=1) % 2).predictions.tolist()
    if isinstance(model, st.selection.CombinatorialThompson):
        decisions = []
        for reward in REWARDS[part, 0].tolist():
            decisions.append(model.decide().actions)
            model.learn(decisions[-1], reward)
        return decisions
    if hasattr(model, "play"):
        played = model.play(CONTEXTS[part] if isinstance(model, ContextualPolicy) else None, REWARDS[part])
        return [played.actions.tolist(), played.probabilities.tolist()]
    if hasattr(model, "score_many"):
        model.learn_many(CONTEXTS[part], REWARDS[part, 0] > 0.5)
        return model.score_many(ROWS).tolist()
    if isinstance(model, st.reinforcement.PolicyTree):
        return model.predict_many(ROWS).tolist()
    if hasattr(model, "learn_many"):
        model.learn_many(CONTEXTS[part], (REWARDS[part, 0] > 0.5).astype(int))
        return np.asarray(model.predict_many(ROWS)).tolist()
    if hasattr(model, "fit"):
        return model.fit(CONTEXTS[part], (REWARDS[part, 0] > 0.5).astype(int)).predict_proba(ROWS).tolist()
    if isinstance(model, st.ContentSelector):
        decisions = [model.decide(ROWS[:3]) for _ in CONTEXTS[part]]
        for decision, reward in zip(decisions, REWARDS[part, 0], strict=True):
            model.learn(decision, click=reward > 0.5)
        return [tuple(decision) for decision in decisions]
    if hasattr(model, "add_many"):
        return model.add_many((REWARDS[part, 0] * 100).astype(int))
    if hasattr(model, "encode_many"):
        return np.nan_to_num(model.encode_many(ROWS), nan=-1.0).tolist()
    return model.kinds


def saved(model, folder):
    path = folder / "model.safetensors"
    st.save(model, path)
    return path


def forged(folder, kind, *, options=None, arrays=None, drop=(), header=None):
    """A file like ours with some parts replaced, and a digest that fits unless the header brings another."""
    state = BUILDERS[kind]().state()
    options = json.loads(json.dumps({**state.options, **(options or {})}))
    for name in drop:
        options.pop(name, None)
    kept = {name: array for name, array in {**state.arrays, **(arrays or {})}.items() if name not in drop}
    content = {"format": files.FORMAT, "version": "0.1.0", "kind": kind, "options": options, "packed": {}}
    content |= {name: value for name, value in (header or {}).items() if name != "digest"}
    content["digest"] = (header or {}).get("digest", files._digest(content, kept))
    path = folder / "forged.safetensors"
    path.write_bytes(serialise(kept, metadata={"stumpery": json.dumps(content)}))
    return path


def refusal(path):
    """The sentence with which a file is refused."""
    with pytest.raises(st.StumperyError, match=r".+") as error:
        st.load(path)
    sentence = str(error.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence


def test_every_public_class_that_can_be_saved_is_tested_here():
    assert sorted(BUILDERS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_equals_what_was_saved(kind, tmp_path):
    model = BUILDERS[kind]()
    use(model)
    loaded = st.load(saved(model, tmp_path))
    assert type(loaded) is type(model)
    assert_same_state(model, loaded)
    assert names_in(tmp_path) == ["model.safetensors"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_goes_on_as_if_never_stopped(kind, tmp_path):
    stopped, steady = BUILDERS[kind](), BUILDERS[kind]()
    use(stopped, slice(0, 77))
    resumed = st.load(saved(stopped, tmp_path))
    use(steady, slice(0, 77))
    assert use(resumed, slice(77, None)) == use(steady, slice(77, None))
    assert_same_state(resumed, steady)


@pytest.mark.parametrize("kind", POLICIES)
def test_actions_added_and_removed_before_saving_are_remembered(kind, tmp_path):
    policy = BUILDERS[kind]()
    policy.add_action("d")
    policy.remove_action("a")
    loaded = st.load(saved(policy, tmp_path))
    assert tuple(loaded.actions) == ("b", "c", "d")
    assert use(loaded) == use(policy)


def test_a_loaded_model_shares_nothing_with_its_file(tmp_path):
    path = saved(BUILDERS["UCB"](), tmp_path)
    policy = st.load(path)
    content = path.read_bytes()
    use(policy)
    assert path.read_bytes() == content
    path.unlink()
    use(policy)


def test_the_header_is_versioned_json(tmp_path):
    with safe_open(saved(st.summaries.Moments(), tmp_path), framework="numpy") as file:
        header = json.loads(file.metadata()["stumpery"])
    assert (header["format"], header["kind"], header["options"]) == (files.FORMAT, "Moments", {})
    assert header["version"] == st.__version__
    assert len(header["digest"]) == 64


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    actions=some.lists(
        some.text(max_size=5) | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.booleans(),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    seed=some.integers(0, 2**63 - 1),
    low=some.floats(-1e9, 1e9),
    rho=some.floats(0, 1e300),
)
def test_options_of_every_value_survive(tmp_path_factory, actions, seed, low, rho):
    policy = st.UCB(actions=actions, seed=seed, reward_range=(low, low + 1e6), rho=rho)
    loaded = st.load(saved(policy, tmp_path_factory.mktemp("saved")))
    assert repr(loaded) == repr(policy)
    assert loaded.decide() == policy.decide()


@pytest.mark.parametrize("number", [np.int64(7), np.float32(2.0), np.float64(2.0), Fraction(3, 2)])
def test_options_of_numpy_and_other_number_types_are_saved(tmp_path, number):
    policy = st.UCB(actions=[np.int64(1), np.str_("b")], rho=number, seed=np.int64(7))
    loaded = st.load(saved(policy, tmp_path))
    assert loaded.rho == number
    assert use_short(loaded) == use_short(policy)


def use_short(policy):
    return [policy.decide() for _ in range(5)]


@pytest.mark.parametrize("option", [float("inf"), float("nan"), object(), {1, 2}, 1j])
def test_a_model_that_json_cannot_hold_is_not_saved(tmp_path, monkeypatch, option):
    monkeypatch.setattr(st.summaries.Moments, "state", lambda summary: State({"option": option}, {}))
    with pytest.raises(ValueError, match=r"^this Moments cannot be saved: "):
        st.save(st.summaries.Moments(), tmp_path / "model")
    assert names_in(tmp_path) == []


class Homemade(st.UCB):
    """A user's own policy, which no loader would find."""


@pytest.mark.parametrize(
    "thing", [None, 3, {"a": 1}, st.UCB, st.load, Homemade(actions=ACTIONS), st.Decision("a", 1.0)]
)
def test_only_models_are_saved(tmp_path, thing):
    with pytest.raises(ValueError, match="model"):
        st.save(thing, tmp_path / "model")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_is_refused(kind, tmp_path):
    path = saved(BUILDERS[kind](), tmp_path)
    content = path.read_bytes()
    lengths = {*range(24), *range(24, len(content), 1 + len(content) // 60), len(content) - 1}
    for length in sorted(lengths):
        path.write_bytes(content[:length])
        refusal(path)


def test_a_file_with_more_at_its_end_is_refused(tmp_path):
    path = saved(BUILDERS["UCB"](), tmp_path)
    path.write_bytes(path.read_bytes() + b"\0")
    refusal(path)


@pytest.mark.parametrize("kind", ["Moments", "SuccessiveElimination", "Schema"])
def test_any_flipped_byte_is_refused(kind, tmp_path):
    model = BUILDERS[kind]()
    use(model)
    path = saved(model, tmp_path)
    content = path.read_bytes()
    for place in range(0, len(content), 1 + len(content) // 150):
        flipped = bytearray(content)
        flipped[place] ^= 0x15
        path.write_bytes(flipped)
        refusal(path)


def test_a_flipped_byte_in_the_data_is_named_damage(tmp_path):
    path = saved(BUILDERS["UCB"](), tmp_path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert "is damaged: its content is not what was saved" in refusal(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"\xff" * 100,
        np.random.default_rng(7).bytes(5000),
        b'{"stumpery": {"format": 1}}',
        pickle.dumps({"format": 1}),
        b"PK\x03\x04" + b"\0" * 50,
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (4).to_bytes(8, "little") + b"null",
        (50).to_bytes(8, "little") + b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
    ],
    ids=["empty", "zeros", "ones", "random", "json", "pickle", "zip", "huge", "bare", "null", "short"],
)
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    refusal(path)


def test_a_foreign_safetensors_file_is_named_so(tmp_path):
    path = tmp_path / "weights.safetensors"
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(serialise({"weight": np.zeros(3)}, metadata=metadata))
        assert refusal(path).endswith("is a safetensors file, but not one of Stumpery's")


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "null", "3", '"x"', "{", "9" * 5000])
def test_a_header_that_is_no_json_object_is_refused(tmp_path, text):
    path = tmp_path / "model"
    path.write_bytes(serialise({"row": np.zeros(3)}, metadata={"stumpery": text}))
    refusal(path)


def test_a_missing_file_and_a_folder_are_no_files(tmp_path):
    for path in (tmp_path / "missing", tmp_path / "no" / "folder", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"^there is no file "):
            st.load(path)


@pytest.mark.parametrize("number", [4, 99, 0, None, "1", [1], {}, True, 2.0])
def test_another_format_is_refused_and_named(tmp_path, number):
    sentence = refusal(forged(tmp_path, "Moments", header={"format": number, "version": "9.9"}))
    assert f"has format {number!r} and was written by Stumpery '9.9'" in sentence


@pytest.mark.parametrize("kind", ["Unheard", "load", "encoding", "Decision", "__all__", "os", "", "Moments.add"])
def test_a_kind_that_is_no_model_is_refused(tmp_path, kind):
    assert "has no model of the kind" in refusal(forged(tmp_path, "Moments", header={"kind": kind}))


@pytest.mark.parametrize("header", [{"kind": None}, {"kind": 3}, {"kind": ["UCB"]}, {"options": []}, {"options": None}])
def test_a_header_that_names_no_model_is_refused(tmp_path, header):
    assert "its header has no kind of model" in refusal(forged(tmp_path, "Moments", header=header))


@pytest.mark.parametrize("digest", [None, "", "0" * 64, 7])
def test_a_wrong_digest_is_refused(tmp_path, digest):
    assert "is not what was saved" in refusal(forged(tmp_path, "Moments", header={"digest": digest}))


def arms(**places):
    """Three actions' moments, each with two plays, some of them replaced."""
    table = np.array([[2.0, 0.5, 0.5]] * 3)
    table[1] = [places.get("count", 2.0), places.get("mean", 0.5), places.get("squares", 0.5)]
    return {"arms": table}


HOSTILE_ARRAYS = {
    "another type": ("UCB", {"arms": np.zeros((3, 3), np.float32)}),
    "integers": ("UCB", {"rng": np.ones(4, np.int64)}),
    "another shape": ("UCB", {"arms": np.zeros((4, 3))}),
    "fewer dimensions": ("Moments", {"row": np.zeros(3)}),
    "no elements": ("Moments", {"row": np.zeros((0, 3))}),
    "half floats": ("Moments", {"row": np.zeros((1, 3), np.float16)}),
    "one array more": ("UCB", {"more": np.zeros(3)}),
    "random state of zeros": ("UCB", {"rng": np.zeros(4, np.uint64)}),
    "count is not a number": ("UCB", arms(count=np.nan)),
    "count is infinite": ("UCB", arms(count=np.inf)),
    "negative plays": ("UCB", arms(count=-1.0)),
    "mean is not a number": ("ThompsonSampling", arms(mean=np.nan)),
    "negative squares": ("UCB", arms(squares=-1.0)),
    "mean without plays": ("UCB", arms(count=0.0)),
    "negative clock": ("UCB", {"clock": np.array([-1.0])}),
    "clock is not a number": ("UCB", {"clock": np.array([np.nan])}),
    "turn out of range": ("SuccessiveElimination", {"clock": np.array([3.0, 0.0])}),
    "turn negative": ("SuccessiveElimination", {"clock": np.array([-1.0, 0.0])}),
    "turn between two": ("SuccessiveElimination", {"clock": np.array([0.5, 0.0])}),
    "turn is infinite": ("SuccessiveElimination", {"clock": np.array([np.inf, 0.0])}),
    "turn is not a number": ("SuccessiveElimination", {"clock": np.array([np.nan, 0.0])}),
    "nobody remains": ("SuccessiveElimination", {"remaining": np.zeros(3, np.bool_)}),
    "neither true nor false": ("SuccessiveElimination", {"remaining": np.full(3, 2, np.uint8).view(np.bool_)}),
    "points not ascending": ("Schema", {"points": np.arange(30.0)[::-1].copy()}),
    "points not numbers": ("Schema", {"points": np.full(30, np.nan)}),
    "too few points": ("Schema", {"points": np.arange(3.0)}),
    "too many points": ("CodeEncoder", {"points": np.arange(50.0)}),
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_arrays_that_no_stream_leaves_are_refused_though_the_digest_fits(name, tmp_path):
    kind, arrays = HOSTILE_ARRAYS[name]
    assert f"does not hold a usable {kind}: " in refusal(forged(tmp_path, kind, arrays=arrays))


def test_a_clock_without_end_is_refused(tmp_path):
    refusal(forged(tmp_path, "UCB", arrays={"clock": np.array([np.inf])}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_array_is_refused(kind, tmp_path):
    for name in BUILDERS[kind]().state().arrays:
        refusal(forged(tmp_path, kind, drop=[name]))


HOSTILE_OPTIONS = {
    "seed is a text": ("UCB", {"seed": "7"}),
    "seed is negative": ("UCB", {"seed": -1}),
    "seed is a list": ("UCB", {"seed": [1]}),
    "rho is not a number": ("UCB", {"rho": float("nan")}),
    "rho is infinite": ("UCB", {"rho": float("inf")}),
    "rho is beyond all floats": ("UCB", {"rho": 10**400}),
    "rho is an object": ("UCB", {"rho": {}}),
    "an unknown option": ("UCB", {"more": 1}),
    "an option that is not one": ("UCB", {"explorer": {"kind": "greedy"}}),
    "no actions": ("UCB", {"actions": []}),
    "actions is a text": ("UCB", {"actions": "abc"}),
    "actions is null": ("UCB", {"actions": None}),
    "an action is a list": ("UCB", {"actions": ["a", ["b"], "c"]}),
    "an action is null": ("UCB", {"actions": ["a", None, "c"]}),
    "an action twice": ("UCB", {"actions": ["a", "a", "c"]}),
    "one action more": ("UCB", {"actions": ["a", "b", "c", "d"]}),
    "reward_range upside down": ("UCB", {"reward_range": [1, 0]}),
    "reward_range of three": ("UCB", {"reward_range": [0, 1, 2]}),
    "reward_range of texts": ("UCB", {"reward_range": ["a", "b"]}),
    "reward_range beyond all floats": ("UCB", {"reward_range": [0, 10**400]}),
    "initial is a text": ("Greedy", {"initial": "x"}),
    "explorer is a text": ("MeansPolicy", {"explorer": "greedy"}),
    "explorer is null": ("MeansPolicy", {"explorer": None}),
    "explorer is a list": ("MeansPolicy", {"explorer": [1]}),
    "explorer of an unknown kind": ("MeansPolicy", {"explorer": {"kind": "x"}}),
    "explorer's kind is an object": ("MeansPolicy", {"explorer": {"kind": {}}}),
    "explorer's prior is a number": ("MeansPolicy", {"explorer": {"kind": "greedy", "prior": 3}}),
    "prior is negative": ("ThompsonSampling", {"prior": [-1, 1]}),
    "prior is a text": ("ThompsonSampling", {"prior": "ab"}),
    "posterior is unknown": ("ThompsonSampling", {"posterior": ["beta"]}),
    "delta is zero": ("SuccessiveElimination", {"delta": 0}),
    "epsilon is true": ("SuccessiveElimination", {"epsilon": True}),
    "columns is null": ("Schema", {"columns": None}),
    "columns of numbers": ("Schema", {"columns": [1, 2]}),
    "no columns": ("Schema", {"columns": []}),
    "a column without a kind": ("Schema", {"columns": [{"name": "x"}]}),
    "a column of an unknown kind": ("Schema", {"columns": [{"kind": "load", "name": "x"}]}),
    "more points than there are": (
        "Schema",
        {"columns": [{"kind": "numerical", "name": "x", "n_points": 10**18, "given": False}]},
    ),
    "a negative number of points": (
        "Schema",
        {"columns": [{"kind": "numerical", "name": "x", "n_points": -1, "given": False}]},
    ),
    "schema is null": ("BitEncoder", {"schema": None}),
    "schema is a list": ("VectorEncoder", {"schema": []}),
    "n_bins is a text": ("CodeEncoder", {"n_bins": "4"}),
    "n_bins is huge": ("CodeEncoder", {"n_bins": 10**9}),
    "a summary with options": ("Moments", {"x": 1}),
    "a set larger than all": ("CombinatorialThompson", {"size": 4}),
    "a maximiser of an unknown kind": ("CombinatorialThompson", {"size": None, "maximiser": {"kind": "os"}}),
    "features without number": ("FeatureSelector", {"features": 10**9}),
    "a classifier of an unknown kind": ("FeatureSelector", {"classifier": {"kind": "os", "options": {}}}),
    "a classifier with a wrong option": ("FeatureSelector", {"classifier": {"kind": "Perceptron", "rate": -1}}),
    "a chooser of an unknown kind": ("FeatureSelector", {"chooser": {"kind": "os"}}),
    "prices for nothing": ("FeatureSelector", {"prices": [["z", 1]]}),
}


@pytest.mark.parametrize("name", HOSTILE_OPTIONS)
def test_options_that_do_not_fit_are_refused_though_the_digest_fits(name, tmp_path):
    kind, options = HOSTILE_OPTIONS[name]
    assert f"does not hold a usable {kind}: " in refusal(forged(tmp_path, kind, options=options))


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_any_other_type_never_crash(kind, tmp_path):
    for name in BUILDERS[kind]().state().options:
        for value in (None, True, -1, 0.5, "x", "", [], [[]], {}, {"a": 1}, 10**400, float("nan")):
            try:
                use(st.load(forged(tmp_path, kind, options={name: value})))
            except ValueError as error:
                assert "\n" not in str(error)


@pytest.fixture(scope="module")
def forest():
    """The state of a reward forest whose trees have split and whose leaves have chains of blocks."""
    policy = BUILDERS["RewardForest"]()
    pays = [[row["device"] == "phone", row["age"] > 23, False] for row in CONTEXTS]
    for _ in range(4):
        policy.play([{**row, "age": row["age"] + 0.5} for row in CONTEXTS], np.array(pays, dtype=float))
    assert policy._arena.state.ring.widths.tolist() == [FLOAT, BYTE]
    assert policy.n_leaves > policy.n_trees
    return policy.state()


def put(array, place, value):
    """A change of one number in one array of a state."""

    def change(arrays):
        arrays[array][place] = value

    return change


def put_event(kind, place, value):
    """A change of one number of the first event."""

    def change(arrays):
        arrays["ring.bytes"].view(kind)[0, place] = value

    return change


def first_inner(arrays):
    """The first node that is no leaf, and its left child."""
    children = arrays["forest.nodes"][: arrays["forest.counters"][trees.COUNTER_NODES], trees.NODE_CHILD]
    node = int(np.flatnonzero(children != np.arange(len(children)))[0])
    return node, int(children[node])


def put_inner(word, value):
    """A change of a word of the first node that is no leaf."""

    def change(arrays):
        node, _ = first_inner(arrays)
        arrays["forest.nodes"][node, word] = value(arrays) if callable(value) else value

    return change


def put_leaf(word, value):
    """A change of a word of the leaf with the most events."""

    def change(arrays):
        leaves = arrays["forest.leaves"]
        leaf = leaves[:, trees.LEAF_N_EVENTS].argmax()
        leaves[leaf, word] = value(arrays) if callable(value) else value

    return change


def put_last_leaf(value):
    """A change of the number of the leaf that the last node is."""

    def change(arrays):
        arrays["forest.nodes"][n_nodes(arrays) - 1, trees.NODE_LEAF] = value

    return change


def put_block(place, value):
    """A change of the newest block of the leaf with the most events."""

    def change(arrays):
        leaves = arrays["forest.leaves"]
        head = leaves[leaves[:, trees.LEAF_N_EVENTS].argmax(), trees.LEAF_BLOCK]
        arrays["forest.blocks"][head, place] = head if value is None else value

    return change


def loop_of_two_blocks(arrays):
    leaves, blocks = arrays["forest.leaves"], arrays["forest.blocks"]
    head = leaves[leaves[:, trees.LEAF_N_EVENTS].argmax(), trees.LEAF_BLOCK]
    assert blocks[head, 0] != trees.NO_INDEX
    blocks[blocks[head, 0], 0] = head


def child_points_back(arrays):
    node, child = first_inner(arrays)
    arrays["forest.nodes"][child, trees.NODE_CHILD] = node


def two_nodes_one_leaf(arrays):
    nodes = arrays["forest.nodes"]
    ends = [node for node in range(n_nodes(arrays)) if nodes[node, trees.NODE_CHILD] == node]
    nodes[ends[0], trees.NODE_LEAF] = nodes[ends[1], trees.NODE_LEAF]


def free(*pairs):
    """A chain of free pairs after the nodes that there are, each given by how far it is from their end."""

    def change(arrays):
        counters, end = arrays["forest.counters"], n_nodes(arrays)
        counters[trees.COUNTER_NODES] = end + 1 + max(pairs, default=-1)
        counters[trees.COUNTER_FREE_PAIR] = end + pairs[0]
        for pair, after in zip(pairs, [*pairs[1:], None], strict=True):
            arrays["forest.nodes"][end + pair, trees.NODE_CHILD] = trees.NO_INDEX if after is None else end + after

    return change


def n_nodes(arrays):
    return int(arrays["forest.counters"][trees.COUNTER_NODES])


NAN = float("nan")
HOSTILE_FORESTS = {
    "a child that is its own ancestor": child_points_back,
    "a node that is its own right child": put_inner(trees.NODE_CHILD, lambda arrays: first_inner(arrays)[0] - 1),
    "a child beyond the nodes": put_inner(trees.NODE_CHILD, n_nodes),
    "a right child beyond the nodes": put_inner(trees.NODE_CHILD, lambda arrays: n_nodes(arrays) - 1),
    "a negative child": put_inner(trees.NODE_CHILD, -5),
    "a column beyond the last": put_inner(trees.NODE_COLUMN, 2),
    "a name beyond the last": put_inner(trees.NODE_COLUMN, -3),
    "a number asked for its name": put_inner(trees.NODE_COLUMN, ~0),
    "a leaf's number beyond the leaves": put_last_leaf(2**30),
    "a leaf's number that is negative": put_last_leaf(-1),
    "two nodes that are one leaf": two_nodes_one_leaf,
    "a leaf of no node": put_leaf(trees.LEAF_NODE, n_nodes),
    "a leaf of an inner node": put_leaf(trees.LEAF_NODE, lambda arrays: first_inner(arrays)[0]),
    "a block that follows itself": put_block(0, None),
    "two blocks that follow each other": loop_of_two_blocks,
    "a block beyond the last": put_block(0, 2**30),
    "a block of two leaves": put("forest.leaves", (slice(0, 2), trees.LEAF_BLOCK), 3),
    "a head beyond the blocks": put_leaf(trees.LEAF_BLOCK, 2**30),
    "a block that is too full": put_leaf(trees.LEAF_N_GAPS, trees.GAPS_PER_BLOCK + 1),
    "a block that is less than empty": put_leaf(trees.LEAF_N_GAPS, -1),
    "an event of the future": put_block(trees.BLOCK_NEWEST, 10_000),
    "an event before the first": put_block(trees.BLOCK_NEWEST, -1),
    "a gap that leads before the first event": put_block(
        trees.BLOCK_NEWEST + 2, (trees.LONG_GAP << 16) + trees.LONG_GAP
    ),
    "a gap that leads ahead": put_block(trees.BLOCK_NEWEST + 1, -5),
    "a gap that is too long": put_block(trees.BLOCK_NEWEST + 1, trees.LONG_GAP + 1),
    "a line with a hole": put_leaf(trees.LEAF_NEWEST + 1, 1 << 16),
    "a line of fewer events than it says": put_leaf(slice(trees.LEAF_NEWEST + 1, None), 0),
    "a leaf of less than no events": put_leaf(trees.LEAF_N_EVENTS, -1),
    "a code beyond the last": put_event(np.int8, 12, trees.MAX_CODES),
    "a code before the first": put_event(np.int8, 12, -1),
    "a value that is not a number": put_event(np.float32, 2, NAN),
    "something in a spare byte": put_event(np.int8, 13, 1),
    "something in the last byte": put_event(np.int8, -1, -1),
    "an action beyond the last": put_event(np.float32, EVENT_ACTION, 3),
    "an action between two": put_event(np.float32, EVENT_ACTION, 0.5),
    "an action that is not a number": put_event(np.float32, EVENT_ACTION, NAN),
    "a reward that is not a number": put_event(np.float32, EVENT_REWARD, NAN),
    "a reward that is too high": put_event(np.float32, EVENT_REWARD, 7.0),
    "a column of three bytes": put("ring.widths", 0, 3),
    "a number that is said to take a byte": put("ring.widths", 0, BYTE),
    "a name that is said to be a float": put("ring.widths", 1, FLOAT),
    "no uncertainty at all": put("forest.stats", (0, trees.STAT_UNCERTAINTY, 0), 0),
    "hardly any uncertainty": put("forest.stats", (0, trees.STAT_UNCERTAINTY, 0), 50),
    "a kind of column that there is not": put("forest.kinds", 0, 7),
    "a float that is called a bit": put("forest.kinds", 0, trees.BINARY),
    "a number that is called a name": put("forest.kinds", 0, trees.CATEGORICAL),
    "a name that is called a number": put("forest.kinds", 1, trees.NUMERICAL),
    "a weight of a column that is not a number": put("linear", (0, 0, 0), NAN),
    "a weight of a pair that is not a number": put("quadratic", (0, 0, 0), NAN),
    "a negative sum of squares": put("quadratic", (0, 1, 0), -1.0),
    "a correction that is not a number": put("residual", (0, 0, 0), NAN),
    "a weight of the latest events that is not a number": put("fast_linear", (0, 0, 0), NAN),
    "an edge that is not a number": put("edges", (0, 0), NAN),
    "a moment that is not a number": put("moments", (0, 0), NAN),
    "a share that is negative": put("weights", slice(None), [-0.5, 0.5, 0.5, 0.5, 0.0, 0.0]),
    "shares of more than all": put("weights", slice(None), 0.5),
    "no shares at all": put("weights", slice(None), 0.0),
    "free pairs that overlap": free(0, 1),
    "free pairs that go round": free(0, 2, 0),
    "a free pair that is a root": put("forest.counters", trees.COUNTER_FREE_PAIR, 0),
    "a free leaf that is in a tree": put("forest.counters", trees.COUNTER_FREE_LEAF, 0),
    "a context without a hash": put("context_memory.buckets", (0, 0), 1),
    "a context's action that there is not": put("context_memory.buckets", (0, 0), 2**40 + 2**26),
    "a shrinkage that is not a number": put("context_memory.shrinkage", 0, NAN),
    "a shrinkage beyond all": put("context_memory.shrinkage", 0, 1.5),
    "a shrinkage below nothing": put("context_memory.shrinkage", 0, -0.5),
    "a sum of products that is not a number": put("context_memory.shrinkage", 1, NAN),
    "squares without end": put("context_memory.shrinkage", 2, np.inf),
    "a negative sum of squared means": put("context_memory.shrinkage", 2, -1.0),
    "an error of late that is not a number": put("drift", reward_drop.DROP_RECENT_MEAN, NAN),
    "a negative mean of squares": put("drift", reward_drop.DROP_SQUARES, -1.0),
    "less than no events since a change": put("drift", reward_drop.DROP_N_EVENTS, -1.0),
    "an epoch that is yet to come": put("drift", reward_drop.DROP_CONCEPT_START, 1e9),
    "an epoch before all events": put("drift", reward_drop.DROP_CONCEPT_START, -2.0),
    "less than no changes": put("drift", reward_drop.DROP_N_DRIFTS, -1.0),
    "a clock that is not a number": put("clock", 0, NAN),
    "a clock that goes backwards": put("clock", 0, -1.0),
    **{f"counter {place} is negative": put("forest.counters", place, -2) for place in range(trees.N_COUNTERS)},
    **{f"counter {place} is huge": put("forest.counters", place, 2**40) for place in range(trees.N_COUNTERS)},
}


@pytest.mark.parametrize("name", HOSTILE_FORESTS)
def test_trees_that_no_stream_leaves_are_refused(name, forest):
    arrays = {key: array.copy() for key, array in forest.arrays.items()}
    HOSTILE_FORESTS[name](arrays)
    with pytest.raises(ValueError, match=r"^(its|corrupt file:) [^\n]+$"):
        st.RewardForest.from_state(State(forest.options, arrays))


@pytest.mark.parametrize(
    "name",
    [
        "ring.bytes",
        "ring.widths",
        "forest.nodes",
        "forest.blocks",
        "forest.leaves",
        "quadratic",
        "edges",
        "context_memory.buckets",
    ],
)
def test_a_forest_of_another_size_is_refused(name, forest):
    for part in (forest.arrays[name][:-1], np.concatenate([forest.arrays[name]] * 3), forest.arrays[name][:0]):
        with pytest.raises(ValueError, match=r"^(its|corrupt file:) [^\n]+$"):
            st.RewardForest.from_state(State(forest.options, {**forest.arrays, name: part}))


@pytest.mark.parametrize("name", ["ring.bytes", "forest.nodes", "forest.blocks", "quadratic", "context_memory.buckets"])
def test_a_forest_that_would_need_more_memory_than_its_file_has_is_refused(name, forest):
    for part in (np.zeros((2**40, 0), forest.arrays[name].dtype), np.zeros(forest.arrays[name].shape, np.uint8)):
        with pytest.raises(ValueError, match=r"^its array [^\n]+ which does not match its other arrays$"):
            st.RewardForest.from_state(State(forest.options, {**forest.arrays, name: part}))


@pytest.mark.parametrize(
    "name",
    ["ring.bytes", "ring.widths", "forest.nodes", "quadratic", "fast_linear", "weights", "context_memory.buckets"],
)
def test_a_forest_of_another_version_is_refused(name, forest):
    arrays = {key: array for key, array in forest.arrays.items() if key != name}
    with pytest.raises(ValueError, match=rf"^its array '{name}' is missing, [^\n]+$|^its arrays are [^\n]+$"):
        st.RewardForest.from_state(State(forest.options, arrays))


FIXTURES = sorted((Path(__file__).parent / "fixtures" / "format-1").iterdir())
SECOND_FIXTURES = sorted((Path(__file__).parent / "fixtures" / "format-2").iterdir())


@pytest.mark.parametrize("path", SECOND_FIXTURES, ids=lambda path: path.stem)
def test_files_of_the_second_format_still_load(path, tmp_path):
    model = st.load(path)
    assert type(model).__name__ == path.stem
    assert_same_state(st.load(saved(model, tmp_path)), model)
    use(model, slice(60, 120))


def test_the_conversion_of_a_former_format_is_logged(caplog):
    with caplog.at_level("INFO", logger="stumpery"):
        st.load(FIXTURES[0])
    assert f"{FIXTURES[0]} has format 1 of Stumpery" in caplog.text


def test_what_users_named_keeps_its_name_in_files_of_former_formats():
    options = {
        "actions": ["number", "name"],
        "features": [{"names": ["name"], "max_names": 3.0}],
        "schema": {
            "columns": [{"kind": "name", "name": "number", "names": ["name"], "max_names": 1, "numbered": False}]
        },
        "_members": [["Stump", {"schema": {"names": "number", "columns": "numbered name"}, "column": "name"}]],
    }
    column = {
        "kind": "categorical",
        "name": "number",
        "categories": ["name"],
        "max_categories": 1,
        "takes_numbers": False,
    }
    stump = {"schema": {"names": "numerical", "columns": "categorical number"}, "column": "name"}
    assert former_names.renamed_options(options) == {
        "actions": ["number", "name"],
        "features": [{"names": ["name"], "max_names": 3.0}],
        "schema": {"columns": [column]},
        "_members": [["Stump", stump]],
    }


def test_arrays_are_renamed_wherever_their_model_stands(monkeypatch):
    monkeypatch.setattr(former_names, "ARRAYS", {"marks": "flags", "QuantileSummary/marks": "labels"})
    array = np.zeros(1)
    names = ["marks", "1:marks", "recipe 0:1:marks", "classifier.marks", "0:classifier.3.marks", "streams.marks"]
    found = former_names.renamed_arrays("Voting", dict.fromkeys(names, array))
    assert list(found) == [
        "flags",
        "1:flags",
        "recipe 0:1:flags",
        "classifier.flags",
        "0:classifier.3.flags",
        "streams.marks",
    ]
    assert list(former_names.renamed_arrays("QuantileSummary", {"marks": array})) == ["labels"]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_files_of_the_first_format_still_load(path, tmp_path):
    model = st.load(path)
    assert type(model).__name__ == path.stem.partition("-")[0]
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    arrays, found = former_names.renamed_arrays(type(model).__name__, arrays), model.state().arrays
    assert arrays.keys() <= found.keys()  # later versions may have more of them, or wider ones
    if isinstance(model, st.RewardForest):
        found = without_ridge_scorer(found)
    assert all(np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f") for name, array in arrays.items())
    assert_same_state(model, st.load(saved(model, tmp_path)))
    use(model)


def without_ridge_scorer(arrays):
    """A reward forest's arrays with the stacking of five scorers, as it was before the ridge scorer, the sixth."""
    moments = np.delete(arrays["moments"][:-1], -2, axis=1)
    assert arrays["weights"][-1] == 0.0
    return {**arrays, "moments": moments, "weights": arrays["weights"][:-1], "sizes": arrays["sizes"][:-1]}


def test_a_selector_whose_learner_was_not_told_all_columns_goes_on_as_it_did():
    """Its learner knows only the features of the first round."""
    (path,) = [path for path in FIXTURES if path.stem == "FeatureSelector-of-Stump"]
    model = st.load(path)
    assert model.features == ("a", "b", "c")
    assert model.classifier.schema.names == ("a", "c")
    learner = model.clone(include_attributes=True, seed=8).classifier
    assert learner.schema.names == ("a", "c")
    guesses = "".join(str(int(guess)) for guess in use(model))
    assert guesses == (  # those of the version that wrote the file
        "01100011000111011000110011000110011000110001100110001100110001100011001100011001100011000110011000110011"
        "000110001000110001100110001100110001100010001100011001100011000100011000110011000110001000110001"
    )


def test_the_first_formats_files_are_of_many_kinds_and_small():
    assert len(FIXTURES) > 30
    assert sum(path.stat().st_size for path in FIXTURES) < 200_000


def test_a_file_of_the_first_format_keeps_its_digest(tmp_path):
    content = bytearray((FIXTURES[0]).read_bytes())
    content[-1] ^= 1
    path = tmp_path / "model"
    path.write_bytes(content)
    assert "its content is not what was saved" in refusal(path)


def test_another_version_in_the_header_is_damage(tmp_path):
    path = saved(st.summaries.Moments(), tmp_path)
    content = path.read_bytes()
    version = st.__version__.encode()
    assert content.count(version) == 1
    path.write_bytes(content.replace(version, b"9" * len(version)))
    assert "its content is not what was saved" in refusal(path)


def test_a_name_that_comes_twice_in_the_header_is_refused(tmp_path):
    with safe_open(saved(st.summaries.Moments(), tmp_path), framework="numpy") as file:
        text = file.metadata()["stumpery"]
    path = tmp_path / "twice"
    path.write_bytes(
        serialise(st.summaries.Moments().state().arrays, metadata={"stumpery": '{"kind": "Moments",' + text[1:]})
    )
    assert "a name occurs twice in its header" in refusal(path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_know_is_refused(number, tmp_path):
    content = {
        "format": files.FORMAT,
        "version": "0",
        "kind": "UCB",
        "options": {"rho": json.loads(number)},
        "packed": {},
    }
    content["digest"] = files._digest(content, {})
    text = json.dumps(content).replace('"rho": Infinity', f'"rho": {number}')
    path = tmp_path / "model"
    path.write_bytes(serialise({}, metadata={"stumpery": text}))
    assert "its options hold" in refusal(path)


def test_a_header_that_is_too_long_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.write((2**40).to_bytes(8, "little"))
        file.truncate(2**41)  # a hole, which takes nothing on the disk
    assert "its header is too long" in refusal(path)


def test_a_model_with_options_nested_too_deeply_is_not_saved(tmp_path, monkeypatch):
    options = {"a": 1}
    for _ in range(200):
        options = {"a": options}
    monkeypatch.setattr(st.summaries.Moments, "state", lambda summary: State(options, {}))
    with pytest.raises(ValueError, match=r"^this Moments cannot be saved: lists and objects are nested"):
        st.save(st.summaries.Moments(), tmp_path / "model")


def test_text_in_the_header_does_not_count_as_nesting(tmp_path):
    actions = ["[" * 300, '"' * 7 + "{" * 300, "\\" * 3 + "[" * 200]
    assert st.load(saved(st.UCB(actions=actions), tmp_path)).actions == tuple(actions)


def forged_packed(folder, forms, tensors, options=None):
    """A file whose packed arrays have these types and shapes."""
    content = {"format": files.FORMAT, "version": "0", "kind": "Moments", "options": options or {}, "packed": forms}
    content["digest"] = files._digest(content, tensors)
    path = folder / "packed"
    path.write_bytes(serialise(tensors, metadata={"stumpery": json.dumps(content)}))
    return path


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path):
    n_blocks = 2**26  # of 4 GiB
    tensors = {
        "row|words": np.zeros(0, np.uint64),
        "row|masks": np.zeros(0, np.uint8),
        "row|blocks": np.zeros(n_blocks // 8, np.uint8),
    }
    path = forged_packed(tmp_path, {"row": ["float64", [n_blocks * 8]]}, tensors)
    assert "ask for 4,294,967,296 bytes more" in refusal(path)


@pytest.mark.parametrize("forms", [None, [], 3, {"row": None}, {"row": ["float64", [1, 3]]}, {"row": ["object", [1]]}])
def test_packed_arrays_that_are_none_are_refused(forms, tmp_path):
    assert "corrupt file: " in refusal(forged_packed(tmp_path, forms, st.summaries.Moments().state().arrays))


def test_a_young_forest_is_a_small_file(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.random((1000, 12)).round(2)
    policy = st.RewardForest(actions=ACTIONS, seed=1)
    policy.play(rows, np.stack([rows[:, 0] > 0.5, rows[:, 1] > 0.5, rows[:, 2] > 0.5], axis=1).astype(float))
    path = saved(policy, tmp_path)
    assert policy.n_bytes > 10_000_000
    assert path.stat().st_size < 800_000
    assert_same_state(st.load(path), policy)


def test_a_file_is_in_proportion_to_what_it_unpacks_to(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FREE_UNPACKED", 1_000_000)
    path = saved(st.summaries.CountMin(width=1_000_000, depth=2), tmp_path)
    assert 8 * path.stat().st_size > 16_000_000 - 1_000_000
    assert st.load(path).total == 0


@pytest.mark.parametrize("depth", [10, 200, *range(860, 1000, 4), 5000, 100_000])
def test_a_deeply_nested_header_never_crashes(depth, tmp_path):
    nested = "[" * depth + "]" * depth
    for place in ("options", "format", "kind"):
        header = {"format": "1", "kind": '"Moments"', "options": "{}", "digest": '"x"'}
        header[place] = f'{{"a": {nested}}}'
        text = "{" + ", ".join(f'"{name}": {value}' for name, value in header.items()) + "}"
        path = tmp_path / "nested"
        path.write_bytes(serialise({"row": np.zeros((1, 3))}, metadata={"stumpery": text}))
        refusal(path)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    old = BUILDERS["UCB"]()
    path = saved(old, tmp_path)
    content = path.read_bytes()
    assert run("full_disk.py", path) == "OSError"
    assert path.read_bytes() == content
    assert names_in(tmp_path) == [path.name]


def test_a_save_onto_a_folder_or_into_a_missing_one_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "missing" / "model"):
        with pytest.raises(OSError, match=r".+"):
            st.save(st.summaries.Moments(), path)
    assert names_in(tmp_path) == ["folder"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_new_files_permissions_follow_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        path = saved(st.summaries.Moments(), tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_saves_at_the_same_time_never_leave_a_torn_file(tmp_path):
    path = tmp_path / "model"
    models = [st.policies.RandomPolicy(actions=range(size)) for size in (2, 300, 2000)]
    st.save(models[0], path)
    failures = []
    done = threading.Event()

    def writer(model):
        for _ in range(15):
            st.save(model, path)

    def reader():
        while not done.is_set():
            try:
                assert len(st.load(path).actions) in (2, 300, 2000)
            except BaseException as error:
                failures.append(error)
                return

    watching = threading.Thread(target=reader)
    writing = [threading.Thread(target=writer, args=[model]) for model in models]
    watching.start()
    for thread in writing:
        thread.start()
    for thread in writing:
        thread.join()
    done.set()
    watching.join()
    assert failures == []
    assert names_in(tmp_path) == ["model"]


def test_restore_changes_nothing_unless_all_fits():
    into = {"first": np.zeros(2), "second": np.zeros(2, np.int64)}
    with pytest.raises(ValueError, match=r"its array 'second' is float64\(2,\), not int64\(2,\)"):
        restore(into, {"first": np.ones(2), "second": np.ones(2)})
    assert not into["first"].any()
    with pytest.raises(ValueError, match="its arrays are"):
        restore(into, {"first": np.ones(2)})


def test_a_state_is_copied_when_it_is_restored():
    state = st.summaries.Moments().state()
    twin = st.summaries.Moments.from_state(State(state.options, state.arrays))
    twin.add(1.0)
    assert state.arrays["row"].sum() == 0.0


def test_a_kind_that_is_asked_for_is_what_comes(tmp_path):
    path = tmp_path / "policy"
    st.save(st.UCB(actions=["a", "b"]), path)
    assert type(st.load(path, kind=st.UCB)) is st.UCB
    assert type(st.load(path, kind=st.policies.MeansPolicy)) is st.UCB
    with pytest.raises(ValueError, match=r"policy holds a model of the kind UCB; kind is RewardForest$"):
        st.load(path, kind=st.RewardForest)
    with pytest.raises(ValueError, match=r"^kind is 'UCB'; it must be a class of models, such as"):
        st.load(path, kind="UCB")


def test_type_checkers_know_what_is_loaded():
    asked, unasked = get_overloads(st.load)
    hints = get_type_hints(asked)
    assert (hints["kind"], hints["return"]) == (type[files.Kind], files.Kind)
    assert get_type_hints(unasked)["return"] is Saveable
