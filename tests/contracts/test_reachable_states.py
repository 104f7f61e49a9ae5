"""Whatever a stream can lead to can be loaded: every public model after lopsided streams, at its limits and merged."""

import math

import numpy as np
import pytest
from tests.support import public

import stumpery as st
from stumpery.clicks import ClickModel
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.encoding.encoder import Encoder
from stumpery.ensembles.batch_ensemble import BatchEnsemble
from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.policies import ContextualPolicy, Policy
from stumpery.policies.bandit_forest import state_kernels as layout
from stumpery.reinforcement import DeepTree
from stumpery.saving import files
from stumpery.selection import choosers, classifiers
from stumpery.streaming import StreamModel
from stumpery.streaming.classifier import StreamClassifier
from stumpery.summaries.moments import MAX_TOTAL_WEIGHT
from stumpery.system import allocation
from stumpery.types import Decision, Decisions

N = 160
PUBLIC = [
    kind for name in public.__all__ if isinstance(kind := getattr(public, name), type) and hasattr(kind, "from_state")
]
POLICIES = [kind for kind in PUBLIC if issubclass(kind, Policy)]
CONTEXTUAL = [kind for kind in POLICIES if issubclass(kind, ContextualPolicy)]
STREAMS = [kind for kind in PUBLIC if issubclass(kind, StreamModel)]
CLICKS = [kind for kind in PUBLIC if issubclass(kind, ClickModel | PredictorEnsemble)]
ENSEMBLES = [kind for kind in PUBLIC if issubclass(kind, OnlineEnsemble)]
DEEP = [kind for kind in PUBLIC if issubclass(kind, DeepTree)]
TREES = [st.policies.BanditStump, st.policies.BanditTree, st.BanditForest]
OPTIONS = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 2_000_000},
    st.NeuralBandit: {"committee": [(3, 0.1), (4, 0.03)], "gamma": 0.2},
    st.policies.Banditron: {"gamma": 0.2},
    st.policies.BanditStump: {"delta": 1.0, "epsilon": 1.0},
    st.policies.BanditTree: {"delta": 1.0, "epsilon": 1.0, "max_depth": 2},
    st.BanditForest: {"delta": 1.0, "epsilon": 1.0, "n_trees": 3, "max_depth": 2},
    st.ForestClassifier: {"n_models": 2},
    st.ForestRegressor: {"n_models": 2},
    st.DQNTree: {"batch_size": 16},
    st.clicks.RandomHoeffdingTree: {"grace_period": 25, "tau": 0.2},
}
PREDICTORS = [st.clicks.Stump(), st.clicks.HashedStump(), (st.clicks.RandomHoeffdingTree(grace_period=25, tau=0.2), 2)]
ACTIONS = ("a", "b", "c")
RNG = np.random.default_rng(3)
ROWS = {
    "ordinary": [{"x": float(RNG.normal()), "y": str(RNG.integers(3)), "z": int(RNG.integers(2))} for _ in range(N)],
    "constant": [{"x": 7.0, "y": "same", "z": 1} for _ in range(N)],
    "missing": [{"x": None, "y": None, "z": None} for _ in range(N)],
    "many names": [{"x": float(place), "y": f"name {place}", "z": place % 2} for place in range(N)],
    "huge": [{"x": (-1.0) ** place * 10.0 ** (place % 300), "y": "", "z": 0} for place in range(N)],
}
SCHEMA = st.Schema.infer(ROWS["ordinary"], max_categories=5)
LABELS = {
    "alternate": [place % 2 for place in range(N)],
    "equal": [1] * N,
    "rare": [int(place == 99) for place in range(N)],
}
REWARDS = {"zeros": np.zeros(N), "ones": np.ones(N), "mixed": RNG.random(N)}
PROBABILITIES = {"tiny": np.full(N, 1e-9), "one": np.ones(N), "mixed": np.where(np.arange(N) % 40 == 0, 1e-9, 0.9)}
WEIGHTS = {"zero": [0.0] * N, "largest": [1e6] * N, "mixed": [(0.0, 1e-6, 1.0, 1e6)[place % 4] for place in range(N)]}


def test_every_model_that_learns_from_a_stream_is_covered_here():
    others = {
        st.selection.CombinatorialThompson,
        st.ContentSelector,
        st.summaries.CountMin,
        st.FeatureSelector,
        st.summaries.Moments,
        st.reinforcement.OptimalTree,
    }
    others |= {st.reinforcement.PolicyTree, st.summaries.QuantileSummary}
    from_tables = {kind for kind in PUBLIC if issubclass(kind, Encoder | BatchEnsemble) or kind is st.Schema}
    assert set(PUBLIC) == {*POLICIES, *STREAMS, *CLICKS, *ENSEMBLES, *DEEP, *others, *from_tables}


