"""The bandit stump, tree and forest against their slow twin, the paper's toy problem and the optimal greedy tree."""

import itertools

import numpy as np
import pytest
from tests.reference.bandit_forest import Forest as SlowForest
from tests.support import assert_same_play, assert_same_state

import stumpery as st
from stumpery import jit
from stumpery.policies import Policy
from stumpery.policies.bandit_forest import state_kernels as layout
from stumpery.policies.bandit_forest.optimal_greedy_tree import optimal_greedy_tree, variable_rewards
from stumpery.random import new_generator
from stumpery.types import Decision, State

N_ROWS = 400 if jit.INTERPRETED else 3000
LOOSE = {"delta": 1.0, "epsilon": 0.9}  # little proof is asked for: trees grow within a short stream
TWINS = {
    "stump": (st.policies.BanditStump, {}, {}),
    "stump in turn": (st.policies.BanditStump, {"explore": "in turn", "weights": "none"}, {}),
    "tree": (st.policies.BanditTree, {"max_depth": 3}, {"depths": (3, 3)}),
    "tree with inverse weights": (st.policies.BanditTree, {"max_depth": 2, "weights": "ips"}, {"depths": (2, 2)}),
    "tree of UCB leaves": (st.policies.BanditTree, {"max_depth": 2, "leaf": "ucb"}, {"depths": (2, 2)}),
    "tree of Thompson leaves": (st.policies.BanditTree, {"max_depth": 2, "leaf": "thompson"}, {"depths": (2, 2)}),
    "deeper than columns": (st.policies.BanditTree, {"max_depth": 9}, {"depths": (9, 9)}),
    "forest, any": (st.BanditForest, {"max_depth": (1, 3)}, {"depths": (1, 3)}),
    "forest, all": (st.BanditForest, {"max_depth": 2, "vote": "all"}, {"depths": (2, 2), "needed": 5}),
    "forest, share": (st.BanditForest, {"max_depth": 2, "vote": 0.5}, {"depths": (2, 2), "needed": 3}),
    "forest in turn": (st.BanditForest, {"max_depth": 2, "explore": "in turn"}, {"depths": (2, 2)}),
    "forest of UCB leaves": (st.BanditForest, {"max_depth": (1, 2), "leaf": "ucb"}, {"depths": (1, 2)}),
}


def events(seed, n_rows=N_ROWS, n_variables=5, n_actions=3):
    """Bits, and rewards in quarters that two of them decide: sums of them are exact."""
    rng = np.random.default_rng(seed)
    contexts = (rng.random((n_rows, n_variables)) < rng.uniform(0.3, 0.7, n_variables)).astype(np.uint8)
    right = contexts[:, 1] + (contexts[:, 3] & contexts[:, 1])
    paid = rng.integers(0, 3, size=(n_rows, n_actions)) + 2 * (right[:, None] == np.arange(n_actions))
    return contexts, paid / 4


def with_rng(policy, seed):
    """The same policy with other random numbers to come."""
    options, arrays = policy.state()
    return type(policy).from_state(State(options, {**arrays, "rng": new_generator(seed)}))


@pytest.mark.kernels
@pytest.mark.parametrize("name", TWINS)
def test_the_kernels_decide_as_the_reference(name):
    kind, options, twin_options = TWINS[name]
    options, twin_options = {**LOOSE, **options}, {"epsilons": (0.9, 0.9), "delta": 1.0, **twin_options}
    if kind is st.BanditForest:
        options["n_trees"] = twin_options["n_trees"] = 5
        options["epsilon"] = twin_options["epsilons"] = (0.8, 1.0)
        twin_options["share"] = 0.8
    for key in {"explore", "weights", "leaf"} & options.keys():
        twin_options[key] = options[key]
    contexts, rewards = events(seed=3)
    policy = kind(actions=["a", "b", "c"], seed=4, **options)
    played = policy.play(contexts, rewards)
    twin = SlowForest(3, 5, 4, **twin_options)
    for row, (bits, paid) in enumerate(zip(contexts.tolist(), rewards.tolist(), strict=True)):
        action, probability = twin.decide(bits)
        assert played.actions[row] == action, row
        if "Thompson" not in name:
            assert played.probabilities[row] == pytest.approx(probability, rel=1e-12)
        twin.learn(bits, action, paid[action], float(played.probabilities[row]))
    if not jit.INTERPRETED:
        assert policy._state.pool[layout.POOL_N_NODES] > len(policy._state.trees)
        assert policy.exploring < 0.9 or "all" in name or "deeper" in name


