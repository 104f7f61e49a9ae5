"""The arena of a stream's trees: growth, and what is logged of it."""

import logging

import numpy as np
import pytest

import stumpery as st


def test_growth_is_logged_and_stops_at_the_memory_limit(caplog):
    rng = np.random.default_rng(1)
    rows = rng.random((6000, 3))
    model = st.HoeffdingTreeClassifier(max_bytes=400_000)
    with caplog.at_level(logging.DEBUG, logger="stumpery"):
        model.learn_many(rows, rows[:, 0] > rows[:, 1])
    assert any(record.message.startswith("memory grows to Capacity(") for record in caplog.records)
    names = {record.name for record in caplog.records} - {"stumpery.compiling.kernel_cache"}  # of the first run ever
    assert names == {"stumpery.streaming.arena"}
    assert model.n_bytes <= 400_000


def test_evictions_are_logged(caplog):
    rows = np.random.default_rng(1).random((20_000, 3))
    model = st.HoeffdingTreeClassifier(max_bytes=100_000, grace_period=20)
    with caplog.at_level(logging.DEBUG, logger="stumpery"):
        model.learn_many(rows, (rows * 4).astype(int).sum(axis=1) % 2)
    assert f"old events were evicted: {model.n_events} are stored" in [record.message for record in caplog.records]


def test_columns_that_need_64_bits_are_logged_and_keep_their_digits(caplog):
    rows = 1.7e12 + np.arange(400.0).reshape(-1, 1)
    model = st.HoeffdingTreeClassifier(grace_period=20)
    with caplog.at_level(logging.DEBUG, logger="stumpery"):
        model.learn_many(rows, rows[:, 0] % 400 >= 200)
    assert "columns [0] become 64 bits wide" in [record.message for record in caplog.records]
    assert model._arena.shape.widths.tolist() == [8]


def test_events_that_new_classes_displace_are_logged(caplog):
    rows = np.random.default_rng(4).random((6000, 3))
    model = st.HoeffdingTreeClassifier(max_bytes=100_000, grace_period=20)
    model.learn_many(rows, (rows[:, 0] * 7).astype(int) % 2)
    before = model.n_events
    with caplog.at_level(logging.INFO, logger="stumpery"):
        model.learn_many(rows[:60], list(range(60)))
    assert [record.message for record in caplog.records] == [f"{model.n_events} events are kept instead of {before}"]
    assert len(model.classes) == 60


def test_a_shape_that_does_not_fit_is_refused_and_changes_nothing():
    rows = np.random.default_rng(4).random((3000, 3))
    model = st.HoeffdingTreeClassifier(max_bytes=100_000)
    model.learn_many(rows, rows[:, 0] > rows[:, 1])
    before, shape = model.state().arrays["events"].tobytes(), model._arena.shape
    with pytest.raises(st.CapacityError, match=r"^max_bytes is 100000; .* need about"):
        model.learn_many(rows[:900], list(range(900)))
    assert model._arena.shape is shape
    assert model.state().arrays["events"].tobytes() == before
