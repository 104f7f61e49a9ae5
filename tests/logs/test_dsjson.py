"""Logs in Vowpal Wabbit's dsjson."""

import json

import numpy as np
import pytest

import stumpery as st


def event(number=0, **changes):
    """One event as a dict; a change to None takes a key away."""
    chosen = number % 3 + 1
    order = [chosen, *(each for each in (1, 2, 3) if each != chosen)]
    context = {
        "User": {"age": 20 + number, "device": ["phone", "desk"][number % 2]},
        "hour": number % 24,
        "_multi": [{"_tag": name, "item": {"price": 1.5}} for name in ("news", "film", "sport")],
    }
    whole = {
        "_label_cost": -float(number % 2),
        "_label_probability": 0.8,
        "_label_Action": chosen,
        "_labelIndex": chosen - 1,
        "o": [{"EventId": f"e{number}", "v": 1.0}] if number % 2 else [],
        "Timestamp": f"2021-03-04T12:34:{number % 60:02}.1234567Z",
        "Version": "1",
        "EventId": f"e{number}",
        "a": order,
        "c": context,
        "p": [0.8, 0.15, 0.05],
        "VWState": {"m": "a/b"},
    } | changes
    return {key: value for key, value in whole.items() if value is not None}


def written(tmp_path, events, name="events.dsjson"):
    path = tmp_path / name
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in events))
    return path


def whole(log):
    (chunk,) = log.chunks(1_000_000)
    return chunk


def test_an_event_is_read_as_vowpal_wabbit_means_it(tmp_path):
    log = st.logs.read(written(tmp_path, [event(number) for number in range(6)]))
    chunk = whole(log)
    assert log.format == "dsjson"
    assert log.actions == (1, 2, 3)
    assert log.columns == ("User.age", "User.device", "hour")
    assert chunk.actions.tolist() == [0, 1, 2, 0, 1, 2]
    assert chunk.rewards.tolist() == [0.0, 1.0] * 3
    assert not np.signbit(chunk.rewards).any()
    assert chunk.probabilities.tolist() == [0.8] * 6
    assert chunk.all_probabilities[1].tolist() == [0.15, 0.8, 0.05]  # p runs along a
    assert chunk.all_probabilities[2].tolist() == [0.15, 0.05, 0.8]
    assert chunk.available is None
    assert chunk.event_ids[5] == "e5"
    assert chunk.times[0] == pytest.approx(1614861240.123456, abs=1e-5)
    assert chunk.lines.tolist() == [1, 2, 3, 4, 5, 6]
    assert chunk.weights is None
    assert next(iter(chunk.contexts)) == {"User.age": 20.0, "User.device": "phone", "hour": 0.0}
    assert log.report.counts == {}


def test_actions_are_named_by_a_feature(tmp_path):
    path = written(tmp_path, [event(number) for number in range(6)])
    log = st.logs.read(path, action="_tag")
    assert log.actions == ("film", "news", "sport")
    chunk = whole(log)
    assert [log.actions[index] for index in chunk.actions] == ["news", "film", "sport"] * 2
    assert chunk.all_probabilities[1].tolist() == [0.8, 0.15, 0.05]


def test_features_of_actions_come_if_asked_for(tmp_path):
    path = written(tmp_path, [event()])
    assert whole(st.logs.read(path)).action_features is None
    (features,) = whole(st.logs.read(path, action="_tag", action_features=True)).action_features
    assert features["film"] == {"item.price": 1.5}


def test_fewer_candidates_are_fewer_available_actions(tmp_path):
    few = event(1, a=[2, 1], p=[0.9, 0.1], _label_probability=0.9)
    chunk = whole(st.logs.read(written(tmp_path, [event(0), few])))
    assert chunk.available.tolist() == [[True] * 3, [True, True, False]]
    assert chunk.all_probabilities[1].tolist() == [0.1, 0.9, 0.0]