@pytest.mark.kernels
@pytest.mark.parametrize("name", TWINS)
def test_playing_equals_deciding_and_learning_one_by_one(name):
    kind, options, _ = TWINS[name]
    options = {"n_trees": 4, **options} if kind is st.BanditForest else options
    contexts, rewards = events(seed=1, n_rows=min(N_ROWS, 1000))
    fast, slow = (kind(actions=range(3), seed=2, **LOOSE, **options) for _ in range(2))
    played, expected = fast.play(contexts, rewards), Policy._play(slow, contexts, rewards)
    assert_same_play(played, expected)
    assert_same_state(fast, slow)


@pytest.mark.parametrize("name", TWINS)
def test_a_policy_saved_half_way_goes_on_as_if_never_stopped(name, tmp_path):
    kind, options, _ = TWINS[name]
    contexts, rewards = events(seed=5)
    straight, first = (kind(actions=range(3), seed=2, **LOOSE, **options) for _ in range(2))
    expected = straight.play(contexts, rewards)
    first.play(contexts[:1700], rewards[:1700])
    st.save(first, tmp_path / "policy.safetensors")
    second = st.load(tmp_path / "policy.safetensors")
    played = second.play(contexts[1700:], rewards[1700:])
    assert played.actions.tolist() == expected.actions[1700:].tolist()
    assert_same_state(second, straight)


@pytest.mark.parametrize("vote", ["any", "all", 0.4])
@pytest.mark.parametrize("leaf", ["elimination", "ucb", "thompson"])
def test_stated_probabilities_are_frequencies(vote, leaf):
    contexts, rewards = events(seed=2, n_rows=1500)
    policy = st.BanditForest(actions=range(3), n_trees=5, max_depth=2, vote=vote, leaf=leaf, delta=1.0, epsilon=0.8)
    policy.play(contexts, rewards)
    n = 600
    for row in contexts[:3]:
        decisions = [with_rng(policy, seed).decide(row) for seed in range(n)]
        probabilities = {decision.action: decision.probability for decision in decisions}
        for action, probability in probabilities.items():
            seen = sum(decision.action == action for decision in decisions) / n
            assert abs(seen - probability) < (
                0.15 if leaf == "thompson" else 5 * np.sqrt(probability * (1 - probability) / n) + 1e-9
            )


TABLE_1 = {
    "contexts": [[0, 0], [0, 1], [1, 0], [1, 1]],
    "probabilities": [9 / 16, 1 / 16, 3 / 16, 3 / 16],
    "rewards": [[0, 1 / 2], [0, 3 / 2], [1, 0], [1, 1 / 3]],
}  # the only kind of distribution with the margins of Table 1: one mean of k2 must be above 1


def test_table_1_is_what_its_distribution_gives():
    contexts, probabilities, means = (np.array(part) for part in TABLE_1.values())
    for action, variable, value, mean in [
        (0, 0, 0, 0), (0, 0, 1, 1), (1, 0, 0, 3 / 5), (1, 0, 1, 1 / 6),
        (0, 1, 0, 1 / 4), (0, 1, 1, 3 / 4), (1, 1, 0, 9 / 24), (1, 1, 1, 5 / 8),
    ]:  # fmt: skip
        here = contexts[:, variable] == value
        assert probabilities[here] @ means[here, action] / probabilities[here].sum() == pytest.approx(mean)
    assert probabilities[contexts[:, 0] == 0].sum() == 5 / 8
    assert probabilities[contexts[:, 1] == 0].sum() == 3 / 4


def test_the_values_of_the_toy_problem_are_the_papers():
    assert optimal_greedy_tree(**TABLE_1, max_depth=0).reward == pytest.approx(7 / 16)
    assert variable_rewards(*TABLE_1.values()) == pytest.approx([3 / 4, 15 / 32])
    tree = optimal_greedy_tree(**TABLE_1, max_depth=1)
    assert (tree.variable, tree.decide([0, 1]), tree.decide([1, 0])) == (0, 1, 0)
    assert tree.reward == pytest.approx(3 / 4)
    second = optimal_greedy_tree(**TABLE_1, max_depth=1, candidates=lambda path: [1])
    assert second.reward == pytest.approx(15 / 32)


