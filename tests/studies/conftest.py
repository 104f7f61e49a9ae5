"""Studies that are short on every machine."""

import pytest

from stumpery.studies.contextual import datasets, peers
from stumpery.studies.reinforcement import learners as rl_learners
from stumpery.studies.reinforcement import variants as rl_variants
from stumpery.studies.selection import methods as feature_methods


@pytest.fixture(autouse=True)
def small_contest(monkeypatch):
    """One stream that needs no file, and no library but ours."""
    monkeypatch.setattr(datasets, "CONTEST", {"digits": datasets.CONTEST["digits"]})
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(rl_learners, "PROBLEMS", {"Nursery": rl_learners.PROBLEMS["Nursery"]})
    monkeypatch.setattr(rl_variants, "VARIANT_PROBLEMS", ("Nursery",))
    monkeypatch.setattr(rl_variants, "VARIANTS", {"ours": {}, "one random report": {"reports": "one"}})
    monkeypatch.setattr(rl_variants, "DRIFT_VARIANTS", {"ours": {}})
    monkeypatch.setattr(rl_variants, "PENALTIES", (0.01, 0.1))
    monkeypatch.setattr(feature_methods, "PROBLEMS", {"a8a": feature_methods.SelectionProblem("digits", 3)})
