"""The log in PostgreSQL: the same promises as in SQLite."""

import os
import threading
import time

import pytest
from tests.service.postgresql import BINARIES, postgresql_server
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_failures import wait_until_ready
from tests.service.test_replicas import drive
from tests.support import refused

from stumpery.service.engine.deciding import decide, fallback_answer
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.event_log import LogRow, number_before
from stumpery.service.log.postgresql_log import PostgresqlLog

pytestmark = pytest.mark.skipif(
    not BINARIES or os.name != "posix", reason="PostgreSQL's server is not installed on this machine"
)


@pytest.fixture(scope="module")
def server():
    with postgresql_server() as running:
        yield running


@pytest.fixture
def address(server):
    """The address of a server with an empty log."""
    log = PostgresqlLog(server.address)
    log.query("TRUNCATE stumpery_log")
    log.close()
    return server.address


def test_rows_come_back_in_order_and_old_ones_are_deleted(address):
    log = PostgresqlLog(address)
    rows = [LogRow(n, 10 * n, "p", str(n % 3) if n % 2 else None, bytes([n])) for n in range(1, 8)]
    log.append(rows[:3])
    log.append(rows[3:])
    assert list(log.rows()) == rows
    assert list(log.rows(4)) == rows[4:]
    assert log.rows_of_all(["2", "nobody", "1"]) == [row for row in rows if row.event in ("1", "2")]
    assert log.rows_of("p", "1") == [row for row in rows if row.event == "1"]
    assert (log.row(2), log.row(9), log.last(), log.first(), number_before(log, 45)) == (rows[1], None, (7, 70), 1, 4)
    with refused(error=ServiceUnavailable):
        log.append([rows[0]])
    assert (log.trim(5, 3), log.first(), log.trim(5, 3), log.first()) == (3, 4, 1, 5)
    log.close()


def test_maintenance_is_refused_where_the_log_is_in_use_and_a_reader_is_not(address, monkeypatch):
    monkeypatch.setattr("stumpery.service.log.postgresql_connection.LOCK_WAIT_S", 0.2)
    log = PostgresqlLog(address)
    PostgresqlLog(address).close()
    with refused(naming="needs the log for itself", error=ServiceUnavailable):
        PostgresqlLog(address, is_alone=True)
    reader = PostgresqlLog(address, is_reader=True)
    assert reader.last() == (0, 0)
    reader.close()
    log.close()


def test_a_restart_and_a_rebuild_have_equal_bits(tmp_path, address):
    clock = Clock()
    with open_site(tmp_path / "site", clock, database=address) as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 60, seed=1)
        before = site.digest()
        assert site.rebuilt_digest() == before
    with open_site(tmp_path / "site", clock, database=address) as site:
        assert site.digest() == before
        drive(site, 20, seed=2)
        assert site.digest() == site.rebuilt_digest()


def test_a_database_that_is_gone_for_a_while_gives_fallbacks_and_loses_nothing(tmp_path, server, address, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.1)
    with open_site(tmp_path / "site", database=address) as site:
        site.create(fallback="film")
        events = [site.decide().event_id for _ in range(20)]
        statuses = [site.reward(event, 1.0) for event in events[:10]]
        server.kill()
        request = DecideRequest()
        answer = site.engine.call(
            lambda journal: decide(journal, site.engine.settings.limits, "default", request),
            lambda replica: fallback_answer(replica.policy("default"), request),
        )
        assert (answer.action, answer.fallback) == ("film", True)
        with refused(naming="nothing can be recorded now", error=ServiceUnavailable):
            site.reward(events[15], 1.0)
        assert not site.engine.is_ready
        server.start()
        for _ in range(100):
            wait_until_ready(site)
            if site.engine.is_ready:
                break
            time.sleep(0.1)
        assert statuses == ["learned"] * 10
        assert site.counts()["learned"] == 10
        assert site.reward(events[15], 1.0) == "learned"
        assert site.digest() == site.rebuilt_digest()


def test_an_address_that_does_not_answer_is_one_sentence():
    with refused(naming="the log in PostgreSQL cannot be used", error=ServiceUnavailable):
        PostgresqlLog("postgresql://postgres@/postgres?host=/nowhere")


def test_turns_see_what_was_committed_while_they_waited_whatever_the_database_is_set_to(tmp_path, server, address):
    log = PostgresqlLog(address)
    log.query("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    log.close()
    try:
        with open_site(tmp_path / "a", database=address, name="a") as a:
            a.create()
            with open_site(tmp_path / "b", a.clock, database=address, name="b") as b:

                def decide_often(site):
                    for _ in range(30):
                        site.decide()

                threads = [threading.Thread(target=decide_often, args=(site,)) for site in (a, b)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert a.counts()["decisions"] == 60
                assert a.digest() == b.digest() == a.rebuilt_digest()
    finally:
        log = PostgresqlLog(address)
        log.query("ALTER DATABASE postgres RESET default_transaction_isolation")
        log.close()
