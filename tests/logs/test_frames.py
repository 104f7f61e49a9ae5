"""Logs of frames and dicts of columns: checks of rows, and learning from them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import stumpery as st
from stumpery.logs.checking import RecentIds
from stumpery.logs.formats.times import seconds

NAMES = {"action": "shown", "reward": "click", "probability": "p", "time": "at", "event_id": "id"}


def columns(n=40, **changes):
    """Rows of a log as a dict of columns."""
    rng = np.random.default_rng(7)
    frame = {
        "hour": rng.integers(0, 24, n).tolist(),
        "device": rng.choice(["phone", "desk"], n).tolist(),
        "shown": rng.choice(["news", "film"], n).tolist(),
        "click": rng.integers(0, 2, n).astype(float).tolist(),
        "p": [0.5] * n,
        "at": [1_700_000_000.0 + row for row in range(n)],
        "id": [f"event {row}" for row in range(n)],
    }
    for name, values in changes.items():
        frame[name][: len(values)] = values
    return frame


def read(frame, **options):
    return st.logs.from_frame(frame, **NAMES, **options)


def whole(log):
    (chunk,) = log.chunks(1_000_000)
    return chunk


@pytest.mark.parametrize(
    "library", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "pa"]
)
def test_a_frame_of_any_library_reads_the_same(library):
    frame = columns()
    log = read(library(frame))
    chunk = whole(log)
    assert log.actions == ("film", "news")
    assert log.columns == ("hour", "device")
    assert log.n_rows == 40
    assert [log.actions[index] for index in chunk.actions] == frame["shown"]
    assert chunk.rewards.tolist() == frame["click"]
    assert chunk.times.tolist() == frame["at"]
    assert list(chunk.event_ids) == frame["id"]
    assert list(chunk.contexts) == [
        {"hour": hour, "device": device} for hour, device in zip(frame["hour"], frame["device"], strict=True)
    ]


def test_chunks_are_the_same_rows_whatever_their_size():
    log = read(columns())
    for size in (1, 7, 40, 100):
        assert [line for chunk in log.chunks(size) for line in chunk.lines.tolist()] == list(range(40))
        assert max(map(len, log.chunks(size))) == min(size, 40)


def test_dates_and_texts_are_seconds():
    dates = pd.to_datetime(["2024-01-02T03:04:05Z", None])
    texts = ["2024-01-02T03:04:05Z", None]
    for times in (dates, texts, pd.Series(dates)):
        frame = pd.DataFrame({"a": [1, 2], "r": [0.0, 1.0], "t": times})
        chunk = whole(st.logs.from_frame(frame, action="a", reward="r", time="t"))
        assert chunk.times[0] == 1704164645.0
        assert np.isnan(chunk.times[1])


def test_texts_that_are_no_times_are_not_guessed():
    texts = [
        "nowZ",
        "2024-01-02T03:04:05+01:00",
        "2024-01-02T03:04:05.1234567Z",
        "2024-01-02T03:04:05-01:00Z",
        "",
        7,
        None,
    ]
    times, invalid = seconds(texts)
    np.testing.assert_array_equal(invalid, [True, False, False, True, True, False, False])
    np.testing.assert_allclose(times[[1, 2, 5]], [1704161045.0, 1704164645.123456, 7.0], rtol=0, atol=1e-5)


PROBLEMS = {
    "probability of 0": {"p": [0.0]},
    "probability above 1": {"p": [1.5]},
    "missing probability": {"p": [None]},
    "missing action": {"shown": [None]},
    "unknown action": {"shown": ["sport"]},
    "invalid reward": {"click": [np.inf]},
    "invalid time": {"at": ["yesterday"]},
    "duplicate event id": {"id": ["event 1", "event 1"]},
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_row_with_a_problem_is_named_or_counted(problem):
    frame = columns(**PROBLEMS[problem])
    line = 1 if problem == "duplicate event id" else 0
    with pytest.raises(st.InvalidInput, match=f"^frame, row {line}: "):
        list(read(frame, actions=["film", "news"]).chunks())
    log = read(frame, actions=["film", "news"], on_error="lenient")
    chunk = whole(log)
    assert log.report.counts[problem] == 1
    assert log.report.lines[problem] == [line]
    assert log.report.rows == len(chunk) == 40 - (problem == "duplicate event id")
    assert ((chunk.probabilities > 0) & (chunk.probabilities <= 1) | np.isnan(chunk.probabilities)).all()
    assert not np.isinf(chunk.rewards).any()
    assert problem in str(log.report)


def test_no_feedback_is_not_0_unless_said_so():
    frame = columns(click=[None, np.nan])
    log = read(frame)
    assert np.isnan(whole(log).rewards[:2]).all()
    assert log.report.counts == {"no feedback": 2}
    assert whole(read(frame, no_feedback=0.0)).rewards[:2].tolist() == [0.0, 0.0]
    assert read(frame, no_feedback=-1).reward_range == (-1.0, 1.0)


def test_probabilities_of_all_actions_must_sum_to_1():
    frame = columns() | {"p film": [0.5] * 40, "p news": [0.5] * 39 + [0.7]}
    options = {"probabilities": {"news": "p news", "film": "p film"}, "columns": ["hour"]}
    with pytest.raises(st.InvalidInput, match="row 39: the probabilities of its actions do not sum to 1"):
        list(read(frame, **options).chunks())
    chunk = whole(read(frame, **options, on_error="lenient"))
    assert np.isnan(chunk.all_probabilities[39]).all()
    assert (chunk.all_probabilities[:39] == 0.5).all()
    assert chunk.available is None


def test_rewards_beyond_1_widen_the_range():
    assert read(columns()).reward_range == (0.0, 1.0)
    assert read(columns(click=[-2.0, 7.5])).reward_range == (-2.0, 7.5)


def test_an_empty_log_and_one_row_and_one_action():
    empty = read(columns(0))
    assert empty.actions == ()
    assert list(empty.chunks()) == []
    one = read(columns(1))
    assert len(one.actions) == 1
    assert len(whole(one)) == 1
    policy = st.RewardForest(actions=one.actions).learn_log(one)
    assert policy.decide({"hour": 3, "device": "phone"}).probability == 1.0


def test_a_misspelt_column_is_proposed():
    with pytest.raises(st.InvalidInput, match="there is no column 'shwn': did you mean shown"):
        st.logs.from_frame(columns(), action="shwn", reward="click")


@pytest.mark.parametrize("options", [{"on_error": "loose"}, {"no_feedback": "zero"}, {"actions": []}])
def test_wrong_options_are_refused(options):
    with pytest.raises(st.InvalidInput):
        read(columns(), **options)


def test_recent_ids_are_remembered_in_bounded_memory():
    recent = RecentIds(capacity=4)
    assert recent.add(["a", "b", None, None]) == []
    assert recent.add(["a", "c", "d", "e", "f"]) == [0]
    assert recent.add(["e"]) == [0]
    assert recent.add(["g", "h", "i", "j", "k"]) == []
    assert recent.add(["a"]) == []  # too long ago
    assert len(recent._new) + len(recent._old) <= 8


POLICIES = [st.RewardForest, st.LinUCB, st.BanditForest, st.NeuralBandit, st.UCB]


@pytest.mark.parametrize("kind", POLICIES)
def test_learning_a_log_equals_learning_its_decisions(kind):
    frame = columns(200, click=[None] * 3)
    log = read(frame)
    first = kind(actions=log.actions, seed=3).learn_log(log)
    rows = [row for row in range(200) if row > 2]
    decisions = [
        st.Decision(frame["shown"][row], 0.5, {"hour": frame["hour"][row], "device": frame["device"][row]})
        for row in rows
    ]
    second = kind(actions=log.actions, seed=3)
    second.learn_many(decisions, [frame["click"][row] for row in rows])
    options, arrays = first.state()
    others, expected = second.state()
    assert options == others
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_progress_counts_all_rows():
    rows = []
    log = read(columns(30, click=[None] * 5))
    st.UCB(actions=log.actions).learn_log(log, progress=rows.append)
    assert rows == [30]


def test_actions_that_the_policy_lacks_are_refused_before_anything_is_learned():
    policy = st.UCB(actions=["news", "sport"])
    with pytest.raises(st.InvalidInput, match="the log has actions that are not among 'news', 'sport': 'film'"):
        policy.learn_log(read(columns()))
    assert [row["n"] for row in policy.explain().rows] == [0, 0]
    log = read(columns(), on_error="lenient")
    policy.learn_log(log)
    assert log.report.counts["action unknown to the policy"] == columns()["shown"].count("film")
    assert {row["action"]: row["n"] for row in policy.explain().rows}["news"] == columns()["shown"].count("news")


def test_rewards_outside_the_policys_range_are_named():
    frame = columns(click=[0.0, 3.0])
    with pytest.raises(st.InvalidInput, match=r"row 1: its reward is outside the policy's reward_range \(3 is not"):
        st.UCB(actions=["news", "film"]).learn_log(read(frame))
    log = read(frame)
    assert st.UCB(actions=log.actions, reward_range=log.reward_range).learn_log(log)


def test_learning_something_else_is_refused():
    with pytest.raises(st.InvalidInput, match="log is 7; it must come from"):
        st.UCB(actions=["a"]).learn_log(7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time": "shown"}, "column 'shown' is the time; it cannot be anything else, too"),
        ({"time": "at", "columns": ["at", "hour"]}, "column 'at' is the time"),
        ({"columns": "hour"}, "columns is 'hour'; it must be a list of columns"),
        ({"columns": 5}, "columns is 5; it must be a list of columns"),
        ({"probabilities": ["p"]}, r"probabilities is \['p'\]; it must be a dict from actions to columns"),
        ({"no_feedback": float("nan")}, "no_feedback is nan; it must be 'skip' or a number"),
    ],
)
def test_names_that_do_not_fit_together_are_refused(options, words):
    with pytest.raises(st.InvalidInput, match=words):
        st.logs.from_frame(columns(), action="shown", reward="click", **options)


def test_a_column_of_two_dimensions_is_refused():
    with pytest.raises(st.InvalidInput, match="a column has 2 dimensions; it must have one"):
        read(columns() | {"hour": np.zeros((40, 2))})


def test_whole_numbers_beyond_all_floats_are_named_or_missing():
    frame = columns(hour=[10**400])
    with pytest.raises(st.InvalidInput, match=r"row 0: a column has a value of another type than before \(hour\)"):
        st.logs.inspect(read(frame))
    log = read(frame, on_error="lenient")
    (chunk,) = log.chunks()
    assert np.isnan(chunk.contexts["hour"][0])
    assert chunk.contexts["hour"][1] == frame["hour"][1]
    assert log.report.counts == {"value of another type": 1}


@pytest.mark.parametrize("time", [1e30, -1e30, np.inf, 10**30])
def test_times_beyond_all_dates_are_named_or_missing(time):
    with pytest.raises(st.InvalidInput, match="row 0: its time cannot be read"):
        st.logs.inspect(read(columns(at=[time])))
    summary = st.logs.inspect(read(columns(at=[time]), on_error="lenient"))
    assert summary.times[0]["missing"] == 1


def test_what_is_no_log_is_not_inspected():
    with pytest.raises(st.InvalidInput, match="it must come from stumpery"):
        st.logs.inspect("events.dsjson")


def test_rewards_as_large_as_numbers_are_inspected_without_warnings():
    summary = st.logs.inspect(read(columns(click=[1e308, -1e308])))
    assert summary.figures[0]["greatest"] == 1e308
