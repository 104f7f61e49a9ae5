"""Evaluating logs with lines that have problems: strict evaluation names the line, lenient evaluation counts it."""

import json

import numpy as np
import pytest
from tests.logs.test_dsjson import PROBLEMS, event, written

import stumpery as st

N_BEFORE = 1100  # more than the rows whose keys become columns
LEFT_OUT = {  # rows that cannot be evaluated, of those that are read
    "missing action": "action",
    "missing probability": "probability",
    "probability of 0": "probability",
    "probability above 1": "probability",
}
DROPPED = ("unreadable line", "event of another kind", "duplicate event id", "invalid weight")


def log_with(tmp_path, line, **options):
    rows = [event(number, _label_cost=-float(number % 2)) for number in range(1, N_BEFORE)]
    return st.logs.read(written(tmp_path, [*rows, line, event(5000)]), actions=(1, 2, 3), **options)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_line_with_a_problem_is_named_or_left_out(problem, tmp_path):
    learner = st.EpsilonGreedy(actions=[1, 2, 3])
    policies = {"first": 1, "learns": st.evaluation.Progressive(learner)}
    with pytest.raises(st.InvalidInput, match=rf"^events.dsjson, line {N_BEFORE}: "):
        st.evaluate(log_with(tmp_path, PROBLEMS[problem]), policies)
    assert [row["n"] for row in learner.explain().rows] == [0, 0, 0]
    log = log_with(tmp_path, PROBLEMS[problem], on_error="lenient")
    report = st.evaluate(log, policies)
    assert report.n_events == N_BEFORE + (problem not in DROPPED and problem not in LEFT_OUT)
    assert log.report.lines[problem] == [N_BEFORE]
    if problem in LEFT_OUT:
        assert f"1 without a valid {LEFT_OUT[problem]}" in str(report)
    for policy in report.policies:
        assert np.isfinite(report.value(policy))
        low, high = report.interval(policy)
        assert 0.0 <= low <= high <= 1.0


def test_a_cut_last_line_is_named_or_left_out(tmp_path):
    path = written(tmp_path, [event(number) for number in range(N_BEFORE)])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(st.InvalidInput, match=f"line {N_BEFORE}: the last line is cut"):
        st.evaluate(st.logs.read(path), {"first": 1})
    assert st.evaluate(st.logs.read(path, on_error="lenient"), {"first": 1}).n_events == N_BEFORE - 1


def test_no_feedback_is_left_out_or_what_one_says_it_earned(tmp_path):
    missing = event(9000, _label_cost=None)
    report = st.evaluate(log_with(tmp_path, missing), {"first": 1})
    assert report.n_events == N_BEFORE
    assert "1 without a valid reward" in str(report)
    said = st.evaluate(log_with(tmp_path, missing, no_feedback=0.0), {"first": 1})
    assert said.n_events == N_BEFORE + 1


def test_a_file_of_another_encoding_is_evaluated_the_same(tmp_path):
    rows = [event(number, c={"town": "Tromsø"}, _label_cost=-float(number % 2)) for number in range(N_BEFORE)]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    values = []
    for encoding in ("utf-8", "utf-16", "latin-1"):
        path = tmp_path / f"{encoding}.dsjson"
        path.write_bytes(lines.encode(encoding))
        log = st.logs.read(path, encoding=None if encoding == "utf-16" else encoding)
        values.append(st.evaluate(log, {"first": 1}, slices="town").value("first", slice="Tromsø"))
    assert values[0] == values[1] == values[2]


def test_a_policy_without_some_of_the_logs_actions_is_evaluated_with_a_warning_and_does_not_learn(tmp_path):
    log = log_with(tmp_path, event(9000, _label_Action=3, _labelIndex=2, a=[3, 1, 2]))
    policy = st.policies.RandomPolicy(actions=[1, 4])
    report = st.evaluate(log, {"other": policy})
    assert any("actions that the log does not show" in warning for warning in report.warnings("other"))
    with pytest.raises(st.InvalidInput, match="it has no action 2, 3"):
        st.evaluate(log, {"other": st.evaluation.Progressive(policy)})
