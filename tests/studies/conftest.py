"""Studies that are short on every machine."""

import pytest

from stumpery.studies import feature_problems, peers, problems


@pytest.fixture(autouse=True)
def small_contest(monkeypatch):
    """One stream that needs no file, and no library but ours."""
    monkeypatch.setattr(problems, "CONTEST", {"digits": problems.CONTEST["digits"]})
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(feature_problems, "PROBLEMS", {"a8a": feature_problems.Problem("digits", 3)})
