"""Features of actions: shrinkage against its slow twin, actions that come and go, files, bad input."""

import copy

import numpy as np
import pandas as pd
import pytest

import stumpery as st
from stumpery.policies.reward_forest.action_features import MAX_TERMS, ActionFeatures
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers

TOPICS = ("art", "law", "war", "tea")


def problem(n, n_actions, seed=0):
    """Whoever likes a topic likes all actions of that topic, the cheap ones more."""
    rng = np.random.default_rng(seed)
    topics, prices = rng.integers(0, len(TOPICS), n_actions), rng.random(n_actions)
    reader = rng.integers(0, len(TOPICS), n)
    rows = pd.DataFrame({"reader": [f"r{each}" for each in reader], "hour": rng.integers(0, 24, n)})
    expected = 0.1 + 0.8 * (topics == reader[:, None]) * (1.0 - 0.5 * prices)
    rewards = (rng.random(expected.shape) < expected).astype(float)
    features = {
        f"a{place}": {"topic": TOPICS[topic], "price": float(price)}
        for place, (topic, price) in enumerate(zip(topics, prices, strict=True))
    }
    return rows, rewards, expected, features


def new(described, **options):
    return st.RewardForest(**{"actions": list(described), "n_trees": 10, "seed": 5, "features": described, **options})


def test_many_actions_learn_from_each_other():
    earned = np.zeros((4, 2))
    for seed in range(4):
        rows, rewards, expected, features = problem(3000, 300, seed)
        for place, known in enumerate((features, None)):
            actions = new(features, features=known).play(rows, rewards).actions
            earned[seed, place] = expected[np.arange(len(rows)), actions].mean()
    with_features, without = earned.mean(axis=0)
    assert with_features > without + 0.03


def test_features_that_tell_nothing_cost_little():
    rows, rewards, expected, features = problem(6000, 8)
    rng = np.random.default_rng(4)
    nonsense = {action: {"topic": str(rng.choice(TOPICS)), "price": float(rng.random())} for action in features}
    earned = np.zeros((8, 2))
    for seed in range(8):  # one seed alone says little: it may settle on the second best action for long
        for place, known in enumerate((nonsense, None)):
            actions = new(features, features=known, seed=seed).play(rows, rewards).actions
            earned[seed, place] = expected[np.arange(3000, 6000), actions[3000:]].mean()
    with_nonsense, without = earned.mean(axis=0)
    assert with_nonsense > without - 0.05


def test_an_action_that_is_new_starts_with_what_its_like_have_earned():
    rows, rewards, _, features = problem(4000, 40)
    scores = []
    for seed in (1, 2, 3, 5):
        policy = new(features, seed=seed)
        policy.play(rows, rewards)
        policy.add_action("liked", features={"topic": "tea", "price": 0.0})
        policy.add_action("disliked", features={"topic": "war", "price": 0.0})
        policy.add_action("unknown")
        said = policy.explain(policy.decide({"reader": "r3", "hour": 12}))
        scores.append({row["action"]: row["score"] for row in said.rows})
    liked, disliked = (np.mean([each[action] for each in scores]) for action in ("liked", "disliked"))
    assert liked > 0.8
    assert liked - disliked > 0.5  # readers of tea have seen five articles on war, at most
    assert said.rows[0].keys() == {"action", "score", "own", "similar actions", "uncertainty", "probability"}
    for row in said.rows:
        assert (
            min(row["own"], row["similar actions"]) - 1e-9
            <= row["score"]
            <= max(row["own"], row["similar actions"]) + 1e-9
        )
    without = st.RewardForest(actions=["a", "b"], n_trees=2)
    plain = without.explain(without.decide({"hour": 1}))
    assert plain.rows[0].keys() == {"action", "score", "uncertainty", "probability"}
    assert policy.features["liked"] == {"topic": "tea", "price": 0.0}


def test_an_action_without_features_among_others_is_tried_as_any():
    rows, rewards, _, features = problem(4000, 12)
    policy = new(features)
    policy.play(rows[:2000], rewards[:2000])
    policy.add_action("good")
    rewards = np.column_stack([rewards, np.full(len(rewards), 0.95)])
    assert (policy.play(rows[2000:], rewards[2000:]).actions == 12).mean() > 0.8


def test_the_strength_of_shrinkage_is_an_option():
    rows, rewards, _, features = problem(500, 12)
    played = [new(features, shrinkage=each).play(rows, rewards).probabilities for each in (0.0, 4.0, 50.0)]
    assert np.array_equal(played[0], new(features, features=None).play(rows, rewards).probabilities)
    assert not np.array_equal(played[1], played[2])
    whole = new(features, shrinkage=4)
    assert np.array_equal(played[1], whole.play(rows, rewards).probabilities)
    assert isinstance(whole._arena.state.shared_model.strength, float)
    for wrong in (-1.0, float("nan"), "much"):
        with pytest.raises(ValueError, match=r"^shrinkage is"):
            new(features, shrinkage=wrong)


