"""The command line, as a user types it."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import stumpery as st
from stumpery.cli import app

COMMANDS = [
    ("demo",),
    ("study",),
    ("plan",),
    ("bench",),
    ("serve",),
    ("data",),
    ("data", "list"),
    ("service",),
    *(("service", name) for name in ("check", "rebuild", "export", "backup", "erase", "key", "bench")),
    ("data", "fetch"),
    ("data", "path"),
    ("logs",),
    ("logs", "inspect"),
    ("logs", "convert"),
    ("logs", "learn"),
    ("logs", "evaluate"),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STUMPERY_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_every_leaf_an_example(run, command):
    answer = run(*command, "--help")
    assert answer.exit_code == 0
    assert command in (("data",), ("logs",), ("service",)) or "Example: stumpery " + " ".join(command) in answer.output


def test_the_demo_prints_a_table_and_says_where_its_files_are(run, tmp_path):
    answer = run("demo", "--steps", 300, "--trials", 2)
    assert answer.exit_code == 0, answer.output
    assert "reward forest" in answer.output
    for name in ("result.json", "result.csv", "demo.png"):
        assert f"wrote out/demo/{name}" in answer.output
        assert (tmp_path / "out" / "demo" / name).stat().st_size > 0


def test_the_version_is_printed(run):
    answer = run("--version")
    assert (answer.exit_code, answer.output) == (0, f"stumpery {st.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "proposed"),
    [
        (["study", "bandit-101"], "stumpery: there is no study 'bandit-101': did you mean bandits-101"),
        (["data", "path", "nurserry"], "stumpery: there is no dataset 'nurserry': did you mean nursery"),
        (["data", "fetch", "nurserry"], "stumpery: there is no dataset 'nurserry': did you mean nursery"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_nearest(run, arguments, proposed):
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert answer.stderr.startswith(proposed)
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize(("typed", "found"), [("study bandits-1", "bandits-101"), ("data path nurs", "nursery")])
def test_the_shell_completes_names(run, typed, found):
    words = {"COMP_WORDS": f"stumpery {typed}", "COMP_CWORD": str(len(typed.split()))}
    variables = {"_STUMPERY_COMPLETE": "complete_bash", **words}
    answer = CliRunner().invoke(app, [], prog_name="stumpery", env=variables)
    assert answer.output.split() == [found]


def test_the_list_of_studies_names_each_of_them(run):
    answer = run("study", "list")
    assert "demo" in answer.output
    assert "bandits-101" in answer.output


def test_a_study_takes_the_settings_that_are_given(run, tmp_path):
    out = tmp_path / "elsewhere"
    answer = run("study", "demo", "--steps", 200, "--trials", 3, "--seed", 5, "--threads", 1, "--out", out)
    assert answer.exit_code == 0, answer.output
    found = json.loads((out / "result.json").read_text())
    assert found["settings"] == {"steps": 200, "trials": 3, "seed": 5, "threads": 1}


def test_a_study_runs_its_trials_in_processes(run, tmp_path):
    answers = []
    for name, options in {"processes": ["--jobs", 2], "threads": []}.items():
        answer = run("study", "bandits-101", "--steps", 100, "--trials", 2, *options, "--out", tmp_path / name)
        assert answer.exit_code == 0, answer.output
        found = json.loads((tmp_path / name / "result.json").read_text())
        answers.append([(row["policy"], row["regret"]) for row in found["final"]])
    assert answers[0] == answers[1]


def test_the_plan_prints_what_the_formulas_give(run):
    answer = run("plan", "--depth", 14, "--variable-gap", 0.4, "--action-gap", 0.1)
    assert answer.exit_code == 0, answer.output
    assert re.search(r"drop a variable of a forest's node \(3\)\W+1,647\b", answer.output)
    assert re.search(r"best action\W+\d[\d,]+ \(Lemma 3\)\W+2,097 \(Lemma 4\)", answer.output)
    within = run("plan", "--action-gap", 0.1, "--epsilon", 0.2)
    assert re.search(r"\W524 \(Lemma 4\)", within.output)


def test_the_table_of_datasets_says_where_each_would_come_from(run):
    answer = run("data", "list")
    assert re.search(r"covtype\W+581,012\W+55\W+7\W+Cover_Type\W+web", answer.output)
    assert re.search(r"digits\W+1,797\W+65\W+10\W+digit\W+library", answer.output)


def test_the_data_path_is_the_folder_that_is_looked_in_first(run, tmp_path, monkeypatch):
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    assert run("data", "path").output.strip() == str(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["study", "nonsense"], "there is no study 'nonsense': there are demo, bandits-101"),
        (["demo", "--steps", "0"], "steps is 0; it must be a whole number of 1 or more"),
        (["study", "demo", "--jobs", "2", "--ray", "auto"], "--jobs and --ray are both given"),
        (["study", "forest-cost", "--jobs", "2"], "forest-cost measures time, so its parts run one by one"),
        (["demo", "--seed", "-1"], "seed is -1; it must be a whole number from 0 to 9223372036854775807"),
        (["demo", "--out", "afile/x"], "Not a directory"),
        (["plan", "--delta", "0"], "delta is 0.0; it must be a number from 1e-12 to 1"),
        (["plan", "--actions", "1"], "n_actions is 1; it must be a whole number of 2 or more"),
        (["serve", "nowhere.toml"], "there is no file nowhere.toml"),
        (["serve", "--actions", " , "], "--actions is not valid"),
        (["serve", "--port", "-1"], "port"),
        (["serve", "--host", "192.0.2.1"], "the site needs keys"),
        (["service", "check", "nowhere"], "there is no log in nowhere"),
        (["service", "rebuild", "nowhere"], "there is no log in nowhere"),
        (["service", "check", "nowhere", "--log", "mysql://x"], "the command is not valid"),
        (["service", "export", "nowhere", "default", "x.jsonl"], "there is no log nowhere/log.sqlite"),
        (["service", "backup", "nowhere", "copy"], "there is no log nowhere/log.sqlite"),
        (["service", "key", "--rights", "all"], "the key is not valid"),
        (["service", "bench", "--events", "1"], "events is 1; it must be a whole number of 100 or more"),
        (["service", "bench", "--replicas", "0"], "replicas is 0; it must be a whole number from 1 to 64"),
        (["bench", "--only", "nonsense"], "no benchmark's name contains 'nonsense'"),
        (["bench", "--repeats", "0"], "repeats is 0; it must be a whole number of 1 or more"),
        (["bench", "--only", "start/help", "--against"], "there are no saved figures of this machine at"),
        (["data", "path", "nursery"], "nursery is not on this machine: stumpery data fetch nursery"),
        (["data", "fetch", "nurserry"], "nursery"),
        (["study", "demo", "--data", "nowhere", "--steps", "10", "--trials", "1"], "nowhere"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence_on_the_error_stream(run, tmp_path, monkeypatch, arguments, sentence):
    (tmp_path / "afile").write_text("")
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path / "cache"))
    answer = run(*arguments)
    assert answer.exit_code == 2
    last = answer.stderr.strip().splitlines()[-1]
    assert last.startswith("stumpery: ")
    assert sentence in last
    assert "Traceback" not in answer.output


def test_ctrl_c_while_a_command_is_imported_shows_no_traceback(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    command = [sys.executable, "-m", "stumpery", "--version"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nstopped\n")
