"""The measurements of the service in short form: requests are answered, and a missing peer is said to be missing."""

import sys
from importlib.util import find_spec

import pytest

from stumpery.service.upkeep import measuring
from stumpery.service.upkeep.measuring import PEER, measure


def test_all_requests_are_answered_and_each_measurement_is_a_line():
    lines = list(measure(0.2, 200))
    own = [line for line in lines if "peer" not in line]
    assert [line["measured"] for line in own[:4]] == [
        "decide, 1 connections",
        "decide, 16 connections",
        "decide, 64 connections",
        "decide, 500 a second",
    ]
    assert [line["measured"] for line in own[4:]] == ["rebuild"] + 3 * ["ready after kill -9"]
    assert {line["n_failed"] for line in own[:4]} == {0}
    assert all(line["seconds"] > 0 for line in own[4:])
    peers = [line for line in lines if "peer" in line]
    if find_spec("vowpalwabbit") is None:
        assert peers == [{"measured": "decide", "peer": PEER, "requests_per_s": None}]
    else:
        assert [line["n_failed"] for line in peers] == 4 * [0]


def test_a_peer_that_is_not_installed_is_null(monkeypatch):
    monkeypatch.setattr(measuring, "find_spec", lambda name: None)
    assert [line["requests_per_s"] for line in measuring.peer_throughput("nowhere", 1.0)] == [None]


@pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="vowpalwabbit is not installed")
def test_the_peer_learns():
    from stumpery.service.upkeep.peer_server import VowpalWabbitModel
    from stumpery.types import Decision

    model = VowpalWabbitModel(["a", "b"])
    for _ in range(200):
        model.learn(Decision("b", 0.5, {"x": 1.0}), 1.0)
        model.learn(Decision("a", 0.5, {"x": 1.0}), 0.0)
    assert model.probabilities({"x": 1.0})[1] > 0.8
    assert "vowpalwabbit" in sys.modules
