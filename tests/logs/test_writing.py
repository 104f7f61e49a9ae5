"""Writing logs, and reading them again."""

import json

import numpy as np
import pytest
from tests.logs.test_dsjson import event, whole, written

import stumpery as st

EVENTS = [event(number) for number in range(20)]
EVENTS[3] = event(3, a=[2, 1], p=[0.9, 0.1], _label_Action=2, _labelIndex=1, _label_probability=0.9, pdrop=0.5)
EVENTS[4] = event(4, _label_cost=None)
EVENTS[5] = event(5, p=None)
EVENTS[6] = event(6, c={"hour": 7, "_multi": event()["c"]["_multi"]})


def read(tmp_path):
    return st.logs.read(written(tmp_path, EVENTS), action="_tag", actions=["film", "news", "sport"])


def check_equal(one, other, *, but=()):
    for name in ("actions", "probabilities", "rewards", "times", "weights", "available", "all_probabilities"):
        if name not in but:
            first, second = getattr(one, name), getattr(other, name)
            if first is None or second is None:
                assert first is second, name
            else:
                np.testing.assert_allclose(first, second, rtol=0, atol=1e-9, err_msg=name)
    assert "event_ids" in but or list(one.event_ids) == list(other.event_ids)
    assert one.contexts.names == other.contexts.names
    for name in one.contexts.names:
        np.testing.assert_array_equal(one.contexts[name], other.contexts[name])


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.jsonl.gz", "log.jsonl.zst"])
def test_our_own_format_keeps_everything(name, tmp_path):
    log = read(tmp_path)
    path = tmp_path / name
    assert st.logs.write(log, path) == (20, 0)
    again = st.logs.read(path)
    assert again.format == "stumpery"
    assert again.actions == log.actions
    assert again.reward_range == log.reward_range
    assert again.columns == log.columns
    check_equal(whole(again), whole(log))


def test_dsjson_keeps_everything_where_actions_are_named(tmp_path):
    log = read(tmp_path)
    path = tmp_path / "again.dsjson.gz"
    assert st.logs.write(log, path) == (20, 0)
    options = {"action": "action.id", "actions": log.actions, "no_feedback": "skip"}
    check_equal(whole(st.logs.read(path, **options)), whole(log))


def test_cb_text_keeps_context_action_probability_and_reward(tmp_path):
    log = st.logs.read(written(tmp_path, [event(number) for number in range(20)]))
    path = tmp_path / "again.cb"
    assert st.logs.write(log, path) == (20, 0)
    left_out = ("times", "event_ids", "all_probabilities")
    check_equal(whole(st.logs.read(path)), whole(log), but=left_out)
    assert st.logs.write(read(tmp_path), path) == (19, 1)  # one has no reward


def test_files_are_the_same_bytes_again(tmp_path):
    for name in ("log.parquet", "log.jsonl.gz", "log.jsonl.zst", "log.dsjson", "log.cb"):
        path = tmp_path / name
        st.logs.write(read(tmp_path), path)
        first = path.read_bytes()
        st.logs.write(read(tmp_path), path)
        assert path.read_bytes() == first, name


@pytest.mark.parametrize("contexts", [None, [{"hour": 3, "device": "phone"}, {"hour": 4}], np.ones((2, 2))])
def test_decisions_and_rewards_are_written(contexts, tmp_path):
    decisions = st.Decisions(["b", "a"], np.array([0.5, 0.25]), contexts)
    path = tmp_path / "log.jsonl"
    assert st.logs.write(decisions, path, rewards=[None, 3.0]) == (2, 0)
    log = st.logs.read(path)
    chunk = whole(log)
    assert log.actions == ("a", "b")
    assert log.reward_range == (0.0, 3.0)
    assert chunk.actions.tolist() == [1, 0]
    np.testing.assert_array_equal(chunk.rewards, [np.nan, 3.0])
    assert st.logs.write(list(decisions), path) == (2, 0)


