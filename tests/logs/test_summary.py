"""Summaries of logs, and the commands of logs."""

import numpy as np
import pytest
from tests.logs.test_dsjson import event, written
from tests.support import assert_same_state
from typer.testing import CliRunner

import stumpery as st
from stumpery.cli import app

EVENTS = [event(number) for number in range(40)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    written(tmp_path, EVENTS)
    written(tmp_path, [*EVENTS, "{\n", event(3, _label_probability=0.0, p=None, EventId="z")], "bad.dsjson")
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["logs", *map(str, arguments)])


def test_a_summary_has_the_figures_of_the_log(tmp_path):
    rows = [*EVENTS, event(40, _label_cost=None, c={"hour": 3}), event(0)]
    summary = st.logs.inspect(st.logs.read(written(tmp_path, rows), on_error="lenient"))
    assert summary.rows == 41
    assert [row["action"] for row in summary.actions] == [1, 2, 3]
    assert sum(row["rows"] for row in summary.actions) == 41
    assert sum(row["with reward"] for row in summary.actions) == 40
    assert summary.actions[0]["share"] == pytest.approx(14 / 41)
    assert summary.actions[0]["mean reward"] == pytest.approx(0.5)
    assert summary.actions[0]["mean probability"] == pytest.approx(0.8)
    reward, probability = summary.figures
    assert (reward["missing"], reward["least"], reward["greatest"]) == (1, 0.0, 1.0)
    assert (probability["missing"], probability["least"]) == (0, 0.8)
    assert summary.times[0]["back in time"] == 0
    columns = {row["column"]: row for row in summary.columns}
    assert columns["User.device"] == {
        "column": "User.device",
        "kind": "categorical",
        "missing": 1,
        "values": "2: desk, phone",
    }
    assert columns["hour"]["kind"] == "numerical"
    assert summary.report.counts == {"no feedback": 1, "duplicate event id": 1}
    for text in ("41 rows, 3 actions", "duplicate event id", "User.device"):
        assert text in str(summary)
    assert "<table>" in summary._repr_html_()


def test_a_summary_of_a_log_that_declares_its_actions_and_of_an_empty_one(tmp_path):
    log = st.logs.read(written(tmp_path, EVENTS), actions=[1, 2, 3, 4])
    assert [row["rows"] for row in st.logs.inspect(log).actions] == [14, 13, 13]
    st.logs.write(log, tmp_path / "log.parquet")
    assert [row["rows"] for row in st.logs.inspect(st.logs.read(tmp_path / "log.parquet")).actions] == [14, 13, 13]
    empty = st.logs.inspect(st.logs.read(written(tmp_path, [], "empty.dsjson")))
    assert (empty.rows, list(empty.actions)) == (0, [])
    assert "0 rows" in str(empty)


def test_the_curve_of_rewards_is_that_of_all_rows_in_bounded_memory():
    rng = np.random.default_rng(5)
    rewards = rng.random(50_001)
    rewards[rng.random(50_001) < 0.1] = np.nan
    frame = {"a": ["x"] * 50_001, "r": rewards}
    curve = st.logs.inspect(st.logs.from_frame(frame, action="a", reward="r")).curve
    assert 30 <= len(curve["rows"]) <= 61
    assert curve["rows"][-1] == 50_001
    starts = np.concatenate([[0], curve["rows"][:-1]]).astype(int)
    for start, end, mean, half in zip(
        starts, curve["rows"].astype(int), curve["mean reward"], curve["half width"], strict=True
    ):
        block = rewards[start:end]
        known = block[~np.isnan(block)]
        assert mean == pytest.approx(known.mean())
        assert half == pytest.approx(1.96 * known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0)


def test_a_picture_is_written(run, tmp_path):
    answer = run("inspect", "events.dsjson", "--plot", "rewards.png")
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "rewards.png").stat().st_size > 1000


def test_inspect_prints_tables_and_lines_with_problems(run):
    answer = run("inspect", "bad.dsjson")
    assert answer.exit_code == 0, answer.output
    for text in ("bad.dsjson (dsjson): 41 rows, 3 actions", "mean reward", "unreadable line", "41", "probability of 0"):
        assert text in answer.output
    assert "no lines with problems" in run("inspect", "events.dsjson").output


