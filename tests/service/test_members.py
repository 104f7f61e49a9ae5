"""What the processes of a site know of each other, and how they notice that the log or a name is not theirs."""

import threading
import time

import pytest
from tests.service.sites import FOREST, Clock, open_site
from tests.service.test_replicas import drive
from tests.service.test_several import asleep, leader, rows_of_kind, server, start, wait_for  # noqa: F401 - fixtures
from tests.support import refused

from stumpery.service.engine import replication
from stumpery.service.engine.administering import RollBackRequest, roll_back
from stumpery.service.engine.deciding import decide
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log import postgresql_connection
from stumpery.service.members.heartbeats import Heartbeats
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
    heartbeats = Heartbeats(lambda: now)
    found = []
    for age in ages:
        found += [each.age_ms for each in heartbeats.aged([Seen(MEMBER, age)])]
        now += 2.0
    assert found == [0, 2_000, 4_000]


def test_a_process_that_was_silent_before_it_was_seen_is_as_old_as_its_entry():
    assert Heartbeats().aged([Seen(MEMBER, 4_000)])[0].age_ms == 4_000


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
        insert = "INSERT INTO stumpery_members VALUES ($1, $2, now() - make_interval(hours => $3))"
        for entry in (("b", '{"name": 3}', 0), ("c", "", 2)):
            a.engine.call(lambda journal, entry=entry: members._log.query(insert, *entry))  # committed when it ends
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


def test_a_process_that_stops_in_its_turn_loses_it_and_begins_again(start, monkeypatch):  # noqa: F811
    """As a machine that is suspended while it writes: PostgreSQL ends its transaction, and nothing of it remains."""
    monkeypatch.setitem(postgresql_connection.SETTINGS, "idle_in_transaction_session_timeout", "300ms")
    monkeypatch.setattr("stumpery.service.engine.engine.RETRY_S", 0.05)
    a, b = start("a"), start("b", role="decider")
    if a.engine.settings.database is None:
        pytest.skip("a file's turn has no end but that of its process")
    a.create()
    limits = a.engine.settings.limits
    in_turn = threading.Event()

    def decide_slowly(journal):
        made = decide(journal, limits, "default", DecideRequest(event_id="slow"))
        in_turn.set()
        time.sleep(1.5)
        return made

    slow = threading.Thread(target=lambda: results.append(outcome(a, decide_slowly)))
    results = []
    slow.start()
    in_turn.wait()
    assert b.reward(b.decide(event_id="quick").event_id, 1.0) == "learned"  # while the other still sleeps
    assert results == []
    slow.join()
    assert isinstance(results[0], ServiceUnavailable)
    wait_for(lambda: a.engine.is_ready)
    with refused(naming="has made no decision 'slow'"):
        b.reward("slow", 1.0)
    assert a.digest() == b.digest() == a.rebuilt_digest()


def outcome(site, task):
    try:
        return site.engine.call(task)
    except ServiceUnavailable as error:
        return error


@pytest.mark.parametrize("is_forward", [True, False])
def test_a_clock_that_jumps_neither_ends_a_lease_nor_prolongs_it(start, monkeypatch, is_forward):  # noqa: F811
    a, b = start("a", lease_s=3.0), start("b", lease_s=3.0)  # which a busy machine keeps
    a.create()
    wait_for(lambda: len(b.engine.leading.seen) == 2)
    members = b.engine.leading._members
    seen = members.seen
    jump_ms = 3_000_000 if is_forward else 0
    monkeypatch.setattr(members, "seen", lambda: [Seen(each.member, max(0, jump_ms)) for each in seen()])
    time.sleep(4.0)
    assert leader(b).name == "a"
    with asleep(a):
        wait_for(lambda: leader(b).name == "b")


def test_a_roll_back_may_take_longer_than_other_turns(start, monkeypatch):  # noqa: F811
    monkeypatch.setitem(postgresql_connection.SETTINGS, "idle_in_transaction_session_timeout", "500ms")
    a, b = start("a"), start("b", role="decider")
    a.create(**FOREST, wait_s=20.0)
    drive(a, 30, seed=1)
    number = a.engine.log.last()[0]
    drive(a, 30, seed=2)
    recalled = []

    def slowly(site):
        recall = site.engine.journal.replica.recall

        def recalled_slowly(number):
            recalled.append(number)
            time.sleep(1.0)
            return recall(number)

        site.engine.journal.replica.recall = recalled_slowly

    for site in (a, b):
        slowly(site)
    a.do(roll_back, "default", RollBackRequest(number))
    assert a.digest() == b.digest() == a.rebuilt_digest()
    assert recalled == [number] * 2
    assert a.engine.journal.replica._earlier is None
