"""Studies that are short on every machine."""

import pytest

from stumpery.studies.contextual import peers, problems
from stumpery.studies.reinforcement import options as rl_options
from stumpery.studies.reinforcement import problems as rl_problems
from stumpery.studies.selection import problems as feature_problems


@pytest.fixture(autouse=True)
def small_contest(monkeypatch):
    """One stream that needs no file, and no library but ours."""
    monkeypatch.setattr(problems, "CONTEST", {"digits": problems.CONTEST["digits"]})
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(rl_problems, "PROBLEMS", {"Nursery": rl_problems.PROBLEMS["Nursery"]})
    monkeypatch.setattr(rl_options, "SETTINGS_ON", ("Nursery",))
    monkeypatch.setattr(rl_options, "SETTINGS", {"ours": {}, "one random report": {"reports": "one"}})
    monkeypatch.setattr(rl_options, "AFTER_CHANGE", {"ours": {}})
    monkeypatch.setattr(rl_options, "PENALTIES", (0.01, 0.1))
    monkeypatch.setattr(feature_problems, "PROBLEMS", {"a8a": feature_problems.Problem("digits", 3)})
