"""Failures of the log: a full disk, a log in use, a damaged one; nothing that was acknowledged is lost."""

import time

import apsw
import pytest
from tests.service.sites import FOREST, open_site
from tests.service.test_http import POLICY, Web
from tests.support import refused

from stumpery.errors import CorruptFile
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.sqlite_log import SqliteLog


def set_max_pages(site, n):
    site.engine.call(lambda journal: journal.log._connection.execute(f"PRAGMA max_page_count={n}").fetchall())


def wait_until_ready(site):
    for _ in range(400):
        if site.engine.is_ready:
            return
        time.sleep(0.01)


def test_a_full_disk_gives_fallbacks_until_there_is_space(tmp_path, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.05)
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, fallback="film")
        web = Web(site)
        answered = [web("POST", f"{POLICY}/decide", {"event_id": str(n), "context": {"x": n}}) for n in range(20)]
        rewarded = [site.reward(str(n), 1.0) for n in range(10)]
        set_max_pages(site, 1)
        late = [
            web("POST", f"{POLICY}/decide", {"event_id": f"late {n}", "context": {"note": "y" * 1_900}})
            for n in range(60)
        ]
        fallbacks = [answer.json() for answer in late if answer.json().get("fallback")]
        assert fallbacks
        assert {(each["action"], each["probability"]) for each in fallbacks} == {("film", 1.0)}
        refusal = web("POST", f"{POLICY}/reward", {"event_id": "15", "value": 1})
        assert refusal.status_code == 503
        assert "the disk is full" in refusal.json()["error"]
        assert web("GET", "/readyz").status_code == 503
        assert web("GET", "/healthz").status_code == 200
        site.engine.log._connection.execute("PRAGMA max_page_count=100000000").fetchall()
        wait_until_ready(site)
        assert web("GET", "/readyz").status_code == 200
        assert {answer.status_code for answer in answered} == {200}
        assert rewarded == ["learned"] * 10
        assert site.counts()["learned"] >= 10
        assert site.reward("15", 1.0) == "learned"
        assert site.digest() == site.rebuilt_digest()
        logged = {row.event for row in site.engine.call(lambda journal: list(journal.log.rows()))}
        assert {str(n) for n in range(20)} <= logged
        assert not {each["event_id"] for each in fallbacks} & logged


def test_a_log_that_another_program_locks_gives_fallbacks_until_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.05)
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, fallback="film")
        web = Web(site)
        before = [web("POST", f"{POLICY}/decide", {"context": {"x": n}}).json()["event_id"] for n in range(10)]
        other = apsw.Connection(str(tmp_path / "site" / "log.sqlite"))
        other.execute("BEGIN IMMEDIATE")
        answer = web("POST", f"{POLICY}/decide", {"context": {"x": 1}}).json()
        assert (answer["action"], answer["fallback"]) == ("film", True)
        refusal = web("POST", f"{POLICY}/reward", {"event_id": before[0], "value": 1})
        assert refusal.status_code == 503
        assert "another process has locked it" in refusal.json()["error"]
        assert web("GET", "/readyz").status_code == 503
        other.execute("ROLLBACK")
        other.close()
        wait_until_ready(site)
        assert web("GET", "/readyz").status_code == 200
        assert [site.reward(event, 1.0) for event in before] == ["learned"] * 10
        assert site.digest() == site.rebuilt_digest()


def test_a_log_in_use_is_refused_to_maintenance(tmp_path):
    path = tmp_path / "site" / "log.sqlite"
    with open_site(tmp_path / "site"), refused(naming="needs the log for itself", error=ServiceUnavailable):
        SqliteLog(path, is_alone=True)
    log = SqliteLog(path, is_alone=True)
    with refused(naming="needs the log for itself", error=ServiceUnavailable):
        SqliteLog(path)
    log.close()


@pytest.mark.parametrize("content", [b"not a log at all" * 1_000, b"SQLite format 3\0" + b"x" * 5_000])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "log.sqlite").write_bytes(content)
    with refused(naming="damaged or no log", error=CorruptFile):
        SqliteLog(tmp_path / "log.sqlite")


def test_a_log_of_a_newer_format_is_refused(tmp_path):
    log = SqliteLog(tmp_path / "log.sqlite")
    log._connection.execute("PRAGMA user_version=99")
    log.close()
    with refused(naming="has format 99", error=CorruptFile):
        SqliteLog(tmp_path / "log.sqlite")


def test_a_bug_in_a_request_harms_no_other(tmp_path, caplog):
    with open_site(tmp_path / "site") as site:
        site.create()
        with pytest.raises(ZeroDivisionError):
            site.engine.call(lambda journal: 1 // 0)
        assert site.reward(site.decide().event_id, 1.0) == "learned"
    assert "a request failed" in caplog.text


def test_a_turn_that_cannot_be_rolled_back_does_not_keep_other_processes_waiting(tmp_path, monkeypatch):
    log, other = SqliteLog(tmp_path / "log.sqlite"), SqliteLog(tmp_path / "log.sqlite")

    def fail():
        raise apsw.IOError("the disk is gone")

    with monkeypatch.context() as patch, pytest.raises(apsw.IOError), log.turn():
        patch.setattr(log, "_roll_back", fail)
    assert other._turns.take()
    other.close()
    log.close()


def test_a_damaged_row_is_named(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create()
        site.decide()
        number = site.engine.log.last()[0]
        site.engine.call(
            lambda journal: journal.log._connection.execute(
                "UPDATE log SET content = x'00' WHERE number = ?", (number,)
            )
        )
    from stumpery.service.upkeep.checking import check

    with refused(naming=f"row {number} of the log is damaged", error=CorruptFile):
        list(check(tmp_path / "site"))