def test_actions_of_all_types_come_back(tmp_path):
    names = ["a", 7, 2.5, True]
    for kind in ("jsonl", "parquet"):
        path = tmp_path / f"log.{kind}"
        st.logs.write([st.Decision(name, 0.5) for name in names], path, rewards=[1.0] * 4)
        log = st.logs.read(path)
        assert sorted(map(str, log.actions)) == sorted(map(str, names))
        assert [log.actions[index] for index in whole(log).actions] == names


def test_an_empty_log_is_written_and_read(tmp_path):
    for name in ("log.parquet", "log.jsonl", "log.dsjson", "log.cb"):
        assert st.logs.write([], tmp_path / name) == (0, 0)
        assert list(st.logs.read(tmp_path / name).chunks()) == []


def test_a_service_may_write_lines_without_a_heading_and_with_more_keys(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"action": "a", "probability": 0.5, "reward": 1.0, "context": {"user": {"age": 3}}, "model": "v7"}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"action": "b", "reward": None, "time": 12.5}) + "\n")
    log = st.logs.read(path)
    assert log.actions == ("a", "b")
    assert log.columns == ("user.age",)
    assert np.isnan(whole(log).rewards[1])
    assert whole(log).times[1] == 12.5


def test_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"format":"stumpery-log","version":99}\n')
    with pytest.raises(st.InvalidInput, match=r"log.jsonl is a log of version 99; this version of Stumpery reads 1"):
        st.logs.read(path)


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("before")
    log = st.logs.read(written(tmp_path, [*EVENTS, "{\n"]))
    with pytest.raises(st.InvalidInput, match="line 21"):
        st.logs.write(log, path)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".part")] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "log.txt"}, "log.txt does not end with .parquet, .jsonl"),
        ({"path": "log.cb", "format": "dsjon"}, "there is no format to write 'dsjon': did you mean dsjson"),
        ({"path": "log.parquet", "format": "cb"}, "cb is a text"),
        ({"path": "log.cb", "rewards": [1.0]}, "there are 2 decisions and 1 rewards"),
        ({"path": "log.cb", "log": 7}, "log is 7; it must be a Log"),
    ],
)
def test_wrong_arguments_are_refused(options, message, tmp_path):
    arguments = {"log": [st.Decision("a", 0.5), st.Decision("b", 0.5)]} | options
    with pytest.raises(st.InvalidInput, match=message):
        st.logs.write(arguments.pop("log"), tmp_path / arguments.pop("path"), **arguments)


def test_columns_of_text_with_spaces_are_safe_in_cb_text(tmp_path):
    path = tmp_path / "log.cb"
    context = {"user.home town": "New York: a|b", "x y": 1.5}
    st.logs.write([st.Decision("a", 0.5, context)], path, rewards=[1.0])
    assert path.read_text() == "1:-1.0:0.5 |user home_town=New_York__a_b | x_y:1.5\n"


@pytest.mark.parametrize(
    ("rewards", "words"), [(["x"], r"rewards is \['x'\]"), (5, "rewards is 5"), ([np.inf], "has an infinite one")]
)
def test_rewards_that_are_no_numbers_are_refused_and_nothing_is_written(rewards, words, tmp_path):
    with pytest.raises(st.InvalidInput, match=words):
        st.logs.write([st.Decision("a", 0.5)], tmp_path / "log.jsonl", rewards=rewards)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("weight", [-1.0, 0.0, 1e300])
def test_weights_that_no_row_can_have_are_named_or_dropped(weight, tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [
        {"context": {"hour": 1}, "action": "a", "probability": 0.5, "reward": 1.0, "weight": each}
        for each in (weight, 2)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(st.InvalidInput, match="line 1: the number of events that it stands for is not above 0"):
        st.logs.inspect(st.logs.read(path))
    (chunk,) = st.logs.read(path, on_error="lenient").chunks()
    assert chunk.weights.tolist() == [2.0]
