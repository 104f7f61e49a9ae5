"""Moves and renames change no bit: every model gives the digests that were recorded."""

import subprocess
import sys

import numpy as np
import pytest
from tests.contracts import digests
from tests.contracts.every_model import all_cases
from tests.contracts.long_plays import long_cases
from tests.contracts.plays import Said
from tests.contracts.test_modes import ROOT, environment

import stumpery as st


def test_every_model_gives_the_recorded_digests():
    _, where = digests.read()
    if reason := digests.other_machine(where):
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.contracts.digests", "compare"]
    ended = subprocess.run(command, cwd=ROOT, env=environment("compiled"), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_another_machine_is_told_what_differs_and_how_to_record():
    here = digests.fingerprint()
    assert not digests.other_machine(here)
    reason = digests.other_machine({**here, "numpy": "1.0", "machine": "vax"})
    assert f"numpy {here['numpy']!r} instead of '1.0'" in reason
    assert f"machine {here['machine']!r} instead of 'vax'" in reason
    assert "python -m tests.contracts.digests record" in reason
    assert "numba" not in reason


def test_of_trees_that_jax_trains_only_the_decisions_are_recorded():
    recorded, _ = digests.read()
    without_bits = {
        label for label, parts in recorded.items() if parts.keys() != {"decisions", "probabilities", "arrays"}
    }
    assert without_bits == set(digests.TRAINED_BY_JAX)
    assert all(recorded[label].keys() == {"decisions"} for label in without_bits)


def moments(*values):
    summary = st.summaries.Moments()
    summary.add_many(values)
    return summary


def test_each_part_of_a_digest_sees_what_it_is_for():
    said = Said([moments(1.0, 2.0)], ["a", 3.0], [np.array([0.5, 0.25])])
    expected = digests.digests_of(said)
    others = {
        "decisions": said._replace(decisions=["a", np.nextafter(3.0, 4.0)]),
        "probabilities": said._replace(probabilities=[np.array([0.5, np.nextafter(0.25, 1.0)])]),
        "arrays": said._replace(models=[moments(1.0, np.nextafter(2.0, 3.0))]),
    }
    for part, other in others.items():
        actual = digests.digests_of(other)
        assert [name for name in expected if actual[name] != expected[name]] == [part]


def test_the_digest_of_arrays_sees_neither_names_nor_order():
    class Model:
        def __init__(self, **arrays):
            self.arrays = arrays

        def state(self):
            return st.types.State({"name of an option": 1}, self.arrays)

    first, second = np.arange(3), np.ones(2)
    expected = digests.digests_of(Said([Model(a=first, b=second)], [], []))
    assert digests.digests_of(Said([Model(x=second, y=first)], [], [])) == expected
    assert digests.digests_of(Said([Model(a=first, b=second.astype(np.float32))], [], [])) != expected
    assert digests.digests_of(Said([Model(a=first[:, None], b=second)], [], [])) != expected


def test_cases_that_differ_come_or_go_are_named():
    recorded = {"A": {"decisions": "1", "arrays": "2"}, "B": {"decisions": "1"}, "C": {}}
    found = {"A": {"decisions": "1", "arrays": "3"}, "B": {"decisions": "1"}, "D": {}}
    assert digests.differences(recorded, found) == [
        "A: arrays differ",
        "C: recorded, but not played",
        "D: new, not recorded",
    ]


def test_each_case_has_a_label_of_its_own():
    labels = [label for cases in (all_cases(), long_cases()) for label, _ in cases]
    assert len(labels) > 80
    assert sorted(labels) == sorted(set(labels))
