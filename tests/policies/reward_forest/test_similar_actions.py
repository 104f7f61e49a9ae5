"""Scores by features of actions: the crossed scorer, the shared model and the shrinkage against their slow twins."""

import numpy as np
import pytest
from tests.reference import crossed_scorer, shared_model
from tests.reference.ridge_scorer import RidgeScorer

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.frames import rows
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.action_features import MAX_SLOT_WEIGHT, ActionFeatures
from stumpery.policies.reward_forest.scorers import crossed, crossed_kernels, ridge, ridge_kernels, scorers_kernels
from stumpery.policies.reward_forest.scorers import shared_model_kernels as shared
from stumpery.policies.reward_forest.scorers import similar_actions_kernels as similar
from stumpery.policies.reward_forest.state import stacking_of

KINDS = np.array([trees.NUMERICAL, trees.NUMERICAL, trees.BINARY, trees.CATEGORICAL], np.uint8)
NAMES = ("number", "number", "bit", "category")
N_CODES, STRENGTH = 24, 3.0
N_EVENTS = 60 if INTERPRETED else 250
DESCRIBED = {
    0: {"topic": "art", "size": 3.0, "tags": ["new"]},
    1: {"topic": "law", "size": 5.0},
    2: {"topic": "art", "size": -1.0, "tags": ["hot", "new"]},
    4: {"topic": "tea", "vector": [1.0, 2.0, 5.0]},
    5: {"topic": "law", "vector": [0.0, 2.5, 1.0], "size": 2.0},
}
FEATURES = ActionFeatures.of(DESCRIBED, range(6))  # action 3 has none
DENSE = ActionFeatures.of(
    {0: {"v": list(range(20))}, 1: {"v": [7.0, *range(19, 0, -1)]}, 2: {"v": [3.0] * 20}}, range(3)
)


@kernel
def score(models, row, codes, scratch, scores, statistics):
    """Write scores by features, and shrink the action statistics towards them, in place."""
    model, shared_model, ridge_scorer, kinds = models
    sums, work, means = scratch
    n = codes.shape[0]
    similar.fill_scores(model, shared_model, ridge_scorer, row, kinds, codes, n, sums, work, means, scores)
    similar.shrink_scores(model, shared_model.strength, work, means, scores, statistics)


@kernel
def learn(models, row, codes, scratch, action, reward, key):
    """Let both models and the ridge scorer, by which numbers are standardised, learn one event, in place."""
    model, shared_model, ridge_scorer, kinds = models
    work, ridge_work = scratch
    similar.learn(
        model, shared_model, ridge_scorer, row, kinds, codes, codes.shape[0], work, action, reward, np.uint64(key)
    )
    n = ridge_kernels.fill_features(ridge_scorer, row, kinds, ridge_work)
    ridge_kernels.learn(ridge_scorer, row, kinds, ridge_work, n, action, reward, np.uint64(key))


@kernel
def shared_event(model, codes, sums, work, action, reward):
    """Score by the shared model alone, and let it learn, in place."""
    shared.fill_scores(model, model.features, codes, codes.shape[0], sums, work)
    shared.learn(model, model.features, codes, codes.shape[0], action, reward)


def models_of(features, n_places):
    """Both models; the crossed one with so many places."""
    vectors = features.vectors()
    model = crossed.new_crossed(features, len(KINDS), 10**9)
    products = n_places * vectors.shape[1]
    inverse = np.eye(products) / crossed_kernels.CROSSED_RIDGE
    model = model._replace(weights=np.zeros((n_places, vectors.shape[1])), inverse=inverse)
    return model, shared.SharedModel(vectors, scorers_kernels.new_linear(N_CODES, vectors.shape[1]), STRENGTH)


def terms_of(features):
    """A dict of standardised numbers for each action, written out."""
    raw = []
    for action in features.actions:
        found = {}
        for name, value in features.described.get(action, {}).items():
            for index, item in enumerate(value if isinstance(value, list) else [value]):
                found[(name, item) if isinstance(item, str) else (name, index)] = item
        raw.append(found)
    for name in {name for each in raw for name in each if not isinstance(name[1], str)}:
        numbers = [each[name] for each in raw if name in each]
        for each in raw:
            if name in each:
                each[name] = (each[name] - np.mean(numbers)) / np.std(numbers) if np.std(numbers) else 0.0
    numbers = [{name: 1.0 if isinstance(value, str) else value for name, value in each.items()} for each in raw]
    return [{"constant": 1.0, **{name: v for name, v in each.items() if v}} if each else {} for each in numbers]


