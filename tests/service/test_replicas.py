"""Replicas: equal logs give equal bits, from the whole log or from a snapshot and its tail."""

import os
import time

import numpy as np
import pytest
from tests.service.sites import ACTIONS, FOREST, Clock, open_site

from stumpery.service.engine.administering import (
    ActionRequest,
    CloneRequest,
    add_action,
    clone,
    delete,
    remove_action,
)
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import SiteSettings


def drive(site, n, seed):
    """Decide, reward some in any order, let waits end, and change actions on the way."""
    rng = np.random.default_rng(seed)
    waiting = []
    for step in range(n):
        devices, ages = ["phone", "desk", f"new {step // 40}"], [None, 30.5]
        context = {"hour": int(rng.integers(24)), "device": devices[rng.integers(3)], "age": ages[rng.integers(2)]}
        waiting.append(site.decide(context=context, deferred=rng.random() < 0.1).event_id)
        if rng.random() < 0.6:
            site.reward(waiting.pop(rng.integers(len(waiting))), float(rng.random() < 0.5))
        site.clock.forward(rng.random())


@pytest.mark.parametrize("rule", ["first", "sum"])
def test_a_rebuild_from_the_log_gives_equal_bits(tmp_path, rule):
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, wait_s=20.0, rewards=rule)
        drive(site, 150, seed=1)
        assert site.digest() == site.rebuilt_digest()


def test_a_restart_from_a_snapshot_and_its_tail_gives_equal_bits(tmp_path):
    clock = Clock()
    with open_site(tmp_path / "site", clock) as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 100, seed=2)
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        number = site.engine.log.last()[0]
        drive(site, 100, seed=3)
        before = site.digest()
        restored = site.engine.call(lambda journal: site.engine.snapshots.restore(journal.log))
        assert (restored.digest(), site.rebuilt_digest()) == (before, before)
        assert site.engine.snapshots.numbers() == [number]
    with open_site(tmp_path / "site", clock) as site:
        assert site.digest() == before
        drive(site, 30, seed=4)
        assert site.digest() == site.rebuilt_digest()


def test_administration_is_rebuilt_too(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 60, seed=5)
        site.do(add_action, "default", ActionRequest("weather"))
        drive(site, 40, seed=6)
        site.do(remove_action, "default", "news")
        site.do(clone, "default", CloneRequest("copy"))
        site.change(default_reward=0.25, wait_s=5.0)
        drive(site, 40, seed=7)
        site.create("short", actions=ACTIONS)
        site.decide("short")
        site.do(delete, "short")
        assert list(site.counts()["settings"]["actions"]) == ["sport", "film", "weather"]
        assert site.digest() == site.rebuilt_digest()


@pytest.mark.parametrize("name", ["0.safetensors", "tables.msgpack", "manifest.json"])
@pytest.mark.parametrize("how", ["changed", "cut", "gone"])
def test_a_damaged_snapshot_is_passed_over_for_an_older_one_and_the_log(tmp_path, name, how, caplog):
    clock = Clock()
    with open_site(tmp_path / "site", clock) as site:
        site.create(**FOREST)
        for seed in (8, 9):
            drive(site, 20, seed=seed)
            site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        before = site.digest()
        latest = tmp_path / "site" / "snapshots" / str(site.engine.snapshots.numbers()[0])
    content = bytearray((latest / name).read_bytes())
    content[len(content) // 2] ^= 1
    (latest / name).unlink()
    if how != "gone":
        (latest / name).write_bytes(content if how == "changed" else content[: len(content) // 2])
    with open_site(tmp_path / "site", clock) as site:
        assert site.digest() == before
    assert "is damaged and passed over" in caplog.text


def test_snapshots_are_saved_while_requests_are_answered_and_old_ones_deleted(tmp_path):
    with open_site(tmp_path / "site", snapshot_events=50) as site:
        site.create()
        while len(site.engine.snapshots.numbers()) < 3 or site.engine.snapshots.numbers()[-1] <= 51:
            site.reward(site.decide().event_id, 1.0)
            assert site.engine.log.last()[0] < 20_000
        before = site.digest()
    restored = Snapshots(tmp_path / "site" / "snapshots")
    assert len(restored.numbers()) == 3
    with open_site(tmp_path / "site") as site:
        assert site.digest() == before


def test_what_killed_processes_left_of_a_snapshot_is_deleted_after_an_hour(tmp_path):
    snapshots = Snapshots(tmp_path / "snapshots")
    for name, hours in ((".7.1.part", 2.0), (".9.2.part", 0.0)):
        part = snapshots.folder / name
        part.mkdir(parents=True)
        (part / "0.safetensors").write_bytes(b"begun")
        os.utime(part, (time.time() - 3600 * hours,) * 2)
    snapshots.save(SiteReplica())
    assert sorted(path.name for path in snapshots.folder.iterdir()) == [".9.2.part", "0"]


def test_settings_have_stable_defaults():
    assert (SiteSettings().host, SiteSettings().port) == ("127.0.0.1", 8321)
