"""Thompson sampling over sets against its twin, its maximisers against all subsets, and what it refuses."""

import numpy as np
import pytest
from tests.reference import combinatorial_thompson as combinatorial
from tests.support import bits_of

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.types import State

STEPS = 60 if INTERPRETED else 600
COSTS = {"a": 3, "b": 2, "c": 2, "d": 1}


def trained(**options):
    policy = st.selection.CombinatorialThompson(**{"actions": [*"abcd"], "seed": 3, "size": 2, **options})
    for step in range(40):
        policy.learn(policy.decide(), (step % 5) / 4)
    return policy


@pytest.mark.kernels
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 3.0)])
def test_every_set_equals_the_twin(prior):
    policy = st.selection.CombinatorialThompson(actions=range(7), size=3, prior=prior, seed=4)
    twin = combinatorial.Thompson(7, 3, prior, 4)
    for step in range(STEPS):
        decision, expected = policy.decide(step), twin.decide()
        assert decision == (expected, step)
        reward = float(sum(expected) % 3 == 0) if step % 4 else 0.25
        policy.learn(decision, reward)
        twin.learn(expected, reward)


def test_it_finds_the_set_that_pays():
    rng, policy = np.random.default_rng(1), st.selection.CombinatorialThompson(actions=range(12), size=3, seed=1)
    for _ in range(3000):
        decision = policy.decide()
        policy.learn(decision, float(rng.random() < 0.1 + 0.8 * len({2, 5, 11} & set(decision.actions)) / 3))
    taken = [set(policy.decide().actions) for _ in range(100)]
    assert np.mean([each == {2, 5, 11} for each in taken]) > 0.9


def test_only_what_is_available_is_taken():
    policy = trained()
    for _ in range(50):
        assert set(policy.decide(available=["d", "b", "c"]).actions) < {"b", "c", "d"}


@pytest.mark.parametrize("seed", range(20))
def test_the_knapsack_is_the_best_affordable_set(seed):
    rng = np.random.default_rng(seed)
    costs = dict(zip("abcdefg", rng.integers(1, 9, 7).tolist(), strict=True))
    scores = dict(zip("abcdefg", rng.random(7).tolist(), strict=True))
    knapsack = st.selection.Knapsack(costs=costs, budget=12)
    found = knapsack(scores)
    assert knapsack.is_feasible(found)
    assert sum(scores[each] for each in found) == pytest.approx(combinatorial.best_set(scores, knapsack.is_feasible)[0])


@pytest.mark.parametrize("seed", range(20))
def test_costs_that_are_no_whole_numbers_stay_within_the_budget_and_near_the_best(seed):
    rng = np.random.default_rng(seed)
    costs, scores = (dict(zip("abcdefgh", rng.random(8) + 0.01, strict=True)) for _ in range(2))
    knapsack = st.selection.Knapsack(costs=costs, budget=1.7)
    found = knapsack(scores)
    assert knapsack.is_feasible(found)
    rounded = combinatorial.best_set(scores, lambda each: sum(costs[action] for action in each) <= 1.7 * 0.99)[0]
    assert sum(scores[each] for each in found) >= rounded - 1e-12


def test_what_costs_the_whole_budget_can_be_bought_and_what_costs_any_more_cannot():
    for budget in (0.33585575305464355, 2.697867137638703, 2.997118905373848):  # times 1000 / itself is above 1000
        assert st.selection.Knapsack(costs={"a": budget, "b": 1e308}, budget=budget)({"a": 0.5, "b": 0.9}) == ["a"]


def test_names_are_the_policys_own_and_sets_take_its_order():
    policy = st.selection.CombinatorialThompson(actions=[3, 1, 2], maximiser=lambda scores: {*scores} - {3})
    assert repr(policy.decide(available={2, 3, np.int64(1)}).actions) == "(1, 2)"
    offered = []
    policy = policy.clone({"maximiser": lambda scores: offered.extend(scores) or np.array([2, 3])})
    assert repr(policy.decide(available=[2, 3]).actions) == "(2, 3)"
    assert offered == [3, 2]


def test_one_per_group_is_the_best_such_set():
    rng = np.random.default_rng(2)
    groups = dict(zip("abcdefg", "xxyzzzy", strict=True))
    one = st.selection.OnePerGroup(groups=groups)
    for _ in range(30):
        scores = dict(zip("abcdefg", rng.random(7).tolist(), strict=True))
        assert set(one(scores)) == set(combinatorial.best_set(scores, one.is_feasible)[1])


