"""ContentSelector: one of n candidates, and the click on that one alone."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tests.support import bits_of

import stumpery as st
from stumpery.types import Decision, State

ITEMS = ("news", "film", "game", "song")


def candidates(n, seed=0):
    rng = np.random.default_rng(seed)
    return [{"age": float(rng.integers(18, 80)), "item": ITEMS[rng.integers(4)], "x": rng.normal()} for _ in range(n)]


def new(**options):
    model = st.clicks.Average(
        predictors=[st.clicks.Stump(), st.clicks.OneVersusAll(), st.clicks.HashedStump(n_hashes=3)]
    )
    return st.ContentSelector(**{"model": model, "seed": 3, **options})


@pytest.fixture
def trained():
    selector = new(epsilon=0.1)
    for event in range(400):
        decision = selector.decide(candidates(6, event))
        selector.learn(decision, click=decision.context["item"] == "film")
    return selector


def test_it_learns_what_is_clicked_from_its_own_choices(trained):
    picked = [trained.decide([{"item": item, "age": 30.0} for item in ITEMS]).context["item"] for _ in range(100)]
    assert picked.count("film") > 80


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_any_number_of_candidates_will_do(trained, n):
    rows = candidates(n)
    decision = trained.decide(rows)
    assert 0 <= decision.action < n
    assert decision.context == rows[decision.action]
    trained.learn(decision, click=False)
    if n == 1:
        assert decision.probability == pytest.approx(1.0)


def test_the_probability_of_a_choice_is_its_frequency(trained):
    rows = candidates(5, 77)
    rows[3] = rows[1]
    n = 3000
    decisions = [trained.decide(rows) for _ in range(n)]
    for place in range(5):
        found = {decision.probability for decision in decisions if decision.action == place}
        if not found:
            continue
        (stated,) = found
        n_picked = sum(decision.action == place for decision in decisions)
        low, high = stats.binomtest(n_picked, n).proportion_ci(0.9999)
        assert low <= stated <= high


def test_before_anything_is_learned_every_candidate_is_as_likely():
    selector = new()
    assert {selector.decide(candidates(4)).probability for _ in range(20)} == {0.25}
    assert "nothing was learned" in selector.explain(Decision(0, 0.25, candidates(1)[0])).summary


def test_frames_lists_and_matrices_of_candidates_give_the_same(trained):
    rows = candidates(6, 5)
    twins = [st.ContentSelector.from_state(trained.state()) for _ in range(3)]
    found = [
        twin.decide(form) for twin, form in zip(twins, (rows, pl.DataFrame(rows), pd.DataFrame(rows)), strict=True)
    ]
    assert found[0] == found[1]
    assert found[0].context == dict(found[2].context)
    numbers = st.ContentSelector(model=st.clicks.Stump(schema=st.Schema.of({"a": "numerical", "b": "numerical"})))
    decision = numbers.decide(np.arange(8.0).reshape(4, 2))
    numbers.learn(decision, click=True)
    assert decision.context.shape == (2,)


def test_an_explanation_names_the_column_with_the_largest_contribution(trained):
    rows = [{"item": item, "age": 30.0, "x": 0.0} for item in ITEMS]
    film = Decision(1, 1.0, rows[1])
    explanation = trained.explain(film, rows)
    assert "gains most from item" in explanation.summary
    assert explanation.rows[0]["column"] == "item"
    assert explanation.rows[0]["value"] == "film"
    assert explanation.rows[0]["contribution"] > 0
    assert "the average row" in trained.explain(film).summary
    assert "item" in str(explanation)


def test_late_and_logged_clicks_are_as_good(trained):
    twin = st.ContentSelector.from_state(trained.state())
    first, second = (trained.decide(candidates(3, seed)) for seed in (1, 2))
    twin.decide(candidates(3, 1)), twin.decide(candidates(3, 2))
    trained.learn(second, click=1)
    trained.learn(first, click=0)
    twin.learn((0, 0.5, second.context), click=True)
    twin.learn((2, 0.5, first.context), click=np.float64(0.0))
    assert bits_of(twin) == bits_of(trained)


def test_a_saved_selector_goes_on(trained, tmp_path):
    st.save(trained, tmp_path / "selector")
    loaded = st.load(tmp_path / "selector")
    for event in range(50):
        mine, theirs = (selector.decide(candidates(6, event)) for selector in (trained, loaded))
        assert mine == theirs
        trained.learn(mine, click=event % 9 == 0)
        loaded.learn(theirs, click=event % 9 == 0)
    assert bits_of(loaded) == bits_of(trained)


@pytest.mark.parametrize("empty", [[], np.zeros((0, 2)), pl.DataFrame({"age": []})], ids=["list", "array", "frame"])
def test_an_empty_round_is_refused(trained, empty):
    before = bits_of(trained)
    with pytest.raises(ValueError, match="candidates is empty; at least one"):
        trained.decide(empty)
    assert bits_of(trained) == before


@pytest.mark.parametrize("wrong", ["rows", 5, None, {"age": 3}, [{"age": "old"}], [3]], ids=str)
def test_what_are_no_candidates_changes_nothing(trained, wrong):
    before = bits_of(trained)
    with pytest.raises(ValueError, match="must be"):
        trained.decide(wrong)
    assert bits_of(trained) == before


@pytest.mark.parametrize("click", [math.nan, None, 2, "yes", 0.5])
def test_a_click_that_is_none_changes_nothing(trained, click):
    before = bits_of(trained)
    with pytest.raises(ValueError, match=r"^a label is "):
        trained.learn(Decision(0, 1.0, candidates(1)[0]), click)
    assert bits_of(trained) == before


@pytest.mark.parametrize("decision", [None, 3, (1, 2), Decision(0, 1.0), Decision(0, 1.0, "row")], ids=str)
def test_a_decision_without_its_candidate_changes_nothing(trained, decision):
    before = bits_of(trained)
    with pytest.raises(ValueError, match="it must be"):
        trained.learn(decision, click=True)
    with pytest.raises(ValueError, match="it must be"):
        trained.explain(decision)
    assert bits_of(trained) == before


@pytest.mark.parametrize("wrong", [[3], [None], np.zeros(3)], ids=str)
def test_what_are_no_candidates_is_refused_before_anything_is_learned_too(wrong):
    selector = new()
    before = bits_of(selector)
    with pytest.raises(ValueError, match="must"):
        selector.decide(wrong)
    assert bits_of(selector) == before


def test_an_explanation_changes_nothing_and_takes_a_logged_decision(trained):
    before = bits_of(trained)
    rows = candidates(4, 8)
    assert trained.explain((1, 0.5, rows[1]), rows) == trained.explain(Decision(1, 0.5, rows[1]), pl.DataFrame(rows))
    assert bits_of(trained) == before


@pytest.mark.parametrize(
    "wrong", [{"model": None}, {"model": st.clicks.Stump}, {"epsilon": 2}, {"epsilon": -0.1}, {"seed": -1}]
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        new(**wrong)


def test_a_file_whose_model_is_none_is_refused(trained):
    options, arrays = trained.state()
    with pytest.raises(ValueError, match="no click model"):
        st.ContentSelector.from_state(State({**options, "kind": "Moments"}, arrays))
    with pytest.raises(ValueError, match="random state"):
        st.ContentSelector.from_state(State(options, {**arrays, "rng": np.zeros(4, np.uint64)}))
