"""Copies with what was learned that draw from random streams of their own."""

import json

import numpy as np
import pytest
from tests.support import bits_of, public, run

import stumpery as st
from stumpery.policies import ContextualPolicy, Policy

ACTIONS = ["a", "b", "c"]
ROWS = [{"age": float(20 + number % 7), "device": ["phone", "desk", None][number % 3]} for number in range(60)]
REWARDS = np.random.default_rng(1).random((60, 3))
LABELS = [number % 5 > 2 for number in range(60)]
SCHEMA = st.Schema.infer(ROWS, max_categories=5)
POLICIES = [
    kind
    for name in public.__all__
    if isinstance(kind := getattr(public, name), type) and issubclass(kind, Policy) and kind is not Policy
]
OPTIONS = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 500_000, "explorer": st.explorers.uniform()},
    st.BanditForest: {"n_trees": 3, "max_bytes": 50_000, "schema": SCHEMA},
    st.policies.BanditTree: {"max_bytes": 50_000, "schema": SCHEMA},
    st.policies.MeansPolicy: {"explorer": st.explorers.uniform()},
    st.policies.LinearPolicy: {"explorer": st.explorers.uniform()},
    st.EpsilonGreedy: {"epsilon": 0.9},
    st.SuccessiveElimination: {"explore": "drawn"},
}
CERTAIN = {
    st.policies.Greedy,
    st.UCB,
    st.LinUCB,
    st.BanditForest,
    st.policies.BanditTree,
    st.policies.BanditStump,
}  # nothing is left to draw here
LEARNERS = {
    "forest": lambda: st.ForestClassifier(n_models=3, grace_period=10, seed=5),
    "online bagging": lambda: st.ensembles.OnlineBagging(models=st.ForestClassifier(n_models=2), n_models=2, seed=5),
    "online boosting": lambda: st.ensembles.OnlineBoosting(models=st.HoeffdingTreeClassifier(), n_models=2, seed=5),
    "bagged predictors": lambda: st.clicks.BaggedPredictors(predictors=[(st.clicks.Stump(), 4)], seed=5),
    "deep tree": lambda: st.DQNTree(warm_up=30, memory=40, batch_size=8, seed=5),
}


def trained_policy(kind):
    contexts = ROWS if issubclass(kind, ContextualPolicy) else None
    needs_schema = issubclass(kind, ContextualPolicy) and kind is not st.RewardForest
    more = {"schema": SCHEMA} if needs_schema else {}
    policy = kind(actions=ACTIONS, seed=5, **{**more, **OPTIONS.get(kind, {})})
    policy.play(contexts, REWARDS)
    return policy


def decided(policy):
    contexts = ROWS if isinstance(policy, ContextualPolicy) else len(ROWS)
    return [(each.action, each.probability) for each in policy.decide_many(contexts)]


def without_streams(model):
    options, arrays = model.state()
    own = {name: array.tobytes() for name, array in arrays.items() if name.split(".")[-1].split(":")[-1] != "rng"}
    return repr(options), own


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_a_policys_clone_has_what_was_learned_and_draws_for_itself(kind, tmp_path):
    policy = trained_policy(kind)
    st.save(policy, tmp_path / "policy.safetensors")
    before = {name: array.tobytes() for name, array in policy.state().arrays.items()}
    first, same, other = (
        policy.clone(include_attributes=True, seed=8),
        policy.clone(include_attributes=True, seed=8),
        policy.clone(include_attributes=True, seed=9),
    )
    loaded = st.load(tmp_path / "policy.safetensors", seed=8)
    assert all(without_streams(each) == without_streams(policy) for each in (first, other, loaded))
    found = [decided(each) for each in (first, same, loaded, other)]
    assert found[0] == found[1] == found[2]
    assert {name: array.tobytes() for name, array in policy.state().arrays.items()} == before
    new = trained_policy(kind).clone(seed=8)
    assert not np.array_equal(
        policy.clone(include_attributes=True, seed=8)._rng, new._rng
    )  # the stream of a new policy is another one still
    if kind not in CERTAIN:
        assert len({str(each) for each in (found[0], found[3], decided(policy))}) == 3


