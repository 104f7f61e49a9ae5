"""`stumpery logs evaluate`, as a user types it."""

import polars as pl
import pytest
from tests.evaluation.off_policy.test_evaluation import ACTIONS, log_of, rows_of
from typer.testing import CliRunner

import stumpery as st
from stumpery.cli import app

COLUMNS = ("--action", "action", "--reward", "reward", "--probability", "p")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "log.csv"
    pl.DataFrame(rows_of(600)).write_csv(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["logs", "evaluate", *map(str, arguments)])


def test_saved_policies_actions_and_uniform_choices_are_evaluated(file, tmp_path):
    policy = st.RewardForest(actions=ACTIONS, n_trees=4, seed=1).learn_log(log_of(rows_of(300, seed=8)))
    st.save(policy, tmp_path / "mine.safetensors")
    saved = tmp_path / "mine.safetensors"
    options = ("--policy", saved, "--learning", saved, "--always", "a", "--uniform", "--least-probability", 0.2)
    answer = run(file, *COLUMNS, *options, "--slices", "device", "--out", tmp_path / "report")
    assert answer.exit_code == 0, answer.output
    for name in ("mine", "mine, learning", "always a", "uniform", "logged", "phone", "any time"):
        assert name in answer.output
    assert {each.name for each in (tmp_path / "report").iterdir()} == {"report.json", "report.csv", "report.png"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing is to be evaluated"),
        (("--always", "z"), "policy 'always z' is 'z'"),
        (("--uniform", "--level", 2), "level is 2"),
    ],
)
def test_wrong_options_are_one_sentence(file, options, words):
    answer = run(file, *COLUMNS, *options)
    assert answer.exit_code != 0
    assert words in answer.output
