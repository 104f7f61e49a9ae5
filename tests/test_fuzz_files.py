"""Changed numbers in a saved model are refused or harmless; `fuzz_files.py` says more, and tries many more."""

import pytest
from tests.fuzz_files import fuzz
from tests.test_files import KINDS

MODES = {"compiled": {"STUMPERY_BOUNDS_CHECK": "0"}, "bounds-checked": {"STUMPERY_BOUNDS_CHECK": "1"}}
N_CASES = 6  # of each kind


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("half", [0, 1])
def test_no_changed_number_makes_a_loaded_model_hang_or_crash(mode, half):
    assert fuzz(KINDS[half::2], 1, range(N_CASES), **MODES[mode]) == []


HANGS = """
import faulthandler, sys, time
print("CASE Moments 3 row [0] = 1", flush=True)
faulthandler.dump_traceback_later(0.1, exit=True)
time.sleep(60)
"""


def test_a_case_that_hangs_is_named_and_the_next_one_is_tried(monkeypatch, tmp_path):
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    monkeypatch.setattr("tests.fuzz_files.__file__", str(script))
    told = []
    failures = fuzz(["Moments"], 1, range(4), tell=lambda text, flush: told.append(text))
    assert failures == told
    assert len(failures) == 1
    assert failures[0].startswith("Moments seed 1 case 3: row [0] = 1: hung or crashed\nTimeout")