def test_the_stated_chance_is_the_frequency_over_clones():
    policy = st.EpsilonGreedy(actions=ACTIONS, epsilon=0.6, seed=5)
    policy.play(None, REWARDS)
    decisions = [policy.clone(include_attributes=True, seed=seed).decide() for seed in range(3000)]
    for action in ACTIONS:
        stated = {each.probability for each in decisions if each.action == action}
        assert len(stated) == 1
        assert np.mean([each.action == action for each in decisions]) == pytest.approx(stated.pop(), abs=0.04)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learners_clone_may_have_a_seed_of_its_own(name, tmp_path):
    model = LEARNERS[name]()
    model.learn_many(ROWS, LABELS)
    st.save(model, tmp_path / "model.safetensors")
    loaded = st.load(tmp_path / "model.safetensors", seed=8)
    clones = [model.clone({"seed": seed}, include_attributes=True) for seed in (8, 9)]
    streams = [
        {key: array.tobytes() for key, array in each.state().arrays.items() if key.endswith(("rng", "learner.key"))}
        for each in (model, loaded, *clones)
    ]
    assert streams[1] == streams[2]
    all_streams = [stream for each in (streams[0], streams[2], streams[3]) for stream in each.values()]
    assert len(set(all_streams)) == len(all_streams) > 0
    probabilities = [np.asarray(each.predict_many(ROWS)).tolist() for each in (model, loaded, *clones)]
    assert probabilities[0] == probabilities[1] == probabilities[2] == probabilities[3]
    for each in (loaded, clones[0]):
        each.learn_many(ROWS, LABELS)
    assert {key: array.tobytes() for key, array in loaded.state().arrays.items()} == {
        key: array.tobytes() for key, array in clones[0].state().arrays.items()
    }
    exact = model.clone(include_attributes=True)
    assert {key: each.tobytes() for key, each in exact.state().arrays.items()} == {
        key: each.tobytes() for key, each in model.state().arrays.items()
    }
    untrained = model.clone({"seed": 8})
    assert untrained.seed == 8
    with pytest.raises(ValueError, match=r"^new_params hold 'n_models'; a copy with include_attributes can change .*"):
        model.clone({"n_models": 2, "seed": 3}, include_attributes=True)


UNTRAINED = {
    **LEARNERS,
    "tree": lambda: st.HoeffdingTreeClassifier(seed=5),
    "random trees": lambda: st.clicks.Average(predictors=[(st.clicks.RandomHoeffdingTree(n_features=1), 9)], seed=5),
    "bagged predictors with a schema": lambda: st.clicks.BaggedPredictors(
        predictors=[st.clicks.Stump()], schema=SCHEMA, seed=5
    ),
    "voting of deep trees": lambda: st.ensembles.Voting(
        models=st.DQNTree(warm_up=30, memory=40, batch_size=8), n_models=2
    ),
    "bagging": lambda: st.ensembles.Bagging(model=st.HoeffdingTreeClassifier(grace_period=5), n_models=3),
}


def learned(model):
    if hasattr(model, "fit"):
        return model.fit(ROWS, LABELS)
    model.learn_many(ROWS, LABELS)
    return model


@pytest.mark.parametrize("name", UNTRAINED)
def test_learners_that_have_not_begun_differ_by_their_seeds_from_then_on(name, tmp_path):
    st.save(UNTRAINED[name](), tmp_path / "model")
    loaded = [learned(st.load(tmp_path / "model", seed=seed)) for seed in (1, 1, 2)]
    first, same, other = ({**each.state().arrays} for each in loaded)
    assert {key: array.tobytes() for key, array in first.items()} == {
        key: array.tobytes() for key, array in same.items()
    }
    if name == "random trees":
        assert first["0.features"].tolist() != other["0.features"].tolist()
    streams = [key for key in first if key.endswith(("rng", "learner.key"))]
    words = [each[key].tobytes() for each in (first, other) for key in streams]
    assert len(set(words)) == len(words)
    assert bits_of(loaded[0])[1] != bits_of(loaded[2])[1]
    assert bits_of(st.load(tmp_path / "model")) == bits_of(UNTRAINED[name]())


def test_a_deep_tree_within_its_warm_up_begins_with_the_seed_of_its_copy():
    model = LEARNERS["deep tree"]()
    model.learn_many(ROWS[:20], LABELS[:20])
    clones = [model.clone({"seed": seed}, include_attributes=True) for seed in (1, 1, 2)]
    assert [each.predict_many(ROWS).tolist() for each in clones] == [model.predict_many(ROWS).tolist()] * 3
    for each in (model, *clones):
        each.learn_many(ROWS[20:], LABELS[20:])
    keys = [each.state().arrays["learner.key"].tolist() for each in (model, *clones)]
    assert keys[1] == keys[2]
    assert keys[0] != keys[1] != keys[3] != keys[0]


