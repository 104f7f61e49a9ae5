"""The paper's formulas by hand, and the test itself solved."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stumpery.policies.bandit_forest import sample_complexity as needs

COVERTYPE = 7 * 94 * 14 * 100  # K M D L


@pytest.mark.parametrize(("epsilon", "plays"), [(0.4, 1647), (0.6, 694), (0.8, 375)])
def test_without_a_gap_epsilon_is_a_timer(epsilon, plays):
    found = needs.plays_until_elimination(gap=0.0, epsilon=epsilon, n_hypotheses=COVERTYPE, width=4.0, delta=0.05)
    assert found == plays


def test_lemmas_and_theorems_are_the_papers():
    lemma_3 = 64 * 3 / 0.2**2 * math.log(4 * 3 / (0.1 * 0.2))
    lemma_1 = 64 * 3 / 0.1**2 * math.log(4 * 3 * 10 / (0.1 * 0.1))
    assert needs.action_selection(n_actions=3, action_gap=0.2, delta=0.1) == pytest.approx(lemma_3)
    gaps = {"n_actions": 3, "n_variables": 10, "variable_gap": 0.1, "delta": 0.1}
    assert needs.variable_selection(**gaps) == pytest.approx(lemma_1)
    assert needs.decision_stump(**gaps, action_gap=0.2) == pytest.approx(lemma_1 + lemma_3)
    variable = 64 * 3 / 0.1**2 * math.log(4 * 3 * 10 * 5 * 7 / (0.1 * 0.1))
    action = 64 * 3 / 0.2**2 * math.log(4 * 7 * 3 / (0.1 * 0.2))
    forest = needs.bandit_forest(**gaps, action_gap=0.2, depth=5, n_trees=7)
    assert forest == pytest.approx(2**5 * (variable + action))


def test_lower_bounds_are_the_papers():
    given = {"n_actions": 3, "delta": 0.1}
    lemma_4, lemma_2 = 3 / 0.2**2 * math.log(1 / 0.1), 3 / 0.05**2 * math.log(1 / 0.1)
    assert needs.lower_bound(**given, action_gap=0.2) == pytest.approx(lemma_4)
    assert needs.lower_bound(**given, variable_gap=0.05) == pytest.approx(lemma_2)
    both = {**given, "action_gap": 0.2, "variable_gap": 0.05}
    assert needs.lower_bound(**both) == pytest.approx(lemma_2 + lemma_4)
    assert needs.lower_bound(**both, depth=4) == pytest.approx(2**4 * (lemma_2 + lemma_4))


def test_to_within_epsilon_smaller_gaps_do_not_count():
    assert needs.gap_to_within(0.1, 0.3) == 0.3
    assert needs.gap_to_within(0.1, 0.05) == 0.1


@given(gap=st.floats(0.01, 1.0), n_actions=st.integers(2, 100), depth=st.integers(0, 20), delta=st.floats(1e-6, 0.5))
def test_no_upper_bound_is_below_the_lower_one(gap, n_actions, depth, delta):
    gaps = {"n_actions": n_actions, "variable_gap": gap, "action_gap": gap, "delta": delta}
    lower = needs.lower_bound(**gaps, depth=depth)
    assert lower <= needs.bandit_forest(**gaps, n_variables=2, depth=max(depth, 1))


def test_a_forest_of_one_tree_of_depth_1_needs_a_stump_for_each_value():
    options = {"n_actions": 2, "n_variables": 4, "variable_gap": 0.3, "action_gap": 0.5}
    assert needs.bandit_forest(**options) == pytest.approx(2 * needs.decision_stump(**options))


def test_the_need_grows_with_the_logarithm_of_the_number_of_variables():
    needed = [
        needs.variable_selection(n_actions=2, n_variables=10**power, variable_gap=0.1) for power in (1, 2, 3, 4, 5)
    ]
    steps = [later - earlier for earlier, later in pairwise(needed)]
    assert steps == pytest.approx([64 * 2 / 0.01 * math.log(10)] * 4)


@given(
    gap=st.floats(0.01, 1.0),
    epsilon=st.floats(0.0, 1.0),
    n_hypotheses=st.integers(1, 10**6),
    width=st.sampled_from([2.0, 4.0]),
    delta=st.floats(1e-6, 1.0),
)
def test_the_plays_found_are_the_first_at_which_the_test_fires(gap, epsilon, n_hypotheses, width, delta):
    def fires(t):
        return gap + epsilon >= width * math.sqrt(math.log(4 * n_hypotheses * t * t / delta) / (2 * t))

    plays = needs.plays_until_elimination(gap=gap, epsilon=epsilon, n_hypotheses=n_hypotheses, width=width, delta=delta)
    assert fires(plays)
    assert not any(fires(t) for t in {plays - 1, plays // 2, plays // 3} - {0, plays})


def test_the_test_fires_long_before_the_lemma_promises():
    plays = needs.plays_until_elimination(gap=0.1, n_hypotheses=2)
    assert 2 * plays < needs.action_selection(n_actions=2, action_gap=0.1)


@pytest.mark.parametrize(
    ("function", "options", "sentence"),
    [
        ("action_selection", {"n_actions": 1}, "n_actions is 1; it must be a whole number of 2 or more"),
        ("action_selection", {"action_gap": 0.0}, "action_gap is 0.0; it must be a number .*"),
        ("action_selection", {"action_gap": 1.5}, "action_gap is 1.5; it must be a number .*"),
        ("action_selection", {"delta": math.nan}, "delta is nan; it must be a number from 1e-12 to 1"),
        ("variable_selection", {"n_variables": 1}, "n_variables is 1; it must be a whole number of 2 or more"),
        ("variable_selection", {"variable_gap": "x"}, "variable_gap is 'x'; it must be a number .*"),
        ("decision_stump", {"action_gap": -1}, "action_gap is -1; it must be a number .*"),
        ("bandit_forest", {"depth": 0}, "depth is 0; it must be a whole number from 1 to 100"),
        ("bandit_forest", {"n_trees": 2.5}, "n_trees is 2.5; it must be a whole number of 1 or more"),
        ("plays_until_elimination", {"gap": 0.0}, r"gap \+ epsilon is 0.0; it must be a number .*"),
        ("plays_until_elimination", {"gap": None}, "gap is None; it must be a number of 0 or more"),
        ("plays_until_elimination", {"epsilon": -0.1}, "epsilon is -0.1; it must be a number of 0 or more"),
        ("plays_until_elimination", {"delta": 5}, "delta is 5; it must be a number from 1e-12 to 1"),
        ("plays_until_elimination", {"width": 0}, "width is 0; it must be a number .*"),
        ("plays_until_elimination", {"n_hypotheses": 0}, "n_hypotheses is 0; it must be a whole number of 1 or more"),
    ],
)
def test_wrong_input_is_refused_by_name(function, options, sentence):
    good = {"n_actions": 2, "n_variables": 3, "variable_gap": 0.1, "action_gap": 0.1, "delta": 0.05}
    wanted = {
        "action_selection": ("n_actions", "action_gap", "delta"),
        "variable_selection": ("n_actions", "n_variables", "variable_gap", "delta"),
        "decision_stump": tuple(good),
        "bandit_forest": tuple(good),
    }
    given = {name: good[name] for name in wanted.get(function, ())} or {"gap": 0.1, "n_hypotheses": 2}
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        getattr(needs, function)(**given | options)
