"""Studies that are short on every machine."""

from types import SimpleNamespace

import pytest

from stumpery.studies.contextual import datasets, peers, tables
from stumpery.studies.reinforcement import learners as rl_learners
from stumpery.studies.reinforcement import variants as rl_variants
from stumpery.studies.selection import methods as feature_methods


@pytest.fixture(autouse=True)
def small_contest(monkeypatch):
    """One stream that needs no file, and no library but ours."""
    monkeypatch.setattr(datasets, "CONTEST", {"digits": datasets.CONTEST["digits"]})
    monkeypatch.setattr(peers, "PEERS", {})
    monkeypatch.setattr(peers, "ONE_PASS_PEERS", {})
    digits = SimpleNamespace(is_here=True, open=datasets.CONTEST["digits"].open)
    monkeypatch.setattr(tables, "TABLES", {"digits": digits, "more digits": digits})
    monkeypatch.setattr(tables, "CHOOSING", ("digits",))
    monkeypatch.setattr(tables, "CHECKING", ("more digits",))
    monkeypatch.setattr(rl_learners, "PROBLEMS", {"Nursery": rl_learners.PROBLEMS["Nursery"]})
    monkeypatch.setattr(rl_variants, "VARIANT_PROBLEMS", ("Nursery",))
    monkeypatch.setattr(rl_variants, "VARIANTS", {"ours": {}, "one random report": {"reports": "one"}})
    monkeypatch.setattr(rl_variants, "DRIFT_VARIANTS", {"ours": {}})
    monkeypatch.setattr(rl_variants, "PENALTIES", (0.01, 0.1))
    monkeypatch.setattr(feature_methods, "PROBLEMS", {"a8a": feature_methods.SelectionProblem("digits", 3)})