def drawn(problem, n_rows, seed):
    """Contexts of a listed distribution, and rewards that are all or nothing around its means."""
    rng = np.random.default_rng(seed)
    contexts, probabilities, means = (np.array(part) for part in problem.values())
    rows = rng.choice(len(probabilities), size=n_rows, p=probabilities)
    most = max(1.0, means.max())
    return contexts[rows].astype(np.uint8), most * (rng.random((n_rows, means.shape[1])) < means[rows] / most)


def test_the_stump_picks_the_first_variable_of_the_toy_problem():
    for seed in range(10):
        policy = st.policies.BanditStump(actions=["k1", "k2"], epsilon=0.1, seed=seed, reward_range=(0, 1.5))
        policy.play(*drawn(TABLE_1, 20_000, seed))
        assert policy.to_text().startswith("x0?")
        assert policy.decide(np.array([0, 1])).action == "k2"
        assert policy.decide(np.array([1, 0])).action == "k1"


@pytest.mark.parametrize("weights", ["self-normalised", "ips", "none"])
@pytest.mark.parametrize("seed", [1860, 2375, 2730])  # in these no choice of the optimal tree is won by less than 0.07
def test_a_tree_finds_the_optimal_greedy_tree(weights, seed):
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 3, size=8)
    problem = {
        "contexts": list(itertools.product((0, 1), repeat=3)),
        "probabilities": rng.dirichlet(np.full(8, 20.0)),
        "rewards": np.where(right[:, None] == np.arange(3), 0.9, 0.1),
    }
    policy = st.policies.BanditTree(actions=range(3), max_depth=2, epsilon=0.05, delta=0.5, weights=weights, seed=seed)
    policy.play(*drawn(problem, 300_000, seed))
    assert learned_tree(policy) == shape(optimal_greedy_tree(**problem, max_depth=2))


def shape(tree):
    return tree.action if tree.variable is None else (tree.variable, *map(shape, tree.children))


def learned_tree(policy, node=0):
    child, variable, choice, _ = policy._state.nodes[node].tolist()
    return choice if child == node else (variable, *(learned_tree(policy, each) for each in (child, child + 1)))


@pytest.mark.parametrize(("n_variables", "full"), [(12, "leaves"), (300, "sums")])
def test_a_tree_grows_within_its_bytes_and_no_further(n_variables, full):
    contexts, rewards = events(seed=1, n_rows=60_000, n_variables=n_variables)
    policy = st.policies.BanditTree(actions=range(3), max_depth=8, max_bytes=20_000, **LOOSE)
    policy.play(contexts[:10], rewards[:10])
    before = policy.n_bytes
    policy.play(contexts, rewards)
    assert policy.n_bytes == before <= 20_000
    forest = policy._state
    in_use = forest.pool[layout.POOL_N_LEAVES if full == "leaves" else layout.POOL_N_BLOCKS]
    assert in_use == len(getattr(forest, full))
    assert policy.exploring < 0.3  # a leaf without memory to grow still finds its action


@pytest.mark.parametrize(("kind", "words"), [(st.policies.BanditTree, "one tree"), (st.BanditForest, "100 trees")])
def test_too_little_memory_is_refused_in_one_sentence(kind, words):
    policy = kind(actions=range(3), max_bytes=400, max_depth=4)
    message = rf"^max_bytes is 400; {words} over 5 bits and 3 actions need at least \d+$"
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            policy.decide(np.zeros(5, np.uint8))
    with pytest.raises(ValueError, match=r"^max_bytes is 400"):
        kind(actions=range(3), max_bytes=400, schema=st.Schema.of({f"x{i}": [0] for i in range(200)}))
    with pytest.raises(ValueError, match=message) as refusal:
        policy.decide(np.zeros(5, np.uint8))
    needed = int(str(refusal.value).rsplit(" ", 1)[1])
    enough = kind(actions=range(3), max_bytes=needed, max_depth=4)
    enough.play(*events(seed=1, n_rows=500))
    assert enough.n_bytes <= needed


