"""Snapshots in the database: a process on a new machine begins with them, also where the log's beginning is gone."""

import os

import pytest
from tests.service.postgresql import BINARIES, postgresql_server
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_replicas import drive
from tests.service.test_several import wait_for

from stumpery.service.engine import shared_snapshots
from stumpery.service.engine.administering import RollBackRequest, roll_back
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.upkeep.copying import erase

pytestmark = [
    pytest.mark.skipif(
        not BINARIES or os.name != "posix", reason="PostgreSQL's server is not installed on this machine"
    ),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # of jax, where another test has loaded it
]


@pytest.fixture(scope="module")
def server():
    with postgresql_server() as running:
        yield running


@pytest.fixture
def address(server, monkeypatch):
    monkeypatch.setattr(shared_snapshots, "MIN_GAIN", 5)
    monkeypatch.setattr("stumpery.service.engine.duties.TRIM_S", 0.0)
    log = PostgresqlLog(server.address)
    for table in ("log", "members", "snapshots"):
        log.query(f"DROP TABLE IF EXISTS stumpery_{table}")
    log.close()
    return server.address


def shared(address):
    """The numbers of complete snapshots in the database."""
    log = PostgresqlLog(address, is_reader=True)
    try:
        there = log.query(shared_snapshots.SNAPSHOTS_EXIST)[0]["is_there"]
        return [row["number"] for row in log.query(shared_snapshots.COMPLETE)] if there else []
    finally:
        log.close()


def drive_until_shared(site, address, n, seed=1):
    """Decide until so many snapshots are in the database."""
    while len(shared(address)) < n:
        drive(site, 20, seed)
        seed += 1
        site.digest()


def test_a_process_on_a_new_machine_begins_with_the_snapshot_of_the_leader(tmp_path, address):
    clock = Clock()
    with open_site(tmp_path / "one", clock, database=address, name="one", snapshot_events=30) as one:
        one.create(**FOREST, wait_s=20.0)
        drive_until_shared(one, address, 1)
        drive(one, 5, seed=50)
        with open_site(tmp_path / "two", clock, database=address, name="two", role="decider") as two:
            assert two.engine.snapshots.numbers()
            assert set(two.engine.snapshots.numbers()) <= set(shared(address))
            assert one.digest() == two.digest() == one.rebuilt_digest()  # the leader first: it writes default rewards


def test_old_ones_are_deleted_and_incomplete_ones_passed_over(tmp_path, address):
    clock = Clock()
    with open_site(tmp_path / "one", clock, database=address, name="one", snapshot_events=30) as one:
        one.create(**FOREST, wait_s=20.0)
        drive_until_shared(one, address, 3)
        first = shared(address)[-1]
        seed = 100
        while first in shared(address):
            drive(one, 20, seed)
            seed += 1
        assert len(shared(address)) <= 4
        before = one.digest()
    log = PostgresqlLog(address, is_reader=True)
    last = log.last()[0]
    log.query("INSERT INTO stumpery_snapshots VALUES ($1, 'tables.msgpack', 0, 'x')", last + 1)
    log.query("UPDATE stumpery_snapshots SET content = 'damaged' WHERE name = 'tables.msgpack'")
    log.close()
    with open_site(tmp_path / "two", clock, database=address, name="two") as two:
        assert two.digest() == before


def test_one_that_is_deleted_while_it_is_fetched_is_done_without(tmp_path, address, caplog):
    log = PostgresqlLog(address)
    log.query(shared_snapshots.CREATE_SNAPSHOTS)
    for name in ("tables.msgpack", "manifest.json"):
        log.query(shared_snapshots.INSERT_SNAPSHOT, 90, name, 0, b"x")
    query = log.query

    def deleting(statement, *values):
        if statement.startswith("SELECT content"):
            query("TRUNCATE stumpery_snapshots")
        return query(statement, *values)

    log.query = deleting
    folder = tmp_path / "snapshots"
    assert not shared_snapshots.SharedSnapshots(address, Snapshots(folder)).fetch(log, 0)
    assert list(folder.iterdir()) == []
    assert "the snapshot at 90 was not fetched" in caplog.text
    log.close()


def test_where_the_beginning_of_the_log_is_gone_a_new_machine_can_start(tmp_path, address):
    clock = Clock()
    settings = {"database": address, "retention_s": 30.0, "snapshot_events": 30}
    with open_site(tmp_path / "one", clock, name="one", **settings) as one:
        one.create(**FOREST, wait_s=20.0)
        drive_until_shared(one, address, 3)
        seed = 200
        while one.engine.call(lambda journal: journal.log.first()) == 1:
            drive(one, 20, seed)
            clock.forward(50)
            seed += 1
        with open_site(tmp_path / "two", clock, name="two", role="decider", **settings) as two:
            assert one.digest() == two.digest()


def test_an_erasure_takes_them_away(tmp_path, address):
    with open_site(tmp_path / "one", database=address, name="one", snapshot_events=30) as one:
        one.create(**FOREST, wait_s=20.0)
        drive_until_shared(one, address, 1)
    assert shared(address)
    assert erase(tmp_path / "one", "device", "phone", address) > 0
    assert shared(address) == []
    with open_site(tmp_path / "two", database=address, name="two") as two:
        assert two.digest() == two.rebuilt_digest()


def test_a_roll_back_beyond_what_a_machine_has_is_made_up_for_by_a_snapshot_of_the_leader(
    tmp_path, address, monkeypatch
):
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.1)
    clock = Clock()
    settings = {"database": address, "retention_s": 30.0}
    with open_site(tmp_path / "one", clock, name="one", snapshot_events=30, **settings) as one:
        one.create(**FOREST, wait_s=20.0)
        drive_until_shared(one, address, 3)
        seed = 300
        while one.engine.call(lambda journal: journal.log.first()) == 1:
            drive(one, 20, seed)
            clock.forward(50)
            seed += 1
        with open_site(tmp_path / "two", clock, name="two", role="decider", **settings) as two:
            earliest = min(one.engine.snapshots.numbers())
            first = one.engine.call(lambda journal: journal.log.first())
            assert min(two.engine.snapshots.numbers()) > max(earliest, first)
            one.do(roll_back, "default", RollBackRequest(max(earliest, first)))
            drive(one, 60, seed=seed)
            wait_for(lambda: two.engine.is_ready and one.digest() == two.digest(), seconds=30)