def test_inspect_reads_the_files_of_a_folder_in_processes(run, tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("1", "2"):
        assert run("convert", "events.dsjson", "--out", f"folder/{name}.parquet").exit_code == 0
    answer = run("inspect", "folder", "--jobs", 2)
    assert answer.exit_code == 0, answer.output
    assert "1.parquet and 1 more (stumpery): 80 rows, 3 actions" in answer.output


def test_convert_writes_another_format(run, tmp_path):
    answer = run("convert", "events.dsjson", "--out", "events.parquet")
    assert answer.exit_code == 0, answer.output
    assert "wrote events.parquet: 40 rows" in answer.output
    assert st.logs.read(tmp_path / "events.parquet").n_rows == 40
    assert run("convert", "bad.dsjson", "--out", "bad.jsonl").exit_code == 2
    answer = run("convert", "bad.dsjson", "--out", "bad.jsonl", "--lenient")
    assert answer.exit_code == 0
    assert "unreadable line" in answer.output


def test_learn_saves_a_policy_that_goes_on(run, tmp_path):
    answer = run("learn", "events.dsjson", "--out", "policy.safetensors", "--policy", "LinUCB", "--seed", 3)
    assert answer.exit_code == 0, answer.output
    policy = st.load(tmp_path / "policy.safetensors")
    assert isinstance(policy, st.LinUCB)
    assert policy.actions == (1, 2, 3)
    assert policy.seed == 3
    answer = run("learn", "events.dsjson", "--out", "second.safetensors", "--start", "policy.safetensors")
    assert answer.exit_code == 0, answer.output
    counts = [
        sum(row["n"] for row in st.load(tmp_path / name).explain().rows)
        for name in ("policy.safetensors", "second.safetensors")
    ]
    assert counts == [40, 80]


def test_several_policies_learn_side_by_side_as_they_do_alone(run, tmp_path):
    answer = run("learn", "events.dsjson", "--out", "both", "--policy", "LinUCB", "--policy", "UCB", "--jobs", 2)
    assert answer.exit_code == 0, answer.output
    assert run("learn", "events.dsjson", "--out", "one.safetensors", "--policy", "LinUCB").exit_code == 0
    together, alone = st.load(tmp_path / "both" / "LinUCB.safetensors"), st.load(tmp_path / "one.safetensors")
    assert_same_state(together, alone)
    assert sum(row["n"] for row in st.load(tmp_path / "both" / "UCB.safetensors").explain().rows) == 40


def test_a_log_is_split_by_a_key_and_learned_by_it(run, tmp_path):
    answer = run("split", "events.dsjson", "--key", "User.device", "--files", 2, "--out", "devices")
    assert answer.exit_code == 0, answer.output
    assert "wrote devices: 40 rows" in answer.output
    answer = run("learn", "devices", "--key", "User.device", "--policy", "UCB", "--out", "policies", "--jobs", 2)
    assert answer.exit_code == 0, answer.output
    assert "wrote policies: 2 policies, 40 rows" in answer.output
    policies = st.logs.KeyedPolicies(tmp_path / "policies")
    assert set(policies) == {"desk", "phone"}
    assert sum(row["n"] for key in policies for row in policies[key].explain().rows) == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "none.dsjson"], "stumpery: there is no file none.dsjson"),
        (["inspect", "events.dsjson", "--format", "dsjsn"], "there is no format 'dsjsn': did you mean dsjson"),
        (["inspect", "events.dsjson", "--column", "huor"], "there is no column 'huor': did you mean hour"),
        (["inspect", "events.dsjson", "--no-feedback", "none"], "no_feedback is 'none'; it must be 'skip' or a number"),
        (
            ["learn", "events.dsjson", "--out", "p", "--policy", "LinUBC"],
            "there is no policy 'LinUBC': did you mean LinUCB",
        ),
        (["learn", "events.dsjson", "--out", "p", "--policy", "UCB", "--max-bytes", 9], "UCB has no option max_bytes"),
        (
            ["learn", "events.dsjson", "--out", "p", "--policy", "UCB", "--policy", "LinUCB", "--key", "hour"],
            "--key takes one",
        ),
        (["split", "events.dsjson", "--out", "p", "--key", "huor"], "there is no column 'huor': did you mean hour"),
        (["split", "events.dsjson", "--out", "p", "--key", "hour", "--files", 0], "n_files is 0; it must be a whole"),
        (["learn", "bad.dsjson", "--out", "p"], "bad.dsjson, line 41: it is not a line of this format"),
        (["convert", "events.dsjson", "--out", "events.xyz"], "events.xyz does not end with .parquet"),
        (["convert", "events.dsjson", "--out", "."], ". does not end with .parquet"),
        (["learn", "bad.dsjson", "--out", "none/p"], "none to write p in"),  # before the bad line is read
        (["inspect", "events.dsjson", "--plot", "none/p.png"], "none to write p.png in"),
    ],
)
def test_mistakes_are_explained_in_one_sentence(run, arguments, message):
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert message in answer.output
    assert "Traceback" not in answer.output


def test_a_table_is_read_by_the_names_of_its_columns(run, tmp_path):
    (tmp_path / "log.csv").write_text("shown,won,p,hour\nnews,1,0.5,3\nfilm,0,0.5,4\n")
    answer = run("inspect", "log.csv", "--action", "shown", "--reward", "won", "--probability", "p")
    assert answer.exit_code == 0, answer.output
    assert "2 rows, 2 actions" in answer.output
    assert "film" in answer.output
