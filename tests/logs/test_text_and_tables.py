"""Logs in Vowpal Wabbit's text, in CSV and Parquet files, and in Open Bandit's columns."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.logs.test_dsjson import whole

import stumpery as st

CB = """\
1:-1:0.5 |user age:31 device=phone |time hour:9
2:0:0.25 'tag7 |user age:44 device=desk

3:2.5:0.25 | alone
"""
ADF = """\
shared |user age:31 device=phone
|item name=news price:1
0:-1:0.25 |item name=film price:2

shared |user age:44
0:0:0.5 |item name=film price:2
|item name=news price:1
|item name=sport
"""


def file(tmp_path, text, name="log.txt"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_cb_text_is_read_with_its_lines_and_namespaces(tmp_path):
    log = st.logs.read(file(tmp_path, CB))
    chunk = whole(log)
    assert log.format == "cb"
    assert log.actions == (1, 2, 3)
    assert chunk.actions.tolist() == [0, 1, 2]
    assert chunk.rewards.tolist() == [1.0, 0.0, -2.5]
    assert chunk.probabilities.tolist() == [0.5, 0.25, 0.25]
    assert chunk.lines.tolist() == [1, 2, 4]
    assert chunk.contexts["user.device"] == ["phone", "desk", None]
    np.testing.assert_array_equal(chunk.contexts["time.hour"], [9.0, np.nan, np.nan])
    np.testing.assert_array_equal(chunk.contexts["alone"], [np.nan, np.nan, 1.0])


def test_cb_adf_text_is_read_with_the_actions_that_were_available(tmp_path):
    path = file(tmp_path, ADF)
    log = st.logs.read(path)
    chunk = whole(log)
    assert log.format == "cb_adf"
    assert log.actions == (1, 2, 3)
    assert chunk.actions.tolist() == [1, 0]
    assert chunk.available.tolist() == [[True, True, False], [True, True, True]]
    assert chunk.lines.tolist() == [1, 5]
    assert chunk.contexts["user.device"] == ["phone", None]
    named = st.logs.read(path, action="item.name", action_features=True)
    assert named.actions == ("film", "news", "sport")
    assert whole(named).actions.tolist() == [0, 0]
    assert whole(named).action_features[0]["news"] == {"item.name": "news", "item.price": 1.0}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1:cheap:0.5 | age:3", "unreadable line"),
        ("1:0:0.5 | age:old", "unreadable line"),
        ("1:0:0.5", "event of another kind"),
        ("1:0:0.5 2:1:0.5 | age:3", "event of another kind"),
        ("| age:3", "missing action"),
        ("1:0:0 | age:3", "probability of 0"),
        ("1:0:2 | age:3", "probability above 1"),
        ("1:0 | age:3", "missing probability"),
    ],
)
def test_a_line_of_text_with_a_problem_is_named_or_counted(line, problem, tmp_path):
    path = file(tmp_path, f"1:0:0.5 | age:3\n{line}\n2:0:0.5 | age:3\n")
    with pytest.raises(st.InvalidInput, match=r"^log.txt, line 2: "):
        list(st.logs.read(path, actions=[1, 2]).chunks())
    log = st.logs.read(path, actions=[1, 2], on_error="lenient")
    assert sum(map(len, log.chunks())) in (2, 3)
    assert log.report.lines[problem] == [2]


def test_a_block_with_two_labels_is_no_single_decision(tmp_path):
    path = file(tmp_path, "0:1:0.5 | a\n0:1:0.5 | b\n\n| a\n0:1:0.5 | b\n")
    log = st.logs.read(path, format="cb_adf", on_error="lenient")
    assert whole(log).lines.tolist() == [4]
    assert log.report.lines == {"event of another kind": [1]}


def table(n=50):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "timestamp": ["2019-11-24 00:00:01.123456+00:00"] * n,
            "item_id": rng.integers(0, 4, n),
            "position": rng.integers(1, 4, n),
            "click": rng.integers(0, 2, n),
            "propensity_score": np.full(n, 0.25),
            "user_feature_0": rng.choice(["ab", "cd"], n),
            "user-item_affinity_0": rng.random(n),
            "behavior_policy": ["random"] * n,
        }
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_open_bandits_columns(kind, tmp_path):
    path = tmp_path / f"log.{kind}"
    (pq.write_table if kind == "parquet" else pyarrow.csv.write_csv)(table(), path)
    log = st.logs.read(path)
    chunk = whole(log)
    assert log.format == "open_bandit"
    assert log.actions == (0, 1, 2, 3)
    assert log.columns == ("position", "user_feature_0", "user-item_affinity_0")
    assert chunk.actions.tolist() == table()["item_id"].to_pylist()
    assert chunk.rewards.tolist() == table()["click"].to_pylist()
    assert chunk.times[0] == pytest.approx(1574553601.123456)
    assert list(chunk.contexts["user_feature_0"]) == table()["user_feature_0"].to_pylist()
    assert chunk.lines[0] == (0 if kind == "parquet" else 2)
    policy = st.RewardForest(actions=log.actions).learn_log(log)
    assert policy.decide(next(iter(chunk.contexts))).action in log.actions


def test_any_table_by_naming_its_columns(tmp_path):
    path = file(tmp_path, 'shown,won,p,id,"home, town"\nnews,1,0.5,a,Oslo\nfilm,,0.5,b,""\n', "log.csv")
    with pytest.raises(st.InvalidInput, match=r"log.csv is a table; action= and reward= must name its columns"):
        st.logs.read(path)
    log = st.logs.read(path, action="shown", reward="won", probability="p", event_id="id")
    chunk = whole(log)
    assert log.actions == ("film", "news")
    np.testing.assert_array_equal(chunk.rewards, [1.0, np.nan])
    assert chunk.contexts["home, town"] == ["Oslo", None]
    with pytest.raises(st.InvalidInput, match="there is no column 'wno': did you mean won"):
        st.logs.read(path, action="shown", reward="wno")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("news,1", "unreadable line"),
        ("news,1,0.5,a,7,8", "unreadable line"),
        ("news,much,0.5,c,7", "value of another type"),
        ("news,1,0,c,7", "probability of 0"),
        ("news,1,0.5,a,7", "duplicate event id"),
        ('"news,1,0.5,c,7', "unreadable line"),
    ],
)
def test_a_line_of_a_csv_with_a_problem_is_named_or_counted(line, problem, tmp_path):
    before = "".join(f"news,1,0.5,{'a' if row == 0 else f'x{row}'},3\n" for row in range(1000))
    path = file(tmp_path, f"shown,won,p,id,age\n{before}{line}\nfilm,0,0.5,b,4\n", "log.csv")
    options = {"action": "shown", "reward": "won", "probability": "p", "event_id": "id", "actions": ["film", "news"]}
    with pytest.raises(st.InvalidInput, match=r"^log.csv, line 1002: "):
        list(st.logs.read(path, **options).chunks())
    log = st.logs.read(path, **options, on_error="lenient")
    assert sum(map(len, log.chunks())) in (1001, 1002)
    assert log.report.lines[problem] == [1002]


def test_an_empty_parquet_file_is_refused(tmp_path):
    (tmp_path / "part.parquet").write_bytes(b"")
    with pytest.raises(st.InvalidInput, match=r"part\.parquet is empty; a Parquet file without rows has at least"):
        st.logs.read(tmp_path, action="action", reward="reward")


def test_a_damaged_parquet_file_is_refused(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(st.InvalidInput, match="is damaged, or no Parquet file"):
        st.logs.read(path)
