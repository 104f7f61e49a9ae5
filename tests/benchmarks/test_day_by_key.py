"""The simulated day in short form."""

import json
import subprocess
import sys

from stumpery.benchmarks.day_by_key import BEST_MEAN, quarters


def test_a_short_day_is_generated_inspected_learned_and_evaluated(tmp_path):
    options = ["--rows", "20000", "--keys", "4", "--files", "2", "--jobs", "2", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "stumpery.benchmarks.day_by_key", *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    steps = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [(step["step"], step["rows"]) for step in steps] == [
        ("generate", 20_000), ("inspect", 20_000), ("learn", 20_000), ("evaluate", 1000),
    ]  # fmt: skip
    assert all(step["peak MB"] > 50 for step in steps)
    _, inspected, learned, evaluated = [json.loads(line) for line in answer.stderr.splitlines()]
    assert inspected["problems"] == 0
    assert (learned["policies"], learned["rows"]) == (4, 20_000)
    assert evaluated["logged reward"] < 0.5 < evaluated["learned policies"] < BEST_MEAN + 0.1


def test_quarters_weigh_files_by_their_rows():
    assert quarters([[(100, 1e-4), (200, 1e-4), (300, 3e-4), (400, 1e-4)], [(800, 8e-4)]]) == [1.0, 1.0, 3.0, 1.0]