def test_no_memory_for_another_action_changes_nothing():
    policy = st.policies.BanditTree(actions=range(3), max_bytes=900)
    contexts, rewards = events(seed=1, n_rows=500)
    policy.play(contexts, rewards)
    before = policy.state()
    with pytest.raises(st.CapacityError, match=r"^max_bytes is 900"):
        for action in range(3, 30):
            policy.add_action(action)
            before = policy.state()
    assert policy.state().options == before.options
    policy.decide(contexts[0])


@pytest.mark.parametrize("kind", [st.policies.BanditStump, st.policies.BanditTree, st.BanditForest])
def test_an_added_action_is_tried_in_finished_leaves_and_wins_where_it_pays(kind):
    options = {"n_trees": 5, "max_depth": 2} if kind is st.BanditForest else {}
    contexts, rewards = events(seed=1, n_rows=20_000)
    policy = kind(actions=["a", "b", "c"], seed=1, **LOOSE, **options)
    policy.play(contexts, rewards)
    assert policy.exploring < 0.1
    policy.add_action("best")
    policy.play(contexts, np.column_stack([rewards * 0.2, np.ones(len(rewards))]))
    assert {policy.decide(row).action for row in contexts[:50]} == {"best"}


@pytest.mark.parametrize("kind", [st.policies.BanditStump, st.policies.BanditTree, st.BanditForest])
def test_a_removed_action_is_forgotten_and_the_others_compete_where_it_won(kind, tmp_path):
    options = {"n_trees": 5, "max_depth": 2} if kind is st.BanditForest else {}
    contexts, rewards = events(seed=1, n_rows=10_000)
    policy = kind(actions=["a", "b", "c"], seed=1, **LOOSE, **options)
    policy.play(contexts, rewards)
    known = {row["action"]: row["n"] for row in policy.explain().rows}
    policy.remove_action("a")
    assert {row["action"]: row["n"] for row in policy.explain().rows} == {k: known[k] for k in "bc"}
    with pytest.raises(ValueError, match=r"^action is 'a'; it must be one of 'b', 'c'$"):
        policy.learn(Decision("a", 1.0, contexts[0]), 1.0)
    st.save(policy, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    played, same = (each.play(contexts, rewards[:, 1:]) for each in (policy, again))
    assert played.actions.tolist() == same.actions.tolist()
    assert set(played.actions) <= {0, 1}
    assert policy.exploring < 0.5
    assert_same_state(policy, again)


@pytest.mark.parametrize("options", [{}, {"leaf": "ucb"}, {"leaf": "thompson"}, {"vote": "all"}])
@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("n_actions", [1, 3])
@pytest.mark.parametrize("contexts", [np.zeros((3000, 4)), np.ones((3000, 1)), np.arange(3000)[:, None] % 2], ids=len)
def test_constant_columns_rewards_and_a_lone_action_are_ordinary(contexts, n_actions, reward, options):
    policy = st.BanditForest(actions=range(n_actions), n_trees=4, max_depth=3, seed=1, epsilon=1.0, **options)
    played = policy.play(contexts, np.full((len(contexts), n_actions), reward))
    assert ((played.probabilities > 0) & (played.probabilities <= 1)).all()
    if n_actions == 1:
        assert (played.probabilities == 1).all() or options == {"leaf": "thompson"}
    assert "x0" in policy.to_text() or policy._state.pool[layout.POOL_N_NODES] == 4


def test_contexts_may_be_rows_of_mixed_columns_with_anything_missing():
    rng = np.random.default_rng(1)
    rows = [
        {"age": None if i % 7 == 0 else int(rng.integers(20, 60)), "device": str(rng.choice(["phone", "desktop"]))}
        for i in range(6000)
    ]
    right = ["x" if row["device"] == "phone" else "y" for row in rows]
    policy = st.policies.BanditTree(actions=["x", "y"], max_depth=2, seed=1, schema=st.Schema.infer(rows[:500]))
    result = st.play(policy, contexts=rows, rewards=right)
    assert result.rewards[-500:].mean() > 0.95
    assert policy.decide({}).action in ("x", "y")
    decision = policy.decide({"device": "phone", "age": 31})
    said = policy.explain(decision)
    assert said.summary.startswith("'x' was chosen with probability 1: where ")
    assert "device = " in said.summary
    assert {row["action"] for row in said.rows} == {"x", "y"}


def test_only_available_actions_are_played():
    contexts, rewards = events(seed=1)
    for options in ({}, {"vote": "all"}, {"leaf": "ucb"}, {"leaf": "thompson"}, {"explore": "in turn"}):
        policy = st.BanditForest(actions=["a", "b", "c"], n_trees=5, max_depth=2, **LOOSE, **options)
        policy.play(contexts, rewards)
        for available in itertools.chain(itertools.combinations("abc", 1), itertools.combinations("abc", 2)):
            for row in contexts[:20]:
                action, probability, _ = policy.decide(row, available=available)
                assert action in available
                assert 0 < probability <= 1


def test_a_forest_explains_its_votes():
    contexts, rewards = events(seed=1)
    policy = st.BanditForest(actions=["a", "b", "c"], n_trees=9, max_depth=2, seed=1, **LOOSE)
    assert "chosen" not in policy.explain().summary
    policy.play(contexts, rewards)
    explained = policy.explain(policy.decide(contexts[0]))
    assert sum(row["votes"] for row in explained.rows) > 0
    assert "trees have chosen an action for it" in explained.summary
    assert "x1 (" in explained.summary
    assert "margin" in explained.summary
    assert len(policy.to_text(8).splitlines()) >= 3
    with pytest.raises(ValueError, match=r"^tree is 9; it must be a whole number from 0 to 8$"):
        policy.to_text(9)


WRONG_OPTIONS = [
    *(("epsilon", value) for value in (-0.1, 1.1, (0.8, 0.4), (0.1, 0.2, 0.3), "low", None, True)),
    *(("delta", value) for value in (0, 1.5, None)),
    *(("max_depth", value) for value in (0, 1.5, (3, 2), (0, 2), (1, 2, 3), "deep", None)),
    *(("n_trees", value) for value in (0, 1.5, None)),
    *(("variables", value) for value in (0, 1.1, None)),
    *(("vote", value) for value in ("most", 0, 1.5, None, True)),
    *(("leaf", value) for value in ("besa", None)),
    *(("weights", value) for value in ("snips", None)),
    *(("explore", value) for value in ("round robin", None)),
    *(("max_bytes", value) for value in (0, 1e6, None)),
    *(("n_bins", value) for value in (1, 2.5, None)),
    ("schema", {"x": "numerical"}),
]


@pytest.mark.parametrize(("name", "value"), WRONG_OPTIONS)
def test_wrong_options_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} is [^\n]*$"):
        st.BanditForest(actions=["a", "b"], **{name: value})


