"""The study of streams, without datasets or peers."""

import pytest

from stumpery.jit import INTERPRETED
from stumpery.studies.streaming import drift as stream_drift
from stumpery.studies.streaming import streams
from stumpery.studies.study import Settings


def settings(steps):
    return Settings(steps=steps, trials=1, seed=0)


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_a_forest_recovers_on_the_drifting_generator(monkeypatch):
    monkeypatch.setattr(stream_drift, "source", lambda _name, _n, _seed: stream_drift.generated(settings(4000)))
    rows = stream_drift.drift_rows(settings(10_000))
    recovers, better = stream_drift.drift_claims(rows)
    assert recovers.verdict == "reproduced", recovers.evidence
    assert "without" in better.evidence
    assert {row["about"] for row in rows} == set(stream_drift.STREAMS)


def row(name, learner, accuracy, n_bytes=100.0):
    return {
        "about": name,
        "learner": learner,
        "events": 10,
        "accuracy": accuracy,
        "events_per_s": 1e5,
        "n_bytes": n_bytes,
    }


def test_claims_beside_moa_say_where_ours_is_behind():
    rows = [row(name, "tree", 0.9) for name in streams.TARGETS]
    rows += [row(name, "MOA tree", 0.8 if name != "skin" else 0.95) for name in streams.TARGETS]
    rows += [row(name, streams.SMALL_TREE, 0.9, 90.0 if name != "adult" else 200.0) for name in streams.TARGETS]
    costs = [row("events", str(number), 0.0) for number in range(streams.N_WINDOWS)]
    costs += [row("columns", str(width), 0.0) for width in streams.WIDTHS]
    found = {each.claim: each for each in streams.claims(rows, costs)}
    accurate = found["our tree is as accurate as MOA's or more"]
    assert (accurate.verdict, "-0.0500 on skin" in accurate.evidence) == ("refuted", True)
    memory = found["within the memory that MOA's tree took, ours is as accurate or more"]
    assert memory.evidence == "not on adult, skin"
    assert found["the time per event does not depend on the length of the stream"].verdict == "reproduced"
    assert streams.draw(rows, costs, [])


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_a_tree_gets_as_much_memory_as_it_needs_and_data_that_nobody_can_learn_are_refused():
    data = stream_drift.generated(settings(500))
    assert 100 < streams.within(data, 100.0)["n_bytes"] < 1_000_000
    with pytest.raises(ValueError, match="a label is nan"):
        streams.within(data._replace(labels=[float("nan")] * 500), 1e6)


def test_without_the_bytes_of_moas_tree_there_is_no_tree_within_them(monkeypatch):
    data = stream_drift.generated(settings(20))
    figures = {"accuracy": 0.5, "events_per_s": 1.0, "n_bytes": float("nan")}
    monkeypatch.setattr(streams, "source", lambda *_: data)
    monkeypatch.setattr(streams, "learners", lambda: {"MOA tree": (None, lambda _: figures)})
    found = streams.on_dataset("adult", settings(20), lambda _: None)
    assert [each["learner"] for each in found] == ["MOA tree"]