def row_of(rng):
    missing = rng.random() < 0.2
    return np.array(
        [rng.normal(50.0, 7.0), -np.inf if missing else rng.exponential(3.0), rng.integers(2), rng.integers(6)], float
    )


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("features", "n_places"),
    [(FEATURES, 12), (FEATURES, 5), (FEATURES, 0), (DENSE, 6)],
    ids=["all", "few", "no", "dense"],
)
def test_scores_uncertainties_and_shrinkage_equal_the_slow_twins(features, n_places):
    rng, n_actions = np.random.default_rng(3), len(features.actions)
    model, by_codes = models_of(features, n_places)
    ridge_scorer = ridge.new_ridge(40, len(KINDS), n_actions)
    work, ridge_work = crossed.new_crossed_row(model, len(KINDS), n_actions), ridge.new_ridge_row(ridge_scorer)
    sums = shared.FeatureSums(*np.zeros((2, by_codes.features.shape[1])))
    twin, ridge_twin = crossed_scorer.CrossedScorer(terms_of(features), n_places), RidgeScorer(NAMES, n_actions, 40)
    twin.n_terms = by_codes.features.shape[1]
    vectors = [{place: value for place, value in enumerate(row.tolist()) if value} for row in by_codes.features]
    shared_twin = shared_model.SharedModel(vectors)
    models, used = (model, by_codes, ridge_scorer, KINDS), set()
    for event in range(N_EVENTS):
        codes, row = np.unique(rng.integers(0, N_CODES, 4)).astype(np.int32), row_of(rng)
        means, statistics, scores = rng.random(n_actions), np.zeros((4, n_actions)), np.zeros(n_actions)
        statistics[0] = rng.random(n_actions)
        statistics[1] = np.sqrt((means * (1.0 - means) + 0.1) / (1.0 + rng.integers(0, 9, n_actions)))
        before = statistics.copy()
        score(models, row, codes, (sums, work, means), scores, statistics)
        x, by_twin = ridge_twin.features(row), {}
        used.add(twin.is_better())
        for action in range(n_actions):
            if action not in features.described:
                assert scores[action] == means[action]
                assert (statistics[:, action] == before[:, action]).all()
                continue
            if twin.is_better():
                expected = twin.score(x, action), twin.uncertainty(x, action)
            else:
                expected = shared_twin.predict(codes.tolist(), action), shared_twin.uncertainty(codes.tolist(), action)
            by_twin[action] = expected[0]
            expected = expected[0] + twin.quality_of(action), expected[1]
            assert scores[action] == pytest.approx(expected[0], abs=1e-3), event
            kept = shared_model.shrunk(before[:2, action].tolist(), expected, means[action], STRENGTH)
            assert statistics[:2, action] == pytest.approx(kept, abs=2e-3), event
        action, key = int(rng.integers(n_actions)), int(rng.integers(2**63))
        likes = model.values[action].sum() * (1.0 if row[3] > 2 else -1.0)
        reward = float(rng.random() < 1 / (1 + np.exp(-likes)))
        learn(models, row, codes, (work, ridge_work), action, reward, key)
        if action in features.described:
            twin.quality[action].append(reward - by_twin[action])
            shared_error = shared_twin.learn(codes.tolist(), action, reward)
            if n_places:
                twin.learn(ridge_twin.names(row), x, action, reward, shared_error, key)
        ridge_twin.learn(row, action, reward, key)
    if n_places:
        assert model.counts[crossed_kernels.CROSSED_PLACES] == len(twin.places) > 4
    assert used == ({True, False} if n_places else {False})


def test_weights_stay_finite_where_small_features_meet_large_weights():
    features = np.array([[1.0, 1e-5, 1e-5, 1e-5], [1.0, 1.0, 1e-5, 1e-5], [1.0, 1.0, 1.0, 1e-5], [1.0, 1.0, 1.0, 1.0]])
    model = shared.SharedModel(features, scorers_kernels.new_linear(2, 4), 4.0)
    work = crossed.new_crossed_row(crossed.new_crossed(FEATURES, 1, 1000), 1, 4)
    model.linear[:, scorers_kernels.SLOT_WEIGHT] = MAX_SLOT_WEIGHT
    sums = shared.FeatureSums(np.zeros(4), np.zeros(4))
    for event in range(200):
        shared_event(model, np.arange(2, dtype=np.int32), sums, work, event * 7 % 4, float(event % 2))
        assert np.isfinite(work.similar).all()
        assert (abs(model.linear[:, scorers_kernels.SLOT_WEIGHT]) <= MAX_SLOT_WEIGHT).all()


def shop_of(n_actions, n, items_seed=0):
    stream = st.streams.Shop(n_actions=n_actions, items_seed=items_seed)
    return stream, next(stream.batches(seed=100 + items_seed, size=n))


def earned(batch, **options):
    policy = st.RewardForest(seed=1, **options)
    actions = policy.play(batch.contexts, batch.rewards).actions
    return batch.expected[np.arange(len(actions)), actions].mean()


def test_features_help_where_items_are_few_and_where_they_are_many():
    for n_actions, n_events, at_least in ((100, 10_000, 0.01), (1000, 3000, 0.015)):
        gains = []
        for seed in range(4):
            stream, batch = shop_of(n_actions, n_events, seed)
            plain = earned(batch, actions=stream.actions)
            gains.append(earned(batch, actions=stream.actions, features=stream.features) - plain)
        assert np.mean(gains) > at_least