def test_dropped_events_weigh_the_others(tmp_path):
    chunk = whole(st.logs.read(written(tmp_path, [event(0), event(1, pdrop=0.75)])))
    assert chunk.weights.tolist() == [1.0, 4.0]


def test_rewards_can_be_the_observations(tmp_path):
    path = written(tmp_path, [event(0), event(1), event(2, o=None)])
    chunk = whole(st.logs.read(path, reward="observations"))
    np.testing.assert_array_equal(chunk.rewards, [np.nan, 1.0, np.nan])
    with pytest.raises(st.InvalidInput, match="reward is 'click'"):
        st.logs.read(path, reward="click")


def test_nested_lists_of_objects_are_joined(tmp_path):
    context = {"From": [{"time": "morning"}], "geo": {"at": {"country": "NO"}}, "v": [1, 2.5], "mixed": 3}
    other = {"From": [{"time": "night"}, {"day": 3}], "v": [7], "mixed": "three"}
    log = st.logs.read(written(tmp_path, [event(0, c=context), event(1, c=other), event(2, c={})]))
    chunk = whole(log)
    assert chunk.contexts["From.time"] == ["morning", "night", None]
    assert chunk.contexts["geo.at.country"] == ["NO", None, None]
    np.testing.assert_array_equal(chunk.contexts["From.day"], [np.nan, 3.0, np.nan])
    np.testing.assert_array_equal(chunk.contexts["v.0"], [1.0, 7.0, np.nan])
    np.testing.assert_array_equal(chunk.contexts["v.1"], [2.5, np.nan, np.nan])
    assert chunk.contexts["mixed"] == ["3", "three", None]