@pytest.mark.parametrize("kind", POLICIES, ids=lambda kind: kind.__name__)
def test_a_policy_that_has_seen_nothing_has_a_stream_already(kind, tmp_path):
    more = {"schema": SCHEMA} if issubclass(kind, ContextualPolicy) and kind is not st.RewardForest else {}
    policy = kind(actions=ACTIONS, seed=5, **{**more, **OPTIONS.get(kind, {})})
    clones = [policy.clone(include_attributes=True, seed=seed) for seed in (1, 1, 2)]
    assert bits_of(clones[0]) == bits_of(clones[1])
    assert [bits_of(each)[0] for each in clones] == [bits_of(policy)[0]] * 3
    assert len({each._rng.tobytes() for each in (policy, clones[0], clones[2])}) == 3


def test_a_selectors_model_that_has_not_begun_gets_a_seed_of_its_own():
    content = st.ContentSelector(model=st.clicks.BaggedPredictors(predictors=[st.clicks.Stump()], seed=5), seed=5)
    features = st.FeatureSelector(
        features=3,
        n_features=1,
        chooser=st.selection.choosers.thompson(),
        classifier=st.DQNTree(warm_up=30, memory=40, batch_size=8),
    )
    for model, inner in ((content, "model"), (features, "classifier")):
        seeds = [getattr(model.clone(include_attributes=True, seed=seed), inner).seed for seed in (1, 1, 2)]
        assert seeds[0] == seeds[1] != seeds[2]


def test_selectors_have_clones_too():
    candidates = [{"x": 1.0}, {"x": 1.0}, {"x": 1.0}]
    content = st.ContentSelector(model=st.clicks.BaggedPredictors(predictors=[st.clicks.Stump()]), epsilon=0.5, seed=5)
    content.learn(content.decide(candidates), click=True)
    picked = [
        [content.clone(include_attributes=True, seed=seed).decide(candidates)[0] for _ in range(3)]
        for seed in range(20)
    ]
    assert all(len(set(each)) == 1 for each in picked)
    assert len({each[0] for each in picked}) == 3

    features = st.FeatureSelector(
        features=9,
        n_features=2,
        chooser=st.selection.choosers.thompson(),
        classifier=st.ForestClassifier(n_models=2),
        seed=5,
    )
    features.play(np.random.default_rng(1).random((50, 9)), [0, 1] * 25)
    asked = {seed: features.clone(include_attributes=True, seed=seed).ask() for seed in range(9)}
    assert asked == {seed: features.clone(include_attributes=True, seed=seed).ask() for seed in range(9)}
    assert len(set(asked.values())) > 4

    sets = st.selection.CombinatorialThompson(
        actions=ACTIONS, maximiser=lambda scores: [max(scores, key=scores.get)], seed=5
    )
    sets.learn(["a"], 1.0)
    chosen = [[sets.clone(include_attributes=True, seed=seed).decide().actions for _ in range(2)] for seed in range(20)]
    assert all(first == second for first, second in chosen)
    assert len({first for first, _ in chosen}) > 1


@pytest.mark.parametrize("seed", [-1, 1.5, "8", 2**63, True])
def test_a_seed_that_is_none_is_refused(seed, tmp_path):
    policy = st.EpsilonGreedy(actions=ACTIONS)
    st.save(policy, tmp_path / "policy.safetensors")
    with pytest.raises(ValueError, match=r"^seed is "):
        policy.clone(include_attributes=True, seed=seed)
    with pytest.raises(ValueError, match=r"^seed is "):
        st.load(tmp_path / "policy.safetensors", seed=seed)


def test_forked_workers_with_seeds_of_their_own_choose_differently_and_truly():
    first, second, one, two = json.loads(run("forked_workers.py"))
    assert first == second  # a copy without a seed of its own draws what the first would have drawn
    assert len({str(each) for each in (first, one, two)}) == 3
    for actions, probabilities in (one, two):
        probability_of = dict(zip(actions, probabilities, strict=True))
        assert set(zip(actions, probabilities, strict=True)) == set(probability_of.items())
        for action, probability in probability_of.items():
            assert actions.count(action) / 400 == pytest.approx(probability, abs=0.1)