def test_features_come_and_go_with_their_actions():
    policy = st.RewardForest(actions=["a", "b"], n_trees=3)
    assert policy.features == {}
    rows = [{"hour": hour} for hour in range(40)]
    policy.play(rows, np.eye(2)[np.arange(40) % 2])
    policy.add_action("c", features={"colour": "red", "size": 2.0})
    policy.play(rows, np.ones((40, 3)))
    policy.add_action("d", features={"size": 4.0, "tags": ["new", "hot"]})
    policy.play(rows, np.ones((40, 4)))
    policy.remove_action("c")
    assert list(policy.features) == ["d"]
    policy.remove_action("d")
    assert policy.features == {}
    assert policy._arena.state.shared_model.linear.shape[2] == 0
    policy.play(rows, np.ones((40, 2)))


def test_weights_predict_the_same_when_terms_move_or_change_their_scale():
    rng = np.random.default_rng(2)
    described = {"a": {"size": 2.0, "kind": "x"}, "b": {"size": -1.0, "kind": "y"}}
    before = ActionFeatures.of(described, ["a", "b"])
    linear = scorers.new_linear(6, 1 + len(before.terms))
    linear[:, 0] = rng.normal(size=(6, 4))
    linear[:, 1] = rng.random((6, 4)) * 9.0
    more = {"new": {"weight": 3.0, "size": 8.0}, **described}
    after = ActionFeatures.of(more, ["new", "a", "b"])
    moved = before.transferred(linear, after)
    assert moved.shape[2] == 1 + len(after.terms) > linear.shape[2]
    old, now = before.vectors(), after.vectors()[1:]
    assert moved[:, 0] @ now.T == pytest.approx(linear[:, 0] @ old.T, rel=1e-6)
    assert (moved[:, 1, list(after.terms).index(("size", None)) + 1] == linear[:, 1, 1] / 16.0).all()
    assert after.transferred(moved, ActionFeatures.of(None, ["a"])).shape[2] == 0


def test_a_policy_with_features_is_saved_copied_and_goes_on(tmp_path):
    rows, rewards, _, features = problem(600, 6)
    features["a1"] = {"tags": {"x", "y"}, "vector": np.arange(3), "flag": True, "gone": None, "nan": float("nan")}
    policy = new(features)
    policy.play(rows[:300], rewards[:300])
    policy.remove_action("a0")
    policy.add_action("a0", features={"topic": "none of them", "price": 9})
    st.save(policy, tmp_path / "policy.safetensors")
    loaded, copied = st.load(tmp_path / "policy.safetensors"), copy.deepcopy(policy)
    assert loaded.features == policy.features
    assert policy.features["a1"] == {"tags": ["x", "y"], "vector": [0.0, 1.0, 2.0], "flag": 1.0}
    rewards = np.roll(rewards, -1, axis=1)
    played = [each.play(rows[300:], rewards[300:]) for each in (policy, loaded, copied)]
    assert len({each.probabilities.tobytes() for each in played}) == 1
    assert policy.clone(seed=9).features == policy.features


def test_whoever_changes_the_features_shown_changes_no_policy(tmp_path):
    rows, rewards, _, features = problem(100, 4)
    policy = new(features)
    policy.play(rows, rewards)
    policy.features["a0"]["price"] = 9.0
    features["a0"]["price"] = 8.0
    policy.add_action("more", features={"price": 3.0})
    st.save(policy, tmp_path / "policy.safetensors")
    assert st.load(tmp_path / "policy.safetensors").features["a0"]["price"] <= 1.0


def test_one_by_one_equals_the_loop():
    rows, rewards, _, features = problem(200, 7)
    straight, single = new(features), new(features)
    played = straight.play(rows, rewards)
    for place, row in enumerate(rows.to_dict("records")):
        decision = single.decide(row)
        assert (decision.action, decision.probability) == (f"a{played.actions[place]}", played.probabilities[place])
        single.learn(decision, float(rewards[place, played.actions[place]]))