@pytest.fixture(scope="module")
def grown():
    """The state of trees of which some have split, some leaves have chosen, and some select."""
    contexts, rewards = events(seed=1)
    policy = st.BanditForest(actions=range(3), n_trees=5, max_depth=2, **LOOSE)
    policy.play(contexts, rewards)
    state = policy.state()
    nodes = state.arrays["nodes"]
    assert (nodes[:, layout.NODE_CHILD] != np.arange(len(nodes))).any()
    return state


def leaf_and_inner(nodes):
    """A node without children, and one with."""
    is_leaf = nodes[:, layout.NODE_CHILD] == np.arange(len(nodes))
    return int(np.flatnonzero(is_leaf)[-1]), int(np.flatnonzero(~is_leaf)[0])


CORRUPT = {
    "a node without children has": (layout.NODE_VARIABLE, 0, lambda leaf, inner, nodes: 0),  # decide never ended
    "the variable of a node": (layout.NODE_VARIABLE, 1, lambda leaf, inner, nodes: 10**6),
    "the child of node [0-9]+ is not a node": (
        layout.NODE_CHILD,
        1,
        lambda leaf, inner, nodes: len(nodes) - 1,
    ),
    "is not a node": (layout.NODE_CHILD, 1, lambda leaf, inner, nodes: 1 + (inner == 1)),
    "node [0-9]+ (has two parents|is in no tree)": (layout.NODE_CHILD, 0, lambda leaf, inner, nodes: nodes[inner, 0]),
    "node [0-9]+ is in no tree": (layout.NODE_CHILD, 1, lambda leaf, inner, nodes: inner),
    "two nodes share a leaf": (layout.NODE_LEAF, 0, lambda leaf, inner, nodes: nodes[leaf - 1, layout.NODE_LEAF]),
    "the leaf of a node": (layout.NODE_LEAF, 0, lambda leaf, inner, nodes: 0),
    "the choice of a node": (layout.NODE_CHOICE, 0, lambda leaf, inner, nodes: 3),
}


