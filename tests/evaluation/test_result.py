"""Results as frames, files and pictures."""

import csv
import json
import math
from importlib import import_module

import narwhals as nw
import numpy as np
import pytest
from tests.support import refused

import stumpery as st
from stumpery.evaluation import replay
from stumpery.evaluation.result import json_text
from stumpery.streams import BernoulliArms


@pytest.fixture(params=["play", "regret", "regret of one trial"])
def result(request):
    stream = BernoulliArms(means=[0.2, 0.8, 0.5])
    if request.param == "play":
        return st.play(st.UCB(actions=range(3)), stream=stream, steps=60)
    policies = {"ucb": st.UCB(actions=range(3)), "by chance, all": st.policies.RandomPolicy(actions=range(3))}
    return st.regret(policies, stream, steps=60, trials=1 if "one" in request.param else 3)


def same(found, expected):
    if isinstance(expected, str):
        return found == expected
    number = float("nan") if found is None else float(found)
    return number == expected or (math.isnan(number) and math.isnan(expected))


@pytest.fixture
def axes():
    import_module("matplotlib").use("agg")
    pyplot = import_module("matplotlib.pyplot")
    yield pyplot.subplots()[1]
    pyplot.close("all")


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_a_frame_holds_every_column(result, backend):
    native = result.to_frame(backend)
    assert type(native).__module__.partition(".")[0] == backend
    frame = nw.from_native(native, eager_only=True)
    columns = result.columns()
    assert frame.columns == list(columns)
    for name, column in columns.items():
        assert all(map(same, frame[name].to_list(), column))


def test_without_a_name_the_frame_is_of_polars(result):
    assert type(result.to_frame()).__module__.startswith("polars")


def test_another_kind_of_frame_is_refused(result):
    with pytest.raises(ValueError, match=r"^backend is 'dask'; it must be one of 'polars', 'pandas', 'pyarrow'$"):
        result.to_frame("dask")