@pytest.mark.parametrize(
    "maximiser",
    [
        st.selection.Knapsack(costs=COSTS, budget=4),
        st.selection.OnePerGroup(groups=dict(zip("abcd", "1122", strict=True))),
    ],
)
def test_a_maximiser_of_ours_is_saved_with_the_policy_which_goes_on_bit_for_bit(maximiser, tmp_path):
    policy = trained(size=None, maximiser=maximiser)
    st.save(policy, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    assert again.maximiser == maximiser
    for step in range(30):
        decision = policy.decide()
        assert again.decide() == decision
        assert maximiser.is_feasible(decision.actions)
        policy.learn(decision, step % 2)
        again.learn(decision, step % 2)
    assert bits_of(again) == bits_of(policy)


def test_a_function_of_the_users_is_set_anew_after_loading(tmp_path):
    def best_two(scores):
        return iter(sorted(scores, key=scores.get)[-2:])

    policy = trained(size=None, maximiser=best_two)
    st.save(policy, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    with pytest.raises(ValueError, match=r"^the maximiser was a function, which is not saved; pass it again: .*$"):
        again.decide()
    again = again.clone({"maximiser": best_two}, include_attributes=True)
    assert [again.decide() for _ in range(20)] == [policy.decide() for _ in range(20)]


def test_a_recipe_stays_as_it_is():
    policy = trained()
    for name, value in (("size", 3), ("actions", ["x"]), ("maximiser", sorted)):
        with pytest.raises(ValueError, match=f"^{name} is an option of CombinatorialThompson"):
            setattr(policy, name, value)
    other = trained(size=None, maximiser=list)
    with pytest.raises(ValueError, match=r"^maximiser is 3; it must be a function from scores to actions$"):
        other.clone({"maximiser": 3}, include_attributes=True)
    assert other.maximiser is list


def test_two_runs_merge_by_name_into_the_counts_of_both():
    left, right = trained(), trained(actions=[*"dbca"], seed=9)
    expected = {
        row["action"]: row["n"] + other["n"]
        for row in left.explain().rows
        for other in right.explain().rows
        if row["action"] == other["action"]
    }
    left.merge(right)
    assert {row["action"]: row["n"] for row in left.explain().rows} == expected
    assert sum(expected.values()) == 160
    before = bits_of(left)
    for other in (trained(actions=[*"abcz"]), trained(prior=(2, 1)), "run"):
        with pytest.raises(ValueError, match="merge"):
            left.merge(other)
    assert bits_of(left) == before


def test_an_explanation_tells_the_posterior_and_moves_nothing():
    policy = st.selection.CombinatorialThompson(actions=[*"abc"], size=2, prior=(2, 3))
    for _ in range(30):
        policy.learn(["a", "c"], 1.0)
    before = bits_of(policy)
    told = policy.explain(st.selection.SetDecision(("a", "c")))
    assert bits_of(policy) == before
    rows = {row["action"]: row for row in told.rows}
    assert (rows["a"]["alpha"], rows["a"]["beta"], rows["a"]["n"]) == (32, 3, 30)
    assert rows["b"]["mean"] == pytest.approx(2 / 5)
    assert rows["b"]["uncertainty"] == pytest.approx(0.2)  # of Beta(2, 3)
    assert sum(row["probability"] for row in told.rows) == pytest.approx(2)
    assert told.summary.startswith("'a', 'c' were chosen together. ")
    assert policy.explain(["a", "c"]) == told
    with pytest.raises(ValueError, match=r"^decision is 3; it must be a list of actions$"):
        policy.explain(3)


def test_actions_come_and_go():
    policy = trained()
    policy.add_action("e")
    assert "e" in {action for _ in range(60) for action in policy.decide().actions}
    policy.remove_action("a")
    assert "a" not in {action for _ in range(60) for action in policy.decide().actions}
    policy.remove_action("b")
    policy.remove_action("c")
    with pytest.raises(ValueError, match="no set would be feasible without 'd'"):
        policy.remove_action("d")
    with pytest.raises(ValueError, match="actions holds 'e' twice"):
        policy.add_action("e")


@pytest.mark.parametrize(
    ("maximiser", "sentence"),
    [
        (lambda scores: [], "the maximiser gave an empty set; at least one action is needed"),
        (lambda scores: None, "the maximiser's set is None; it must be a list of actions"),
        (lambda scores: "ab", "the maximiser's set is 'ab'; it must be a list of actions"),
        (lambda scores: ["a", "z"], "the maximiser's set holds 'z'; actions are 'a', 'b', 'c', 'd'"),
        (lambda scores: ["b", "b"], r"the maximiser's set is \('b', 'b'\); actions must differ"),
        (lambda scores: ["a", "d"], "the maximiser gave 'd', which is not available"),
        (lambda scores: [np.ones(2)], r"the maximiser's set holds array\(\[1., 1.\]\); actions are 'a', .*"),
    ],
)
def test_an_infeasible_set_is_refused_and_nothing_moves(maximiser, sentence):
    policy = st.selection.CombinatorialThompson(actions=[*"abcd"], maximiser=maximiser)
    before = bits_of(policy)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        policy.decide(available=["a", "b", "c"])
    assert bits_of(policy) == before


def test_a_maximiser_that_breaks_its_own_rule_is_refused():
    class Wrong(st.selection.Knapsack):
        def __call__(self, scores):
            return list(scores)

    policy = st.selection.CombinatorialThompson(actions=[*"abcd"], maximiser=Wrong(costs=COSTS, budget=4))
    with pytest.raises(ValueError, match=r"^the maximiser gave .*, which is not feasible by its own is_feasible"):
        policy.decide()


@pytest.mark.parametrize(
    ("decision", "reward", "sentence"),
    [
        (["a", "b"], 1.5, "reward is 1.5; it must be a number from 0 to 1"),
        (["a", "b"], -0.1, "reward is -0.1; it must be a number from 0 to 1"),
        (["a", "b"], float("nan"), "reward is nan; it must be a number from 0 to 1"),
        (["a", "b"], "1", "reward is '1'; it must be a number from 0 to 1"),
        (["a", "z"], 1, "decision holds 'z'; actions are 'a', 'b', 'c', 'd'"),
        (["a", "a"], 1, r"decision is \('a', 'a'\); actions must differ"),
        (iter("aa"), 1, r"decision is \('a', 'a'\); actions must differ"),
        ([np.ones(2), "a"], 1, r"decision holds array\(\[1., 1.\]\); actions are 'a', .*"),
        ([], 1, "decision is empty; it must hold at least one action"),
        (7, 1, "decision is 7; it must be a list of actions"),
    ],
)
def test_wrong_rewards_and_sets_change_nothing(decision, reward, sentence):
    policy = trained()
    before = bits_of(policy)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        policy.learn(decision, reward)
    assert bits_of(policy) == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 0}, "size is 0; it must be a whole number from 1 to 4"),
        ({"size": 5}, "size is 5; it must be a whole number from 1 to 4"),
        ({"size": None}, "give either size or maximiser, .*"),
        ({"maximiser": sorted}, "give either size or maximiser, .*"),
        ({"size": None, "maximiser": 3}, "maximiser is 3; it must be a function from scores to actions"),
        ({"actions": "abcd"}, "actions is 'abcd'; it must be a list of names"),
        ({"actions": ["a", "a", "b"]}, "actions holds 'a' twice; names must differ"),
        ({"prior": (0, 1)}, "a number of prior is 0; it must be a number above 0"),
        ({"prior": 1}, "prior is 1; it must be two numbers above 0"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        st.selection.CombinatorialThompson(**{"actions": [*"abcd"], "size": 2, **options})


@pytest.mark.parametrize(
    ("available", "sentence"),
    [
        (["a"], "size is 2, but only 1 actions are available"),
        ([], "available is empty; at least one action is needed"),
        (["a", "z"], "available holds 'z'; actions are 'a', 'b', 'c', 'd'"),
    ],
)
def test_too_few_or_unknown_available_actions_are_refused(available, sentence):
    policy = trained()
    before = bits_of(policy)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        policy.decide(available=available)
    assert bits_of(policy) == before


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: st.selection.Knapsack(costs={}, budget=1), r"costs is \{\}; it must be a dict from action to cost"),
        (lambda: st.selection.Knapsack(costs={"a": 0}, budget=1), "the cost of 'a' is 0; it must be a number above 0"),
        (lambda: st.selection.Knapsack(costs={"a": 1}, budget=0), "budget is 0; it must be a number above 0"),
        (lambda: st.selection.Knapsack(costs={"a": 1}, budget=2)({"b": 0.5}), "costs has no cost for action 'b'"),
        (lambda: st.selection.OnePerGroup(groups=3), "groups is 3; it must be a dict from action to group"),
        (lambda: st.selection.OnePerGroup(groups={"a": 1})({"b": 0.5}), "groups has no group for action 'b'"),
        (
            lambda: st.selection.OnePerGroup(groups={"a": [1]}),
            r"the group of 'a' is \[1\]; it must be a string or a number",
        ),
    ],
)
def test_wrong_maximisers_are_refused(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()


def test_a_file_with_impossible_counts_is_refused():
    options, arrays = trained().state()
    for sums in (arrays["sums"] - 1000, arrays["sums"] * (1, np.nan)):
        with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
            st.selection.CombinatorialThompson.from_state(State(options, {**arrays, "sums": sums}))
