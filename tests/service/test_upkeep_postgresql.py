"""Upkeep of a site whose log is in PostgreSQL: the commands do the same as on a file."""

import os

import pytest
from tests.service.postgresql import BINARIES, postgresql_server
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_replicas import drive
from tests.service.test_upkeep import found
from tests.support import refused

from stumpery.errors import CorruptFile
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.upkeep.checking import check, rebuild
from stumpery.service.upkeep.copying import back_up, erase
from stumpery.service.upkeep.exporting import export

pytestmark = pytest.mark.skipif(
    not BINARIES or os.name != "posix", reason="PostgreSQL's server is not installed on this machine"
)


@pytest.fixture(scope="module")
def server():
    with postgresql_server() as running:
        yield running


@pytest.fixture
def address(server):
    log = PostgresqlLog(server.address)
    log.query("TRUNCATE stumpery_log")
    log.close()
    return server.address


@pytest.fixture
def folder(tmp_path, address):
    """A site that was stopped, with snapshots."""
    with open_site(tmp_path / "site", database=address) as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 60, seed=1)
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        drive(site, 40, seed=2)
    return tmp_path / "site"


def test_a_sound_site_passes_the_check_and_equals_a_rebuild(folder, address):
    lines = found(check(folder, address, decisions=True))
    assert lines["file"] == "ok"
    assert [text for name, text in lines.items() if name.startswith("snapshot")] == ["equal to the log"] * 2
    assert lines["decisions"] == "100 decisions, all with the probability that was logged"
    assert found(rebuild(folder, address))["snapshot and tail"] == "equal to the rebuild"


def test_a_row_that_is_missing_is_found(folder, address):
    log = PostgresqlLog(address)
    log.query("DELETE FROM stumpery_log WHERE number = 20")
    log.close()
    with refused(naming="some are missing", error=CorruptFile):
        list(check(folder, address))


def test_maintenance_is_refused_while_a_process_serves_and_reading_is_not(tmp_path, address, monkeypatch):
    monkeypatch.setattr("stumpery.service.log.postgresql_connection.LOCK_WAIT_S", 0.2)
    with open_site(tmp_path / "site", database=address) as site:
        site.create()
        site.reward(site.decide(context={"hour": 1}).event_id, 1.0)
        for work in (
            lambda: list(check(tmp_path, address)),
            lambda: list(rebuild(tmp_path, address)),
            lambda: erase(tmp_path, "hour", "1", address),
        ):
            with refused(naming="this needs the log for itself", error=ServiceUnavailable):
                work()
        assert export(tmp_path, "default", tmp_path / "out.jsonl", address) == 1
        assert back_up(tmp_path / "site", tmp_path / "copy", address) == site.engine.log.last()[0]
        before = site.digest()
    with open_site(tmp_path / "copy") as copy:
        assert copy.digest() == before


def test_erased_contexts_leave_the_table_and_the_snapshots_of_other_machines(tmp_path, address, server):
    clock = Clock()
    with open_site(tmp_path / "one", clock, database=address, name="one") as site:
        site.create(**FOREST)
        with open_site(tmp_path / "two", clock, database=address, name="two", role="decider") as other:
            for user in ("anna-4711", "bert-0815") * 5:
                site.reward(other.decide(context={"user": user, "hour": 3}).event_id, 1.0)
            other.digest()
    assert list((tmp_path / "two" / "snapshots").iterdir())
    assert erase(tmp_path / "one", "user", "anna-4711", address) == 5
    log = PostgresqlLog(address, is_reader=True)
    path = log.query("SELECT pg_relation_filepath('stumpery_log') AS path")[0]["path"]
    log.query("CHECKPOINT")
    contents = b"".join(row.content for row in log.rows())
    log.close()
    assert (b"anna-4711" in contents, b"bert-0815" in contents) == (False, True)
    assert b"anna-4711" not in (server.folder / "data" / path).read_bytes()
    with open_site(tmp_path / "two", clock, database=address, name="two") as other:
        assert other.counts()["learned"] == 5
        assert other.digest() == other.rebuilt_digest()
        erasure = other.engine.call(lambda journal: journal.log.rows_of("", "erasure"))[-1].number
        assert all(number >= erasure for number in other.engine.snapshots.numbers())


def test_a_database_without_a_log_is_one_sentence(tmp_path, server):
    log = PostgresqlLog(server.address)
    log.query("CREATE DATABASE empty")
    log.close()
    address = server.address.replace("/postgres?", "/empty?")
    for work in (
        lambda: list(check(tmp_path, address)),
        lambda: list(rebuild(tmp_path, address)),
        lambda: erase(tmp_path, "hour", "1", address),
        lambda: export(tmp_path, "default", tmp_path / "out", address),
        lambda: back_up(tmp_path, tmp_path / "copy", address),
    ):
        with refused(naming='"stumpery_log" does not exist', error=ServiceUnavailable):
            work()
    assert list(tmp_path.iterdir()) == []