def fields_of(value):
    """A value as plain nested lists, its arrays as bits."""
    if hasattr(value, "tobytes"):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return {name: fields_of(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [fields_of(each) for each in value]
    return repr(value)


def assert_loads(model):
    """The state of a model is accepted, and is the same again."""
    options, arrays = model.state()
    found_options, found = type(model).from_state(model.state()).state()
    assert fields_of(found_options) == fields_of(options)
    assert found.keys() == arrays.keys()
    for name in arrays:
        assert fields_of(found[name]) == fields_of(arrays[name]), name


def new_policy(kind, **options):
    if issubclass(kind, ContextualPolicy):
        options = {"schema": SCHEMA, **OPTIONS.get(kind, {}), **options}
    return kind(**{"actions": ACTIONS, "seed": 5, **options})


def logged(policy, rows, actions, probabilities, rewards):
    """Learn from a log, and decide a little in between."""
    contexts = rows if isinstance(policy, ContextualPolicy) else [None] * len(rows)
    for start in range(0, len(rows), 40):
        here = slice(start, start + 40)
        policy.learn_many(Decisions(list(actions[here]), probabilities[here], contexts[here]), rewards[here])
        policy.decide(contexts[start])
    assert_loads(policy)


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def policy(request):
    return request.param


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("probabilities", PROBABILITIES)
def test_policies_load_after_any_logged_probabilities(policy, probabilities, rewards):
    actions = [ACTIONS[place % 3] for place in range(N)]
    logged(new_policy(policy), ROWS["ordinary"], actions, PROBABILITIES[probabilities], REWARDS[rewards])


@pytest.mark.parametrize("rows", ROWS)
def test_policies_load_after_one_action_and_odd_columns(policy, rows):
    for schema in (SCHEMA, st.Schema.infer(ROWS[rows], max_categories=60)):
        more = {"schema": schema} if issubclass(policy, ContextualPolicy) else {}
        try:
            made = new_policy(policy, **more)
        except ValueError as error:
            assert "schema has no bit" in str(error)  # columns without values say nothing
            continue
        logged(made, ROWS[rows], ["a"] * N, PROBABILITIES["mixed"], REWARDS["mixed"])


def test_policies_load_after_actions_came_and_went(policy):
    made = new_policy(policy)
    for turn in range(6):
        logged(made, ROWS["ordinary"], [made.actions[0]] * N, PROBABILITIES["mixed"], REWARDS["mixed"])
        made.add_action(f"new {turn}")
        assert_loads(made)
        made.remove_action(made.actions[turn % 2])
        assert_loads(made)


@pytest.mark.parametrize("leaf", ["elimination", "ucb", "thompson"])
@pytest.mark.parametrize("weights", ["self-normalised", "ips", "none"])
@pytest.mark.parametrize("kind", TREES, ids=lambda kind: kind.__name__)
def test_bandit_trees_load_after_lopsided_logs(kind, weights, leaf):
    rng = np.random.default_rng(7)
    for trial in range(4):
        full = {"max_bytes": 3200 + 900 * trial} if kind is not st.BanditForest else {"max_bytes": 7000}
        for memory in ({}, full):
            made = new_policy(kind, leaf=leaf, weights=weights, **memory)
            probabilities = 10.0 ** rng.choice([-9, -6, -3, -0.04, 0], N)
            actions = rng.choice(ACTIONS, N, p=[0.9, 0.05, 0.05]).tolist()
            logged(made, ROWS["ordinary"], actions, probabilities, rng.choice([0.0, 0.9727, 1.0], N))


def lopsided_stump(**options):
    """One play of a tiny probability on one side of a bit, many ordinary ones on both."""
    policy = st.policies.BanditStump(
        actions=["a", "b"], schema=st.Schema.infer([{"x": True}, {"x": False}]), leaf="thompson", seed=1, **options
    )
    log = [("a", 1e-6, True, 1.0)] + [("a", 1 / 1.1, True, 0.9727)] * 200 + [("a", 1 / 1.1, False, 1.0)] * 6
    for action, probability, x, reward in log + [("b", 0.5, x, 1.0) for x in (True, False, True)]:
        policy.learn(Decision(action, probability, {"x": x}), reward)
    return policy


def test_no_leaf_of_a_bandit_tree_has_a_mean_above_1():
    policy = lopsided_stump()
    assert len(policy.leaves()) == 4
    assert all(row["mean"] <= 1.0 for row in policy.leaves())
    assert_loads(policy)


def test_a_bandit_leaf_without_memory_for_children_counts_without_weights():
    policy = lopsided_stump().clone(seed=1)
    small = policy._state._replace(nodes=policy._state.nodes[:2])  # its root has no memory for children
    policy._state = small
    for action, probability, reward in [("a", 1e-6, 1.0)] + [("a", 0.9, 0.5)] * 60 + [("b", 0.5, 1.0)] * 3:
        policy.learn(Decision(action, probability, {"x": True}), reward)
    assert small.nodes[0, layout.NODE_CHOICE] == layout.SELECTING_ACTION
    assert (small.arms[1, :, layout.ARM_SUM] <= small.arms[1, :, layout.ARM_PLAYS]).all()


def test_earlier_files_whose_leaves_have_means_above_1_load():
    policy = lopsided_stump()
    policy._state.arms[1, 0, layout.ARM_SUM] = 30.35
    loaded = st.policies.BanditStump.from_state(policy.state())
    assert loaded._state.arms[1, 0, layout.ARM_SUM] == loaded._state.arms[1, 0, layout.ARM_PLAYS] == 6.0


@pytest.mark.parametrize("plays", [2.0**30, 2.0**31 - 2, 2.0**31, 2.0**52])
@pytest.mark.parametrize("kind", TREES, ids=lambda kind: kind.__name__)
def test_bandit_trees_load_after_as_many_plays_as_can_be_counted(kind, plays):
    policy = new_policy(kind, epsilon=0.0)
    forest = policy._state
    forest.arms[: forest.pool[layout.POOL_N_LEAVES], :, layout.ARM_PLAYS] = plays
    forest.leaves[1 : forest.pool[layout.POOL_N_LEAVES], layout.LEAF_NEXT_CHECK] = min(plays + 1, 2**31 - 1)
    forest.leaves[1 : forest.pool[layout.POOL_N_LEAVES], layout.LEAF_N_WAITING] = len(ACTIONS)
    for place in range(30):
        policy.learn(Decision(ACTIONS[place % 3], 0.5, ROWS["ordinary"][place]), 0.5)
    assert (forest.leaves[1 : forest.pool[layout.POOL_N_LEAVES], layout.LEAF_NEXT_CHECK] >= 0).all()
    assert_loads(policy)
    policy.add_action("new")
    assert_loads(policy)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", STREAMS, ids=lambda kind: kind.__name__)
def test_stream_models_load_after_odd_streams(kind, rows, labels):
    for weights in WEIGHTS.values():
        model = kind(**{"grace_period": 25, "seed": 3, **OPTIONS.get(kind, {})})
        given = LABELS[labels] if issubclass(kind, StreamClassifier) else [1e9 * label for label in LABELS[labels]]
        model.learn_many(ROWS[rows], given, weights)
        assert_loads(model)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", CLICKS, ids=lambda kind: kind.__name__)
def test_click_models_load_after_odd_streams(kind, rows, labels):
    options = {"predictors": PREDICTORS} if issubclass(kind, PredictorEnsemble) else OPTIONS.get(kind, {})
    for schema in (SCHEMA, None):
        model = kind(seed=5, schema=schema, **options)
        for _ in range(3):
            try:
                model.learn_many(ROWS[rows], LABELS[labels])
            except ValueError as error:
                assert schema is None and "columns" in str(error)  # nothing that a predictor could use
                break
            assert_loads(model)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("rows", ["constant", "many names", "ordinary"])
@pytest.mark.parametrize("kind", [*ENSEMBLES, *DEEP], ids=lambda kind: kind.__name__)
def test_ensembles_and_deep_trees_load_after_odd_streams(kind, rows, labels):
    if issubclass(kind, DeepTree):
        pytest.importorskip("jax")
        model = kind(warm_up=40, memory=100, n_cells=2, seed=5, **OPTIONS.get(kind, {}))
    else:
        members = [st.HoeffdingTreeClassifier(grace_period=25), st.HoeffdingTreeClassifier(max_depth=0)]
        model = kind(models=members, seed=3)
    model.learn_many(ROWS[rows], LABELS[labels])
    assert_loads(model)


@pytest.mark.parametrize("labels", LABELS)
def test_feature_selectors_load_after_odd_streams(labels):
    pairs = (
        (choosers.thompson(), classifiers.SmallNetwork()),
        (choosers.epsilon_greedy(), classifiers.SparsePerceptron()),
        (choosers.ucb(), classifiers.Perceptron()),
        (choosers.loss_reduction(), classifiers.AdditiveModel(memory=60)),
    )
    for chooser, learner in pairs:
        selector = st.FeatureSelector(
            features=["x", "y", "z"], n_features=2, chooser=chooser, classifier=learner, classes=(0, 1), seed=5
        )
        for row, label in zip(([7.0, 1e9, 0.0], [7.0, -1e9, 1e-300]) * 30, LABELS[labels], strict=False):
            selector.tell(dict(zip("xyz", row, strict=True)), label)
        assert_loads(selector)


def test_content_selectors_and_exact_trees_load_after_odd_streams():
    for rows in ("constant", "ordinary", "many names"):
        selector = st.ContentSelector(
            model=st.clicks.Average(predictors=PREDICTORS, schema=SCHEMA), seed=3, epsilon=0.1
        )
        for place in range(40):
            selector.learn(selector.decide(ROWS[rows][place : place + 3]), place % 2)
        assert_loads(selector)
    tree = st.reinforcement.OptimalTree(depth_penalty=0.01)
    tree.learn_many([{"y": row["y"]} for row in ROWS["ordinary"]], LABELS["equal"])
    assert_loads(tree)
    assert_loads(tree.tree())


def merged_to_the_limit(summary, most=1100):
    """Double a summary until it refuses, which it must do in one sentence and unchanged."""
    for _ in range(most):
        before = fields_of(summary.state())
        try:
            summary.merge(summary)
        except ValueError as error:
            assert str(error).startswith("together they have counted ")
            assert fields_of(summary.state()) == before
            assert_loads(summary)
            return
        assert_loads(summary)
    pytest.fail("it has no limit")


@pytest.mark.parametrize(
    "options", [{"max_tuples": 7}, {"max_tuples": 100}, {"epsilon": 0.05}, {"max_tuples": 30, "n_classes": 2}], ids=str
)
@pytest.mark.parametrize("values", ["different", "equal", "missing"])
def test_summaries_of_quantiles_load_however_often_they_merge(options, values):
    summary = st.summaries.QuantileSummary(**options)
    numbers = {"different": RNG.random(8191), "equal": np.ones(8191), "missing": np.full(8191, math.nan)}[values]
    summary.add_many(numbers)
    if values == "missing":
        assert_loads(summary)
        return
    merged_to_the_limit(summary)


def test_a_summary_near_31_bits_keeps_its_rank_error():
    summary = st.summaries.QuantileSummary(max_tuples=100)
    summary.add_many(np.random.default_rng(0).random(131_071))
    for _ in range(14):
        summary.merge(summary)
        assert_loads(summary)
    assert summary.count == 131_071 * 2**14
    assert abs(summary.quantile(0.5) - 0.5) < 0.05


def test_moments_load_however_often_they_merge():
    for values in ([1.0, 2.0], [1e100, -1e100], [3.0, 3.0]):
        summary = st.summaries.Moments()
        summary.add_many(values)
        merged_to_the_limit(summary)
        assert MAX_TOTAL_WEIGHT / 4 < summary.count <= MAX_TOTAL_WEIGHT


def test_sketches_load_however_often_they_merge():
    sketch = st.summaries.CountMin(width=16, depth=2)
    sketch.add_many(["a", "b", "a"])
    merged_to_the_limit(sketch)


def test_combinatorial_policies_load_however_often_they_merge():
    policy = st.selection.CombinatorialThompson(actions=ACTIONS, size=2, seed=1)
    for reward in (1.0, 0.3, 0.0):
        policy.learn(("a", "b"), reward)
    merged_to_the_limit(policy)
    assert policy._sums.max() > 2.0**51


@pytest.mark.parametrize("kind", [st.BanditForest, st.RewardForest], ids=lambda kind: kind.__name__)
def test_a_forest_of_512_mb_loads_with_what_its_file_may_take(kind, tmp_path):
    """Its file is small: all of it is taken from what any file may take."""
    options = {"n_trees": 100, "max_depth": 7} if kind is st.BanditForest else {}
    policy = kind(actions=range(10), max_bytes=512_000_000, seed=1, **options)
    rows = (np.random.default_rng(1).random((30, 1000)) < 0.5).astype(np.uint8)
    policy.play(rows, np.zeros((30, 10)))
    if kind is st.BanditForest:
        assert policy.n_bytes > 480_000_000
    st.save(policy, tmp_path / "policy")
    loaded = st.load(tmp_path / "policy")
    assert fields_of(loaded.state().arrays) == fields_of(policy.state().arrays)


@pytest.mark.parametrize("n_used", [0, 2**24, 2**25, 2**27, 512_000_000])
def test_a_file_may_take_a_model_of_512_mb_beside_the_arrays_that_it_unpacks(n_used):
    """However well they are packed: padding keeps the file in proportion."""
    n_bytes = max(n_used - files.FREE_UNPACKED, 0) / files.MAX_RATIO
    assert n_used + 512_000_000 <= files.FREE_BYTES + files.MULTIPLE * n_bytes


def test_arrays_that_others_replace_are_not_counted_twice():
    with allocation.limited(100):
        with allocation.provisional():
            allocation.reserve(80)
        allocation.reserve(80)
        with pytest.raises(st.CapacityError, match="ask for 80 bytes more"), allocation.provisional():
            allocation.reserve(80)