@pytest.mark.parametrize("sentence", CORRUPT)
def test_one_changed_number_of_a_node_is_refused_by_name(grown, sentence):
    field, which, value = CORRUPT[sentence]
    nodes = grown.arrays["nodes"].copy()
    places = leaf_and_inner(nodes)
    nodes[places[which], field] = value(*places, nodes)
    with pytest.raises(ValueError, match=f"^corrupt file: .*{sentence}[^\n]*$"):
        st.BanditForest.from_state(State(grown.options, {**grown.arrays, "nodes": nodes}))


def test_a_state_that_no_stream_led_to_is_refused():
    contexts, rewards = events(seed=1)
    policy = st.BanditForest(actions=range(3), n_trees=5, max_depth=2, **LOOSE)
    policy.play(contexts, rewards)
    options, arrays = policy.state()

    def broken(name, change):
        array = arrays[name].copy()
        change(array)
        return State(options, {**arrays, name: array})

    def put(*place, value):
        return lambda array: array.__setitem__(place, value)

    wrong = [
        broken("nodes", put(0, layout.NODE_CHILD, value=10**6)),
        broken("nodes", put(0, layout.NODE_VARIABLE, value=-1)),
        broken("nodes", put(1, layout.NODE_LEAF, value=10**6)),
        broken("nodes", put(-1, layout.NODE_CHOICE, value=3)),
        broken("arms", put(1, 0, 0, value=np.nan)),
        broken("arms", put(1, 0, 0, value=-1.0)),
        broken("capacity", put(0, value=10**9)),
        broken("pool", put(layout.POOL_N_NODES, value=10**6)),
        broken("clock", put(0, value=2.0)),
        State(options, {name: array for name, array in arrays.items() if name != "pool"}),
        State({**options, "schema": None}, {k: v for k, v in arrays.items() if "schema" not in k}),
        State(options, {**arrays, "arms": arrays["arms"].astype(np.float32)}),
    ]
    for state in wrong:
        with pytest.raises(ValueError, match=r"^(its|corrupt file:) [^\n]*$"):
            st.BanditForest.from_state(state)


def test_sums_that_round_differently_are_saved_and_loaded():
    policy = st.policies.BanditStump(actions=range(3))
    policy.play(np.full((400, 1), 3.0), np.column_stack([np.ones(400), np.zeros(400), np.full(400, 0.4)]))
    assert "?" in policy.to_text()
    restored = st.policies.BanditStump.from_state(policy.state())
    assert restored.to_text() == policy.to_text()


def test_columns_without_any_bit_are_refused():
    with pytest.raises(
        ValueError, match=r"^schema has no bit: its columns have no names yet; give rows to Schema\.extend$"
    ):
        st.policies.BanditTree(actions=["a", "b"], schema=st.Schema.of({"device": "categorical"}))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"probabilities": [[1.0]]}, "contexts, probabilities and rewards have shapes .*; each needs one row for .*"),
        ({"probabilities": 1.0}, "contexts, probabilities and rewards have shapes .*"),
        ({"rewards": np.zeros((1, 0))}, "rewards have shape .*; they must be finite numbers, a column for each action"),
        ({"rewards": [[np.nan, 1.0]]}, "rewards have shape .*; they must be finite numbers, a column for each action"),
        ({"candidates": lambda path: [2]}, "a candidate is 2; it must be a whole number from 0 to 1"),
        ({"candidates": lambda path: [-1]}, "a candidate is -1; it must be a whole number from 0 to 1"),
    ],
)
def test_a_distribution_that_is_none_is_refused(wrong, sentence):
    options = {"contexts": [[0, 1]], "probabilities": [1.0], "rewards": [[0.0, 1.0]], "max_depth": 1, **wrong}
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        optimal_greedy_tree(**options)