LATER = [event(number) for number in range(1, 1200)]  # more than the rows whose keys become columns
PROBLEMS = {
    "unreadable line": "{'a': 1}\n",
    "event of another kind": event(_outcomes=[]),
    "duplicate event id": event(1),
    "missing action": event(_label_Action=7, _labelIndex=6, a=[7, 2, 3]),
    "contradictory action": event(_label_Action=2, _labelIndex=1),
    "missing probability": event(_label_probability=None, p=None),
    "probability of 0": event(_label_probability=0.0, p=None),
    "probability above 1": event(_label_probability=1.2, p=None),
    "contradictory probability": event(_label_probability=0.7),
    "probabilities off 1": event(p=[0.8, 0.8, 0.8]),
    "invalid time": event(Timestamp="yesterday"),
    "invalid weight": event(pdrop=1.0),
    "value of another type": event(c={"User": {"age": "old"}}),
    "new column": event(c={"User": {"age": 31, "income": 7}}),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_line_with_a_problem_is_named_or_counted(problem, tmp_path):
    path = written(tmp_path, [*LATER, PROBLEMS[problem], event(5000)])
    options = {"actions": (1, 2, 3)}
    with pytest.raises(st.InvalidInput, match=r"^events.dsjson, line 1200: "):
        list(st.logs.read(path, **options).chunks())
    log = st.logs.read(path, **options, on_error="lenient")
    rows = sum(map(len, log.chunks(100)))
    assert log.report.counts[problem] == 1
    assert log.report.lines[problem] == [1200]
    dropped = problem in ("unreadable line", "event of another kind", "duplicate event id", "invalid weight")
    assert rows == log.report.rows == 1200 + (not dropped)


def test_no_feedback_and_events_that_teach_nothing_are_counted_in_strict_reading_too(tmp_path):
    dangling = {"RewardValue": 1.0, "EventId": "x", "EnqueuedTimeUtc": "2021-03-04T12:34:56Z"}
    path = written(tmp_path, [event(_label_cost=None), dangling, event(1, _skipLearn=True), "\n", event(2)])
    log = st.logs.read(path)
    chunk = whole(log)
    assert chunk.lines.tolist() == [1, 5]
    np.testing.assert_array_equal(chunk.rewards, [np.nan, 0.0])
    assert log.report.counts == {"reward without decision": 1, "not to learn from": 1, "no feedback": 1}


def test_a_value_of_another_type_outside_the_context_is_repaired(tmp_path):
    path = written(tmp_path, [event(0), event(1, _label_cost="cheap", p="all")])
    log = st.logs.read(path, on_error="lenient")
    assert np.isnan(whole(log).rewards[1])
    assert log.report.counts["value of another type"] == 2


def test_numbers_that_are_not_finite_are_missing(tmp_path):
    path = written(tmp_path, [event(0), event(1, c={"hour": float("nan")}), event(2, _label_cost=float("nan"))])
    log = st.logs.read(path)
    chunk = whole(log)
    assert np.isnan(chunk.contexts["hour"][1])
    assert np.isnan(chunk.rewards[2])


def test_hostile_lines_do_not_crash(tmp_path):
    hostile = ["[" * 100_000 + "\n", '{"a": ' * 5000 + "\n", "null\n", "17\n", '"text"\n', '{"c": 3}\n', "{}\n"]
    hostile.append(json.dumps(event(1, EventId=7, a="all", c=[1, 2], Timestamp=3, _labelIndex=10**30)) + "\n")
    path = written(tmp_path, [event(0), *hostile, event(2)])
    log = st.logs.read(path, on_error="lenient", format="dsjson")
    assert sum(map(len, log.chunks())) >= 2
    assert log.report.counts["unreadable line"] == 5


def test_facts_are_those_of_all_rows_though_only_labels_are_read(tmp_path):
    events = [
        event(0, _label_cost=2.5),
        event(1, a=None, p=None, _label_Action=7),
        event(2, _label_cost="?", a=[1] * 9),
    ]
    events += ["{\n", event(3, _label_cost=float("nan")), event(4, _label_cost=-4)]
    path = written(tmp_path, events)
    log = st.logs.read(path, on_error="lenient")
    assert log.actions == tuple(range(1, 10))
    assert log.reward_range == (-2.5, 4.0)
    assert log.n_rows == 5
    rows = []
    assert st.logs.read(path).scan(progress=rows.append).actions == log.actions
    assert sum(rows) == 5


STRANGE = {'say "hi"': 1.0, "back\\slash": "x", "line\nend": {"a\x00b": 3.0, "plain": 4.0}}


def test_columns_may_have_names_with_quotes_backslashes_and_control_characters(tmp_path):
    events = [event(number, c={"hour": number, "_multi": event()["c"]["_multi"], **STRANGE}) for number in range(3)]
    log = st.logs.read(written(tmp_path, events))
    (chunk,) = log.chunks()
    assert log.columns == ("hour", 'say "hi"', "back\\slash", "line\nend.a\x00b", "line\nend.plain")
    assert chunk.contexts["line\nend.a\x00b"].tolist() == [3.0] * 3
    assert chunk.contexts["line\nend.plain"].tolist() == [4.0] * 3
    assert list(chunk.contexts["back\\slash"]) == ["x"] * 3
    assert log.report.counts == {}


@pytest.mark.parametrize("key", ["_label_cost", "_tag", "c"])
def test_halves_of_surrogate_pairs_make_a_line_unreadable(key, tmp_path):
    path = written(tmp_path, [event(0), event(1, **{key: {"x": "\ud800"} if key == "c" else "\ud800"})])
    with pytest.raises(st.InvalidInput, match="line 2: it is not a line of this format"):
        st.logs.inspect(st.logs.read(path))
    assert st.logs.inspect(st.logs.read(path, on_error="lenient")).rows == 1


@pytest.mark.parametrize("options", [{"action": "item.id"}, {"action_features": True}])
def test_candidates_that_are_no_list_have_no_names_and_no_features(options, tmp_path):
    path = written(tmp_path, [event(0, c={"hour": 1, "_multi": 5})])
    (chunk,) = st.logs.read(path, **options).chunks()
    assert len(chunk) == 1
