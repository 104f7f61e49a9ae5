"""What the processes of a site know of each other, and how they notice that the log or a name is not theirs."""

import time

import pytest
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_replicas import drive
from tests.service.test_several import leader, rows_of_kind, server, start, wait_for  # noqa: F401 - fixtures
from tests.support import refused

from stumpery.service.engine import replication
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.members.hearing import Hearing
from stumpery.service.members.member import Member, Seen

MEMBER = Member(
    name="a",
    run="1",
    role="server",
    address="127.0.0.1:1",
    is_ready=True,
    number=1,
    n_behind=0,
    epoch=1,
    events_per_s=0.0,
    hash_number=0,
    hash="",
)


@pytest.mark.parametrize("ages", [[0, 0, 0], [0, 5_000, 90_000], [0, 7, 0]])
def test_a_silent_process_grows_older_by_the_clock_of_the_one_that_looks(ages):
    now = 100.0
    hearing = Hearing(lambda: now)
    found = []
    for age in ages:
        found += [each.age_ms for each in hearing.aged([Seen(MEMBER, age)])]
        now += 2.0
    assert found == [0, 2_000, 4_000]


def test_a_process_that_was_silent_before_it_was_seen_is_as_old_as_its_entry():
    assert Hearing().aged([Seen(MEMBER, 4_000)])[0].age_ms == 4_000


def test_of_two_processes_with_one_name_the_later_one_goes_on(start):  # noqa: F811
    first, second = start("a"), start("a")
    wait_for(lambda: first.engine.leading.is_replaced)
    assert "another process runs under the name 'a'" in first.engine.failure
    with refused(naming="another process runs under the name", error=ServiceUnavailable):
        first.create()
    second.create()
    wait_for(lambda: leader(second).run == second.engine.leading.run)
    epoch = leader(second).epoch
    time.sleep(1.0)
    assert leader(second).epoch == epoch <= 4
    assert second.engine.is_ready


def test_entries_of_other_versions_and_old_ones_are_passed_over(start):  # noqa: F811
    a = start("a")
    members = a.engine.leading._members
    if hasattr(members, "_folder"):
        (members._folder / "b.json").write_text('{"name": 3}')
    else:
        members._log.query("INSERT INTO stumpery_members VALUES ('b', '{\"name\": 3}', now())")
        members._log.query("INSERT INTO stumpery_members VALUES ('c', '', now() - interval '2 hours')")
    start("d")
    wait_for(lambda: [each.member.name for each in a.engine.leading.seen] == ["a", "d"])
    assert a.engine.is_ready
    if not hasattr(members, "_folder"):
        assert [row["name"] for row in members._log.query("SELECT name FROM stumpery_members ORDER BY 1")] == list(
            "abd"
        )


def test_a_full_disk_keeps_no_process_from_recording(tmp_path, caplog):
    with open_site(tmp_path / "site") as site:
        site.create()
        (tmp_path / "site" / "members").rename(tmp_path / "site" / "moved")
        (tmp_path / "site" / "members").write_text("")
        wait_for(lambda: "cannot be told" in caplog.text)
        assert site.reward(site.decide().event_id, 1.0) == "learned"


def forget_last(log, n):
    """Lose rows, as when a database that has not got them takes over."""
    if hasattr(log, "_all"):
        log._all("DELETE FROM log WHERE number > (SELECT max(number) FROM log) - ?", n)
    else:
        log.query("DELETE FROM stumpery_log WHERE number > (SELECT max(number) FROM stumpery_log) - $1", n)


def test_a_process_whose_rows_are_gone_from_the_log_begins_again(start, monkeypatch):  # noqa: F811
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.05)
    a, b = start("a"), start("b", role="decider")
    a.create(**FOREST, wait_s=20.0)
    drive(a, 40, seed=1)
    b.digest()
    lost = a.decide(context={"hour": 1, "device": "desk", "age": None}).event_id
    a.engine.call(lambda journal: a.engine.snapshots.save(journal.replica))
    a.engine.call(lambda journal: forget_last(journal.log, 2))
    for site in (a, b):
        wait_for(lambda site=site: site.engine.is_ready and _is_as_logged(site))
    drive(b, 10, seed=2)
    assert a.digest() == b.digest() == a.rebuilt_digest()
    with refused(naming="has made no decision"):
        b.reward(lost, 1.0)
    restored = a.engine.call(lambda journal: a.engine.snapshots.restore(journal.log))
    assert restored.digest() == a.digest()


def _is_as_logged(site):
    replica = site.engine.journal.replica
    try:
        return site.engine.call(lambda journal: journal.log.row(replica.number) == replica.last)
    except ServiceUnavailable:
        return False


def test_the_last_event_is_never_deleted_so_a_start_knows_the_end_of_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.duties.TRIM_S", 0.0)
    clock = Clock()
    with open_site(tmp_path / "site", clock, retention_s=100.0) as site:
        site.create()
        site.reward(site.decide().event_id, 1.0)
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        clock.forward(10_000)
        for _ in range(3):
            before = site.digest()
        assert site.engine.call(lambda journal: journal.log.first() == journal.log.last()[0])
        site.engine.duties.end = lambda journal: None  # as after kill -9
    with open_site(tmp_path / "site", clock) as site:
        assert site.digest() == before


def test_kernels_are_compiled_outside_of_turns(tmp_path, monkeypatch):
    found = []

    def compile_(model, settings):
        found.append(site.engine.log._connection.in_transaction)

    monkeypatch.setattr(replication, "warm_up", compile_)
    with open_site(tmp_path / "site", name="a") as site:
        with open_site(tmp_path / "site", name="b") as other:
            site.create()
            site.create("second")
            other.decide()
            wait_for(lambda: len(found) == 4)
        assert not any(found)


def test_each_process_of_a_database_saves_snapshots(start):  # noqa: F811
    a, b = start("a"), start("b", role="decider", snapshot_events=20)
    a.create()
    for _ in range(30):
        a.decide()
    with_database = a.engine.settings.database is not None
    end = time.monotonic() + (10.0 if with_database else 1.0)
    while time.monotonic() < end and not b.engine.snapshots.numbers():
        time.sleep(0.05)
    assert bool(b.engine.snapshots.numbers()) == with_database