def test_a_csv_file_holds_every_number_as_it_was(result, tmp_path):
    result.to_csv(tmp_path / "result.csv")
    with (tmp_path / "result.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = result.columns()
    assert header == list(columns)
    for found, expected in zip(zip(*rows, strict=True), columns.values(), strict=True):
        assert len(found) == len(expected)
        assert all(map(same, found, expected))


def test_a_json_file_is_strict_and_holds_summary_and_columns(result, tmp_path):
    result.to_json(tmp_path / "result.json")

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    content = json.loads((tmp_path / "result.json").read_text(), parse_constant=refuse)
    columns = content.pop("columns")
    assert content.keys() == result.summary().keys()
    for name, column in result.columns().items():
        assert all(map(same, columns[name], column))


def test_files_are_replaced_whole_and_nothing_is_left_beside(result, tmp_path):
    for _ in range(2):
        result.to_csv(tmp_path / "result.csv")
        result.to_json(str(tmp_path / "result.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.csv", "result.json"]


@pytest.mark.parametrize("path", [b"result", 3, None, "", "a\0b"])
def test_what_names_no_file_is_refused(result, path):
    for write in (result.to_csv, result.to_json):
        with refused(naming="^path is "):
            write(path)


def test_what_is_not_finite_becomes_null():
    assert json.loads(json_text({"a": np.array([1.0, np.nan]), "b": (np.inf, np.float64(2)), 3: True})) == {
        "a": [1.0, None],
        "b": [None, 2.0],
        "3": True,
    }


def test_a_plot_draws_on_the_axes_it_is_given(result, axes):
    assert result.plot(axes) is axes
    assert axes.get_xlabel() == "step"
    assert axes.get_ylabel() in {"cumulative regret", "average reward"}
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == (["UCB"] if isinstance(result, st.evaluation.PlayResult) else ["ucb", "by chance, all"])
    assert len(axes.lines) == len(names)


def test_a_plot_makes_axes_where_none_are_given(result, axes):
    own = result.plot()
    assert own is not axes
    assert own.get_xlabel() == "step"


def test_regret_can_be_drawn_as_reward_per_step(axes):
    stream = BernoulliArms(means=[0.2, 0.8])
    result = st.regret({"ucb": st.UCB(actions=range(2))}, stream, steps=60, trials=3)
    result.plot(axes, per_step=True)
    assert axes.get_ylabel() == "average reward"
    expected = result.rewards["ucb"].mean(axis=0) / result.checkpoints
    assert axes.lines[0].get_ydata() == pytest.approx(expected)


def test_the_summary_of_a_play_is_what_was_earned():
    result = st.play(st.policies.Greedy(actions=["a"]), rewards=[[0.25], [0.75]])
    assert result.summary() == {"policy": "Greedy", "steps": 2, "average_reward": 0.5}


def test_a_long_run_prints_as_a_short_summary():
    policy = st.RewardForest(actions=["a", "b"], n_trees=2)
    rows = [{"hour": place % 24} for place in range(3000)]
    played = st.play(policy, contexts=rows, rewards=["a", "b"] * 1500)
    curves = st.regret({"ucb": st.UCB(actions=range(2))}, BernoulliArms(n_actions=2), steps=3000, trials=2)
    tested = st.prequential(st.HoeffdingTreeClassifier(), rows, [row["hour"] > 12 for row in rows])
    selector = st.ContentSelector(model=st.clicks.OneVersusAll())
    replayed = replay(selector, [([{"item": "a"}, {"item": "b"}], place % 2, 0) for place in range(300)])
    names = ("PlayResult", "RegretResult", "PrequentialResult", "ReplayResult")
    for name, shown in zip(names, (played, curves, tested, replayed), strict=True):
        assert str(shown).startswith(f"{name}\n")
        assert len(str(shown)) < 500
        assert repr(shown).startswith(f"{name}(")
        assert len(repr(shown)) < 200
        assert len(repr(shown).splitlines()) == 1
        html = shown._repr_html_()
        assert html.startswith(f"<div><p>{name}</p><table>")
        assert len(html) < 1000
    assert "average_reward" in str(played)
    assert repr(policy.decide_many(3 * rows)).startswith("Decisions(9000: '")
    assert len(repr(policy.decide_many(3 * rows))) < 100


def test_a_result_of_several_shows_a_row_for_each():
    policies = {f"ucb {place}": st.UCB(actions=range(2)) for place in range(40)}
    result = st.regret(policies, BernoulliArms(n_actions=2), steps=10, trials=1)
    lines = str(result).splitlines()
    assert lines[1].split() == ["policy", "average_reward", "regret", "plus_minus", "events_per_s"]
    assert lines[-1] == "  and 10 more"
    assert repr(result).endswith(", ...)")


def test_a_policy_in_a_notebook_is_a_table_of_its_options():
    policy = st.UCB(actions=[f"<{place}>" for place in range(1000)])
    html = policy._repr_html_()
    assert html.startswith(f"<div><p>UCB: 1000 actions, {policy.n_bytes:,} bytes</p><table>")
    assert "<td>rho</td><td>2.0</td>" in html
    assert "&lt;0&gt;" in html
    assert len(html) < 1000


def test_an_explanation_in_a_notebook_is_a_table():
    explanation = st.UCB(actions=range(1000)).explain()
    assert repr(explanation) == f"Explanation({explanation.summary!r}, 1000 rows)"
    assert explanation._repr_html_().endswith("<p>  and 970 more</p></div>")
    assert str(explanation).splitlines()[-1] == "  and 970 more"


def test_rounds_of_a_feature_selector_print_as_a_line():
    rows = np.random.default_rng(1).random((500, 3))
    rounds = st.FeatureSelector(features=3, n_features=1).play(rows, rows[:, 0] > 0.5)
    assert repr(rounds) == f"Rounds(500: {rounds.mistakes.sum()} mistakes, 500 spent)"