def test_memory_counts_the_features():
    rows, rewards, _, features = problem(3000, 5)
    wide = {action: {"vector": np.arange(100.0)} for action in features}
    policy = new(wide, max_bytes=600_000)
    policy.play(rows, rewards)
    assert policy.n_bytes <= 600_000
    with pytest.raises(ValueError, match=r"^max_bytes is 100000; [^\n]+$"):
        new(wide, max_bytes=100_000).play(rows, rewards)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (3, "features is 3; it must be a dict"),
        ([{"a": 1}], "features is"),
        ({"c": {}}, "features has 'c', which is no action"),
        ({"a": 3}, "features of 'a' are 3"),
        ({"a": {1: 2}}, "features of 'a' are"),
        ({"a": {"size": float("inf")}}, "feature 'size' is inf"),
        ({"a": {"size": 1e16}}, "feature 'size' is"),
        ({"a": {"size": 10**400}}, "feature 'size' is"),
        ({"a": {"size": object()}}, "feature 'size' is"),
        ({"a": {"size": b"red"}}, "feature 'size' is"),
        ({"a": {"size": {"x": 1}}}, "feature 'size' is"),
        ({"a": {"size": np.zeros((2, 2))}}, "feature 'size' is"),
        ({"a": {"size": np.float16("inf")}}, "feature 'size' is np.float16(inf)"),
        ({"a": {"size": np.timedelta64(5, "s")}}, "feature 'size' is np.timedelta64(5,'s')"),
        ({"a": {"size": {1.0, 2.0}}}, "feature 'size' is"),
        ({pd.NA: {}}, "features has <NA>, which is no action"),
        ({"a": {"size": np.array(2.0 + 1j)}}, "feature 'size' is"),
        ({"a": {"size": ["x", 1.0]}}, "feature 'size' is"),
        ({"a": {"size": [[1.0]]}}, "feature 'size' is"),
        ({"a": {"vector": np.zeros(MAX_TERMS + 1)}}, "features have 1025 different"),
    ],
)
def test_what_is_no_feature_is_refused(features, said):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as error:
        st.RewardForest(actions=["a", "b"], features=features)
    assert str(error.value).startswith(said)


def test_values_of_numpy_and_pandas_are_features_and_missing_names_are_left_out():
    known = {"half": np.float16(0.5), "tags": ["x", None, float("nan"), pd.NA], "vector": [1, None], "none": [None]}
    policy = st.RewardForest(actions=[0, 1], features={np.int64(0): known})
    policy.add_action(np.int8(2), features={"half": np.bool_(True)})
    assert policy.features == {0: {"half": 0.5, "tags": ["x"], "vector": [1.0, 0.0]}, 2: {"half": 1.0}}
    assert all(type(action) is int for action in policy.features)


def test_a_refused_action_changes_nothing():
    rows, rewards, _, features = problem(200, 4)
    policy, untouched = new(features), new(features)
    for each in (policy, untouched):
        each.play(rows[:100], rewards[:100])
    refused = [("x", {"v": np.zeros(2000)}), ("x", {"v": object()}), ("a0", {"v": 1.0}), (None, {"v": 1.0}), ("x", 7)]
    for action, known in refused:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            policy.add_action(action, features=known)
    assert policy.actions == untouched.actions
    assert policy.features == untouched.features
    played = [each.play(rows[100:], rewards[100:]) for each in (policy, untouched)]
    assert played[0].probabilities.tobytes() == played[1].probabilities.tobytes()


@pytest.mark.parametrize("damage", ["features", "number", "count"])
def test_a_file_whose_features_do_not_fit_is_refused(damage):
    rows, rewards, _, features = problem(100, 4)
    policy = new(features)
    policy.play(rows, rewards)
    options, arrays = policy.state()
    if damage == "features":
        arrays["shared_model.features"] = arrays["shared_model.features"] + 1.0
    elif damage == "number":
        arrays["shared_model.linear"] = np.full_like(arrays["shared_model.linear"], np.nan)
    else:
        options["features"] = options["features"][:2]
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        st.RewardForest.from_state(st.types.State(options, arrays))


def test_numbers_of_any_size_keep_the_scores_finite():
    rows, rewards, _, _ = problem(300, 3)
    sizes = {"a0": {"v": 1e15}, "a1": {"v": 1e-15}, "a2": {"v": 0.0}}
    policy = new(sizes)
    policy.play(rows, rewards)
    policy.remove_action("a0")
    policy.add_action("a0", features={"v": -1e15})
    played = policy.play(rows, rewards)
    assert np.isfinite(policy._arena.state.shared_model.linear).all()
    assert ((played.probabilities > 0.0) & (played.probabilities <= 1.0)).all()


@pytest.mark.parametrize("sizes", [(1e-200, 1.0), (5e-324, 1e15), (1e-15, 1e15), (1.0, 5e-324)])
def test_numbers_far_apart_come_and_go(sizes, tmp_path):
    rows, rewards, _, _ = problem(200, 3)
    policy = new({"a0": {"v": sizes[0]}, "a1": {}})
    for _ in range(3):
        policy.play(rows, rewards[:, :2])
        policy.add_action("a2", features={"v": sizes[1], "w": 1.0})
        played = policy.play(rows, rewards)
        assert ((played.probabilities > 0.0) & (played.probabilities <= 1.0)).all()
        policy.remove_action("a2")
    st.save(policy, tmp_path / "policy.safetensors")
    assert st.load(tmp_path / "policy.safetensors").features == policy.features
