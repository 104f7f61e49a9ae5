"""Several processes on one log: equal replicas, one leader, ids that hold everywhere, and who steps back."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from tests.service.postgresql import BINARIES, postgresql_server
from tests.service.sites import FOREST, Clock, Site, open_site
from tests.service.test_http import POLICY, Web
from tests.service.test_replicas import drive
from tests.support import refused

from stumpery.service import events
from stumpery.service.engine.engine import Engine
from stumpery.service.errors import RequestConflict, ServiceUnavailable
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.settings import SiteSettings


@pytest.fixture(scope="module")
def server():
    with postgresql_server() as running:
        yield running


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param(
            "postgresql", marks=pytest.mark.skipif(not BINARIES or os.name != "posix", reason="not installed")
        ),
    ]
)
def start(request, tmp_path):
    """Starts processes of one site, as engines in this one."""
    database = None
    if request.param == "postgresql":
        database = request.getfixturevalue("server").address
        log = PostgresqlLog(database)
        log.query("TRUNCATE stumpery_log")
        log.query("DROP TABLE IF EXISTS stumpery_members")
        log.close()
    clock = Clock()
    with ExitStack() as stack:
        yield lambda name, **settings: stack.enter_context(
            open_site(tmp_path / "site", clock, name=name, database=database, **settings)
        )


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.01)


def leader(site):
    return site.engine.call(lambda journal: journal.replica.leader)


def rows_of_kind(site, kind):
    found = [events.decoded(row.content) for row in site.engine.call(lambda journal: list(journal.log.rows()))]
    return [event for event in found if isinstance(event, kind)]


@contextmanager
def asleep(site):
    """A process that is stopped between its turns, and goes on afterwards."""
    awake, stopped = threading.Event(), threading.Event()
    process = site.engine._process

    def sleep(group):
        stopped.set()
        awake.wait()
        site.engine._process = process
        return process(group)

    site.engine._process = sleep
    stopped.wait()
    try:
        yield
    finally:
        awake.set()


def test_all_processes_learn_the_same_bits_wherever_decisions_and_rewards_come(start):
    a, b = start("a"), start("b", role="decider")
    a.create(**FOREST, wait_s=20.0)
    for seed in range(4):
        drive([a, b][seed % 2], 30, seed)
        for one, other in ((a, b), (b, a)):
            assert (
                other.reward(one.decide(context={"hour": 1, "device": "desk", "age": None}).event_id, 1.0) == "learned"
            )
    assert a.digest() == b.digest() == a.rebuilt_digest()
    assert a.counts() == b.counts()
    assert a.counts()["learned"] > 60


def test_ids_hold_at_every_process(start):
    a, b = start("a"), start("b")
    a.create()
    first = a.decide(event_id="x", context={"hour": 1})
    again = b.decide(event_id="x", context={"hour": 1})
    assert (again.action, again.probability, again.repeated) == (first.action, first.probability, True)
    with refused(naming="made for another request", error=RequestConflict):
        b.decide(event_id="x", context={"hour": 2})
    assert [site.reward("x", 1.0) for site in (b, a)] == ["learned", "duplicate"]
    with refused(naming="has its reward of 1 already", error=RequestConflict):
        a.reward("x", 0.0)


def test_batches_with_ids_hold_at_every_process(start):
    a, b = start("a"), start("b")
    a.create(wait_s=5.0)
    asked = {"decisions": [{"event_id": f"x{n % 6}", "context": {"hour": n % 6}} for n in range(9)]}
    first, again = (Web(site)("POST", f"{POLICY}/decide_many", asked).json()["answers"] for site in (a, b))
    assert [each.get("repeated", False) for each in first] == [False] * 6 + [True] * 3
    assert [(each["event_id"], each["action"], each["repeated"]) for each in again] == [
        (each["event_id"], each["action"], True) for each in first
    ]
    a.clock.forward(10)
    wait_for(lambda: b.counts()["default_rewards"] == 6)
    late = {"rewards": [{"event_id": f"x{n}", "value": 1.0} for n in range(7)]}
    found = Web(b)("POST", f"{POLICY}/reward_many", late).json()
    assert [each and each["status"] for each in found["answers"]] == ["late"] * 6 + [None]
    assert [each["status"] for each in found["errors"]] == [404]


def test_the_first_leads_and_the_others_leave_its_duties_to_it(start):
    a, b = start("a", lease_s=60.0), start("b", lease_s=60.0)
    a.create(wait_s=5.0)
    b.decide()
    a.clock.forward(10)
    wait_for(lambda: b.counts()["default_rewards"] == 1)
    assert [each.name for each in rows_of_kind(a, events.LeaderChosen)] == ["a"]


def test_a_leader_that_falls_silent_is_replaced_and_writes_nothing_when_it_comes_back(start):
    a, b = start("a", lease_s=2.0), start("b", lease_s=2.0)
    a.create(wait_s=5.0)
    wait_for(lambda: len(b.engine.leading.seen) == 2)
    with asleep(a):
        wait_for(lambda: leader(b).name == "b")
        assert leader(b).epoch == 2
        b.decide()
        a.clock.forward(10)
        wait_for(lambda: b.counts()["default_rewards"] == 1)
        b.decide()
        a.clock.forward(10)
    assert a.engine.call(lambda journal: a.engine.leading.leads(journal.replica)) is False
    wait_for(lambda: a.counts()["default_rewards"] == 2)
    assert [each.name for each in rows_of_kind(a, events.LeaderChosen)] == ["a", "b"]
    assert len(rows_of_kind(a, events.DecisionSettled)) == 2
    assert a.digest() == b.digest() == a.rebuilt_digest()


def test_a_process_that_has_not_read_the_log_cannot_write_it(start):
    a, b = start("a"), start("b")
    a.create()
    number, time_ = b.engine.call(lambda journal: journal.log.last())
    a.decide()
    with refused(error=ServiceUnavailable):
        b.engine.log.append([LogRow(number + 1, time_, "", None, events.encoded(events.ClockRead()))])
    assert b.digest() == a.digest() == a.rebuilt_digest()


def test_a_learner_leads_wherever_it_comes_and_a_server_while_it_is_gone(start):
    a = start("a")
    a.create()
    learner = start("learner", role="learner")
    wait_for(lambda: leader(a).name == "learner")
    refusal = Web(learner)("POST", f"{POLICY}/decide", {})
    assert (refusal.status_code, Web(learner)("GET", "/readyz").status_code) == (503, 200)
    assert "this process is a learner" in refusal.json()["error"]
    assert Web(learner)("POST", "/personalizer/v1.0/rank", {"actions": [{"id": "x"}]}).status_code == 503
    learner.engine.stop()
    wait_for(lambda: leader(a).name == "a")
    assert leader(a).epoch == 3


def test_a_decider_never_leads(start):
    decider = start("decider", role="decider")
    decider.create(wait_s=5.0)
    decider.decide()
    decider.clock.forward(10)
    time.sleep(0.3)
    assert (leader(decider), decider.counts()["default_rewards"]) == (None, 0)
    server = start("server")
    wait_for(lambda: decider.counts()["default_rewards"] == 1)
    assert leader(decider).name == "server"
    assert server.digest() == decider.digest()


def test_a_process_that_is_far_behind_is_not_ready_until_it_has_caught_up(start, monkeypatch):
    monkeypatch.setattr("stumpery.service.engine.replication.MAX_FOLLOWED", 10)
    monkeypatch.setattr("stumpery.service.engine.replication.MAX_IN_TURN", 10)
    a, b = start("a"), start("b", lag_events=20)
    a.create(fallback="film")
    web = Web(b)
    with asleep(b):
        for _ in range(100):
            a.decide()
        follow = b.engine.log.next_rows
        b.engine.log.next_rows = lambda after, limit: (time.sleep(0.1), follow(after, limit))[1]
    wait_for(lambda: b.engine.replication.n_behind > 20)
    answer = web("GET", "/readyz")
    assert answer.status_code == 503
    assert "events behind; the limit is 20" in answer.json()["error"]
    assert web("POST", f"{POLICY}/decide", {}).json()["fallback"] is True
    assert web("POST", f"{POLICY}/reward", {"event_id": "x", "value": 1}).status_code == 503
    b.engine.log.next_rows = follow
    wait_for(lambda: b.engine.is_ready)
    assert b.digest() == a.digest()


def test_a_process_that_is_stopped_is_not_ready(start):
    a = start("a", lag_s=0.5)
    with asleep(a):
        wait_for(lambda: not a.engine.is_ready)
        assert "has not read the log for" in a.engine.failure
    wait_for(lambda: a.engine.is_ready)


def test_all_hash_their_replica_after_the_same_event_and_show_it(start):
    a, b = start("a", hash_s=0.2), start("b", role="decider")
    a.create(**FOREST)
    drive(a, 20, seed=1)

    def shown():
        return Web(a)("GET", "/v1/replicas").json()

    wait_for(
        lambda: len({(each["hash_number"], each["hash"]) for each in shown() if each["hash"]}) == 1 == len(shown()) - 1
    )
    both = shown()
    assert [(each["name"], each["is_leader"], each["role"]) for each in both] == [
        ("a", True, "server"),
        ("b", False, "decider"),
    ]
    assert 'stumpery_replica_leader{name="a"} 1' in Web(b)("GET", "/metrics").text
    assert f'hash="{both[0]["hash"]}"' in Web(b)("GET", "/metrics").text


def test_a_decider_restarts_from_the_snapshots_of_the_leader(tmp_path):
    clock = Clock()
    with open_site(tmp_path / "site", clock, name="a") as a:
        a.create(**FOREST, wait_s=20.0)
        drive(a, 40, seed=1)
        a.engine.call(lambda journal: a.engine.snapshots.save(journal.replica))
        drive(a, 40, seed=2)
        with open_site(tmp_path / "site", clock, name="b", role="decider") as b:
            assert b.digest() == a.digest()


def test_an_engine_that_is_started_under_the_name_of_the_leader_leads(tmp_path):
    with open_site(tmp_path / "site", name="a") as a:
        a.create()
        a.engine.leading.leave = lambda: None  # as after kill -9
    engine = Engine(SiteSettings(folder=str(tmp_path / "site"), name="a"), clock=a.clock)
    engine.start()
    assert leader(Site(engine, a.clock)).epoch == 2
    engine.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_told_to_stop_saves_a_snapshot_and_says_that_it_leaves(tmp_path, number):
    (tmp_path / "site.toml").write_text('port = 0\n[policies.default]\nactions = ["a", "b"]\n')
    command = [sys.executable, "-m", "stumpery", "serve", tmp_path / "site.toml", "--name", "a"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert "http://" in process.stdout.readline()
    assert list((tmp_path / "stumpery-site" / "members").glob("*.json"))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (0 if number == signal.SIGTERM else 130)
    assert list((tmp_path / "stumpery-site" / "snapshots").iterdir())
    assert not list((tmp_path / "stumpery-site" / "members").glob("*.json"))
