"""Faults under load, in their short form.

The long ones: `python -m tests.service.faults.kills --kills 300`, `... .power_cuts --cuts 600`, and
`... .several_kills --kills 50 --postgresql`.
"""

import json
import os
import subprocess
import sys

import pytest
from tests.service.postgresql import BINARIES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the harness forks its servers")


def run(program, *arguments):
    command = [sys.executable, "-m", f"tests.service.faults.{program}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def test_no_acknowledged_event_is_lost_when_the_server_is_killed():
    found, status = run("kills", "--kills", 30)
    assert (found["lost"], found["different"], status) == (0, 0, 0)
    assert found["answered"] > 100


def test_the_harness_catches_answers_that_leave_before_the_commit():
    found, status = run("kills", "--kills", 6, "--plant")
    assert found["lost"] > 0
    assert status == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kills", 3),
        pytest.param(
            ("--kills", 4, "--postgresql"), marks=pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed")
        ),
    ],
    ids=["sqlite", "postgresql"],
)
def test_kills_of_several_processes_lose_nothing_and_leave_all_of_them_equal(arguments):
    found, status = run("several_kills", *arguments)
    wrong = ("lost", "contradictions", "unequal", "wrong_probabilities")
    assert ({each: found[each] for each in wrong}, status) == (dict.fromkeys(wrong, 0), 0)
    assert set(found["kills"].values()) == {1}
    assert found["answered"] > 100
    assert found["answered_by_another_process"] > 10
    assert found["decisions_drawn_again"] > 50


@pytest.mark.parametrize(("plant", "kind"), [("early", "lost"), ("probability", "wrong_probabilities")])
def test_kills_of_several_processes_catch_planted_faults(plant, kind):
    found, status = run("several_kills", "--kills", 3, "--plant", plant)
    assert found[kind] > 0
    assert status == 1


def test_no_acknowledged_event_is_lost_in_power_cuts():
    found, status = run("power_cuts", "--cuts", 50)
    assert (found["cuts"], found["lost"], status) == (50, 0, 0)
    assert found["acknowledged"] > 1_000


@pytest.mark.parametrize("plant", ["early", "normal"])
def test_power_cuts_catch_planted_faults(plant):
    found, status = run("power_cuts", "--cuts", 20, "--plant", plant)
    assert found["lost"] > 0
    assert status == 1
