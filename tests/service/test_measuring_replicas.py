"""Measurements of several processes: every figure is of what was asked, and a decision costs all processes together."""

import pytest

from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.upkeep import measuring_replicas
from stumpery.service.upkeep.measuring_replicas import measure_replicas


def test_two_processes_are_compared_with_one(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring_replicas, "ROUNDS", 2)
    one, both, ratio = measure_replicas(tmp_path, 2, 0.5)
    assert [each["measured"] for each in (one, both)] == [
        "decide, 1 of 2 processes, the others follow",
        "decide, 2 of 2 processes",
    ]
    assert (one["n_failed"], both["n_failed"], both["following_cpu_us"]) == (0, 0, 0.0)
    assert one["requests_per_s"] > 0 < both["requests_per_s"]
    assert ratio["by_processor_time"] == pytest.approx(2 * one["deciding_cpu_us"] / both["cpu_us"])
    assert one["deciding_cpu_us"] > one["following_cpu_us"] >= 0
    log = SqliteLog(tmp_path / "log.sqlite", is_reader=True)
    assert log.last()[0] > 100
    log.close()