def test_an_action_that_was_never_played_has_the_score_of_its_features():
    stream, batch = shop_of(40, 4000)
    policy = st.RewardForest(actions=stream.actions, features=stream.features, seed=1)
    policy.play(batch.contexts, batch.rewards)
    row = next(iter(rows(batch.contexts)))
    said = policy.explain(policy.decide(row)).rows
    liked = max(said, key=lambda each: each["similar actions"])["action"]
    policy.add_actions(["copy"], features={"copy": stream.features[liked]})
    by = {each["action"]: each["similar actions"] for each in policy.explain(policy.decide(row)).rows}
    plays, mean = policy._arena.state.crossed.quality[liked]
    assert plays > 0
    quality = mean * plays / (plays + crossed_kernels.QUALITY_PRIOR)
    assert by["copy"] == pytest.approx(by[liked] - quality, abs=1e-9)
    assert list(policy.weights) == ["forest", "linear", "quadratic", "fast linear", "residual", "ridge", "crossed"]


def test_terms_that_stay_keep_their_weights_when_actions_come_and_go():
    rng = np.random.default_rng(5)
    model = crossed.new_crossed(FEATURES, 4, 10**9)
    model.counts[crossed_kernels.CROSSED_PLACES] = 5
    model.weights[:5] = rng.normal(size=model.weights[:5].shape)
    model.quality[:] = rng.random(model.quality.shape)
    after = ActionFeatures.of({9: {"colour": "red", "size": 80.0}, **DESCRIBED}, [9, *range(6)])
    keep = [None, *range(6)]
    more = crossed.crossed_with_actions(model, FEATURES, after, keep, 4, 10**9)
    for index in range(6):
        old = sum(
            v * model.weights[:5, t] for t, v in zip(model.terms[index], model.values[index], strict=True) if t >= 0
        )
        terms, values = more.terms[index + 1], more.values[index + 1]
        new = sum(v * more.weights[:5, t] for t, v in zip(terms, values, strict=True) if t >= 0)
        assert new == pytest.approx(old)
    assert (more.quality[1:] == model.quality).all()
    assert (more.quality[0] == 0.0).all()
    crossed.validate(more, after)
    none = ActionFeatures.of(None, range(6))
    assert crossed.crossed_with_actions(more, after, none, [*range(1, 7)], 4, 10**9).weights.shape == (0, 0)


@pytest.mark.parametrize("shrinkage", [4.0, 0.0])
def test_a_file_without_a_crossed_scorer_is_loaded(shrinkage):
    stream, batch = shop_of(5, 200)
    options = {"actions": stream.actions, "features": stream.features, "seed": 1, "n_trees": 2}
    policy = st.RewardForest(**options)
    policy.play(batch.contexts, batch.rewards)
    saved, arrays = policy.state()
    old = {name: array for name, array in arrays.items() if not name.startswith("crossed.")}
    old["moments"], old["weights"] = stacking_of(arrays["moments"], arrays["weights"], 6)
    loaded = st.RewardForest.from_state(st.types.State({**saved, "shrinkage": shrinkage}, old))
    assert len(loaded.weights) == (7 if shrinkage else 6)
    assert sum(loaded.weights.values()) == pytest.approx(1.0)
    probabilities = loaded.play(batch.contexts, batch.rewards).probabilities
    assert ((probabilities > 0.0) & (probabilities <= 1.0)).all()
    again = st.RewardForest.from_state(loaded.state())
    assert np.array_equal(*(each.play(batch.contexts, batch.rewards).probabilities for each in (loaded, again)))


@pytest.mark.parametrize(
    "array", ["crossed.weights", "crossed.inverse", "crossed.places", "crossed.counts", "crossed.terms"]
)
def test_a_corrupt_file_is_refused(array):
    stream, batch = shop_of(5, 200)
    policy = st.RewardForest(actions=stream.actions, features=stream.features, seed=1, n_trees=2)
    policy.play(batch.contexts, batch.rewards)
    options, arrays = policy.state()
    arrays[array] = np.full_like(arrays[array], 10_000 if array.endswith(("places", "terms")) else np.nan)
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
        st.RewardForest.from_state(st.types.State(options, arrays))


def test_with_many_terms_or_little_memory_only_the_shared_model_is_left():
    assert crossed.n_places_within(512_000_000, 8, 31) == 12
    assert crossed.n_places_within(512_000_000, 8, 97) == 0
    assert crossed.n_places_within(1_000_000, 8, 31) == 0
    stream, batch = shop_of(5, 300)
    wide = {
        action: {**known, "vector": [float(action + place) for place in range(100)]}
        for action, known in stream.features.items()
    }
    policy = st.RewardForest(actions=stream.actions, features=wide, seed=1, n_trees=2)
    policy.play(batch.contexts, batch.rewards)
    assert policy._arena.state.crossed.weights.size == 0
    assert np.isfinite(
        [row["score"] for row in policy.explain(policy.decide(next(iter(rows(batch.contexts))))).rows]
    ).all()
