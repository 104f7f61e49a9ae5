"""A soak in short form, and what its verdict says of growth."""

import pytest

from stumpery.service.upkeep.soaking import MAX_GROWTH, N_WINDOWS, Window, soak, verdict


def windows(**growing):
    """Windows of a soak in which all stays as it is, but what is named grows from one to the next."""
    still = dict.fromkeys(Window._fields, 100.0) | {"n_failed": 0, "first_event": 50, "last_event": 90}
    return [Window(**still | {name: 100.0 + step * index for name, step in growing.items()}) for index in range(30)]


def test_a_day_passes_within_memory_and_disk():
    *seen, last = soak(0.4, 4)
    assert len(seen) == N_WINDOWS
    assert last["n_failed"] == 0
    assert last["events"] > 1_000
    assert 0 < last["deleted"] < last["events"]
    assert last["growth"]["memory_mb"] < MAX_GROWTH
    assert last["growth"]["disk_mb"] < 2.0  # the log still begins to be cut in so short a time
    assert seen[-1]["snapshots"] <= 3


@pytest.mark.parametrize("name", ["memory_mb", "disk_mb", "p50_ms"])
def test_what_grows_is_not_flat(name):
    assert verdict(windows())["is_flat"]
    found = verdict(windows(**{name: 10.0}))
    assert found["growth"][name] > MAX_GROWTH
    assert not found["is_flat"]


def test_a_failed_request_or_a_log_that_is_never_cut_is_no_pass():
    assert not verdict([each._replace(n_failed=1) for each in windows()])["is_flat"]
    assert not verdict([each._replace(first_event=1) for each in windows()])["is_flat"]
