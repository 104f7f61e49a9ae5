"""Every model gives the same bits compiled, compiled with bounds checks, and as plain Python."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.contracts import every_model

MODES = {"compiled": {}, "checked": {"STUMPERY_BOUNDS_CHECK": "1"}, "plain": {"NUMBA_DISABLE_JIT": "1"}}
ROOT = Path(__file__).parents[2]


def environment(mode):
    """The environment variables of a mode, whichever the tests run in."""
    switches = {name for switches in MODES.values() for name in switches}
    return {name: value for name, value in os.environ.items() if name not in switches} | MODES[mode]


def started(mode):
    command = [sys.executable, "-m", "tests.contracts.every_model"]
    return subprocess.Popen(command, cwd=ROOT, env=environment(mode), stdout=subprocess.PIPE, text=True)


def said_by(processes):
    """What each process says; where one fails, the others are ended."""
    found = {}
    with ExitStack() as stack:
        for process in processes.values():
            stack.enter_context(process)
            stack.callback(process.kill)
        for mode, process in processes.items():
            said, _ = process.communicate()
            assert process.returncode == 0, mode
            found[mode] = json.loads(said)
    return found


def test_where_one_mode_fails_the_others_are_ended():
    codes = {"fails": "raise SystemExit(3)", "waits": "import time; time.sleep(1000)"}
    processes = {
        mode: subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for mode, code in codes.items()
    }
    with pytest.raises(AssertionError, match="fails"):
        said_by(processes)
    assert processes["waits"].poll() is not None


def test_every_model_gives_the_same_bits_in_every_mode():
    found = said_by({mode: started(mode) for mode in MODES})
    compiled = found["compiled"]
    assert len(compiled) > 1000
    for mode in ("checked", "plain"):
        assert found[mode].keys() == compiled.keys()
        assert [name for name, digest in compiled.items() if found[mode][name] != digest] == [], mode


def test_a_model_that_nobody_plays_is_noticed():
    class New:
        def from_state(self):
            """As models have it."""

    with pytest.raises(TypeError, match="New is a model, and nothing here plays it"):
        list(every_model.cases_of(New))
