"""Alarms: each begins, is told once, and ends."""

import http.server
import json
import threading

import numpy as np
import pytest
from tests.service.sites import open_site
from tests.service.test_http import Web
from tests.support import refused

from stumpery.service.engine.alarms import Alarms
from stumpery.service.settings import SiteSettings, checked_site


@pytest.fixture
def site(tmp_path):
    with open_site(tmp_path / "site") as opened:
        yield opened


def kinds(site):
    return site.engine.call(lambda journal: (site.engine.alarms.look(journal.replica), site.engine.alarms.shown()))[1]


def names(site):
    return {alarm.kind for alarm in kinds(site)}


def test_there_is_no_alarm_where_all_is_well(site):
    site.create()
    for hour in range(300):
        site.reward(site.decide(context={"hour": hour}).event_id, 1.0)
    assert kinds(site) == []


def test_an_action_that_is_never_chosen(site):
    site.create(ceilings={"film": 0.0})
    for _ in range(250):
        site.decide()
    (alarm,) = kinds(site)
    assert (alarm.policy, alarm.kind, alarm.sentence) == (
        "default",
        "action never chosen",
        "'film' was not chosen in 250 decisions",
    )


def test_a_column_that_has_gone_missing(site):
    site.create()
    for step in range(400):
        site.decide(context={"hour": 1, "age": 30 if step < 290 else None})
    assert names(site) == {"column missing"}
    for _ in range(400):
        site.decide(context={"hour": 1, "age": 30})
    assert names(site) == set()


def test_rewards_that_stopped_coming(site):
    site.create(kind="RandomPolicy")
    for _ in range(50):
        site.reward(site.decide().event_id, 1.0)
    assert names(site) == set()
    for _ in range(1_100):
        site.decide()
    assert names(site) == {"rewards stopped"}
    site.reward(site.decide().event_id, 1.0)
    assert names(site) == set()


def test_rewards_below_the_control_group(site):
    site.create(kind="RandomPolicy", control=0.3, baseline="film")
    rng = np.random.default_rng(3)
    for _ in range(600):
        answer = site.decide()
        site.reward(answer.event_id, float(rng.random() < (0.9 if answer.action == "film" else 0.1)))
    assert "below the baseline" in names(site)


def test_a_new_alarm_is_sent_once_and_shown(tmp_path):
    came, arrived = [], threading.Event()

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            came.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with open_site(tmp_path / "site", webhook=f"http://127.0.0.1:{server.server_port}/") as site:
            site.create(ceilings={"film": 0.0})
            for _ in range(250):
                site.decide()
            kinds(site)
            assert arrived.wait(10)
            kinds(site)
            assert [each["kind"] for each in came] == ["action never chosen"]
            web = Web(site)
            assert [each["kind"] for each in web("GET", "/v1/alarms").json()] == ["action never chosen"]
            assert 'stumpery_alarm{policy="default",kind="action never chosen"} 1' in web("GET", "/metrics").text
    finally:
        server.shutdown()
        server.server_close()


def test_a_webhook_is_an_address():
    with refused(naming="webhook is 'file:///etc/passwd'"):
        checked_site(SiteSettings(webhook="file:///etc/passwd"))


def test_a_webhook_that_does_not_answer_harms_nothing(tmp_path, caplog):
    with open_site(tmp_path / "site", webhook="http://127.0.0.1:1/") as site:
        site.create(ceilings={"film": 0.0})
        for _ in range(250):
            site.decide()
        assert len(kinds(site)) == 1
        for thread in threading.enumerate():
            if thread.daemon and thread.name.startswith("Thread-"):
                thread.join(5)
    assert Alarms(None).shown() == []
    assert "alarm of policy 'default'" in caplog.text
