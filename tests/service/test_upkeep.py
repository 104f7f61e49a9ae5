"""Upkeep of a site: check, rebuild, export, back-up, retention and erasure."""

import json

import pytest
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_replicas import drive
from tests.support import refused

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.service.engine.engine import Engine
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.settings import SiteSettings
from stumpery.service.upkeep import copying
from stumpery.service.upkeep.checking import check, rebuild
from stumpery.service.upkeep.copying import back_up, erase
from stumpery.service.upkeep.exporting import export


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder(tmp_path, clock):
    """A site that was stopped, with two snapshots."""
    with open_site(tmp_path / "site", clock) as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 60, seed=1)
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        drive(site, 40, seed=2)
    return tmp_path / "site"


def found(lines):
    return {line["checked"]: line["found"] for line in lines}


def test_a_sound_site_passes_the_check(folder):
    lines = found(check(folder))
    assert lines["file"] == "ok"
    assert [text for name, text in lines.items() if name.startswith("snapshot")] == ["equal to the log"] * 2
    assert "sha256" in lines["log"]


def test_the_check_finds_a_damaged_snapshot(folder):
    latest = max((folder / "snapshots").iterdir(), key=lambda path: int(path.name))
    (latest / "tables.msgpack").write_bytes(b"")
    assert found(check(folder))[f"snapshot {latest.name}"].startswith("damaged")


def test_a_rebuild_equals_the_snapshot_and_its_tail(folder):
    assert found(rebuild(folder))["snapshot and tail"] == "equal to the rebuild"


def test_decisions_are_exported_with_their_rewards_while_the_service_runs(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create(wait_s=10.0)
        first, second, open_ = (site.decide(context={"hour": hour}) for hour in range(3))
        site.reward(first.event_id, 1.0)
        site.clock.forward(5)
        site.decide()
        site.clock.forward(6)
        site.reward(open_.event_id, 1.0)
        assert export(tmp_path / "site", "default", tmp_path / "out.jsonl") == 3
        with refused(naming="no policy 'nobody'"):
            export(tmp_path / "site", "nobody", tmp_path / "out2.jsonl")
    heading, *lines = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert heading["actions"] == ["news", "sport", "film"]
    assert [(line["event_id"], line["reward"]) for line in lines] == [
        (first.event_id, 1.0),
        (second.event_id, 0.0),
        (open_.event_id, 0.0),
    ]
    assert lines[0]["context"] == {"hour": 0}


def test_a_back_up_of_a_running_site_continues_it(tmp_path, clock):
    with open_site(tmp_path / "site", clock) as site:
        site.create(**FOREST)
        drive(site, 30, seed=3)
        assert back_up(tmp_path / "site", tmp_path / "copy") == site.engine.log.last()[0]
        before = site.digest()
        with refused(naming="needs a new folder"):
            back_up(tmp_path / "site", tmp_path / "copy")
    with open_site(tmp_path / "copy", clock) as copy:
        assert copy.digest() == before


def test_a_copy_that_the_retention_overtakes_is_refused_and_deleted(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(copying, "COPIED_ROWS", 10)
    log = SqliteLog(folder / "log.sqlite")
    next_rows = log.next_rows

    def trimming(after, limit):
        if after:
            log.trim(30, 1_000)
        return next_rows(after, limit)

    monkeypatch.setattr(log, "next_rows", trimming)
    with refused(naming="deleted while they were copied", error=ServiceUnavailable):
        copying._copy(log, tmp_path / "copy.sqlite", log.last()[0])
    assert list(tmp_path.glob("copy.sqlite*")) == []
    log.close()


def test_erased_contexts_leave_the_file_and_the_model(tmp_path, clock):
    with open_site(tmp_path / "site", clock) as site:
        site.create(**FOREST)
        for user in ("anna-4711", "bert-0815") * 5:
            site.reward(site.decide(context={"user": user, "hour": 3}).event_id, 1.0)
        site.decide(context={"user": "anna-4711", "hour": 4})
    assert erase(tmp_path / "site", "user", "anna-4711") == 6
    content = b"".join(path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert b"anna-4711" not in content
    assert b"bert-0815" in content
    with open_site(tmp_path / "site", clock) as site:
        assert site.counts()["learned"] == 5
        assert site.digest() == site.rebuilt_digest()
        clock.forward(700)
        site.decide(context={"user": "bert-0815", "hour": 4})
        assert site.counts()["learned"] == 5
    assert erase(tmp_path / "site", "user", "nobody") == 0


def test_events_beyond_the_retention_are_deleted_and_a_restart_has_equal_bits(tmp_path, clock, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.duties.TRIM_S", 0.0)
    with open_site(tmp_path / "site", clock, retention_s=100.0) as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 60, seed=4)
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        number = site.engine.log.last()[0]
        clock.forward(200)
        drive(site, 60, seed=5)
        for _ in range(3):
            site.digest()
        assert site.engine.call(lambda journal: journal.log.first()) == number + 1
        before = site.digest()
        assert site.engine.call(lambda journal: site.engine.snapshots.restore(journal.log)).digest() == before
    with open_site(tmp_path / "site", clock) as site:
        assert site.digest() == before
    assert found(check(tmp_path / "site"))["file"] == "ok"
    with refused(naming="cannot be rebuilt without these contexts", error=InvalidInput):
        erase(tmp_path / "site", "hour", "3")
    for path in (tmp_path / "site" / "snapshots").glob("*/manifest.json"):
        path.unlink()
    engine = Engine(SiteSettings(folder=str(tmp_path / "site")), clock=clock)
    with refused(naming="no usable snapshot holds what was before", error=CorruptFile):
        engine.start()
    engine.stop()


def test_erasing_where_there_is_no_log_makes_none(tmp_path):
    with refused(naming="there is no log in", error=InvalidInput):
        erase(tmp_path, "hour", "3")
    assert list(tmp_path.iterdir()) == []
