"""The page of a site: its statistics equal what the log says, it is bounded, needs a key, and works in a browser."""

import asyncio
import json
import re
import time
from importlib.resources import files

import httpx
import numpy as np
import pytest
from tests.service.sites import open_site
from tests.service.test_http import Web

from stumpery.service.dashboard.follower import LogFollower
from stumpery.service.dashboard.model_view import _line
from stumpery.service.dashboard.pages import FILES
from stumpery.service.dashboard.policy_statistics import MAX_OPEN, N_RECENT, PolicyStatistics
from stumpery.service.dashboard.time_buckets import MAX_BUCKETS, MAX_COMPARED, MAX_ROWS, TimeBuckets
from stumpery.service.engine import administering
from stumpery.service.events import DecisionMade, DecisionSettled, PolicyCreated, RewardCame, RewardStatus
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.opening import LOG_FILE
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.settings import KeySettings, PolicySettings

STATIC = files("stumpery.service.dashboard") / "static"


def apply(statistics, number, event, name="e", time_ms=0):
    statistics.apply(LogRow(number, time_ms, "default", name, b""), event)


def decision(action, probability, **fields):
    return DecisionMade(
        context={"hour": 1}, action=action, probability=probability, draw=0.5, version=0, until=9, **fields
    )


def played(n, rng):
    """Statistics of n decisions among three actions, and what they were."""
    statistics, rows = PolicyStatistics(), []
    apply(statistics, 1, PolicyCreated(PolicySettings(actions=("a", "b", "c"))), None)
    for number in range(n):
        action, probability = str(rng.choice(["a", "b", "c"])), float(rng.uniform(0.2, 0.9))
        reward = float(rng.random() < 0.5)
        apply(statistics, 2, decision(action, probability, ranking=[("a", 0.9)]), str(number), 700 * number)
        if reward:
            apply(statistics, 3, RewardCame(reward, RewardStatus.LEARNED), str(number), 700 * number + 2000)
        else:
            apply(statistics, 3, DecisionSettled(0.0, is_default=True), str(number), 700 * number + 9000)
        rows.append((action, probability, reward))
    return statistics, rows


def test_estimates_are_those_of_their_formulas():
    statistics, rows = played(500, np.random.default_rng(1))
    rewards = np.array([reward for *_, reward in rows])
    weights = np.array([1 / (3 * probability) for _, probability, _ in rows])
    shown = statistics.summary()
    half = 1.959963984540054 * rewards.std(ddof=1) / np.sqrt(500)
    np.testing.assert_allclose(shown["earned"], [rewards.mean(), rewards.mean() - half, rewards.mean() + half])
    mean = (weights * rewards).sum() / weights.sum()
    half = 1.959963984540054 * np.sqrt((weights**2 * (rewards - mean) ** 2).sum()) / weights.sum()
    np.testing.assert_allclose(shown["uniform"], [mean, mean - half, mean + half])
    assert shown["effective_size"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert (shown["decisions"], shown["rewards"], shown["defaults"]) == (500, 500, int((rewards == 0).sum()))
    assert shown["explored"] == sum(action != "a" for action, *_ in rows)
    assert dict(shown["lags"]) | {5: int(rewards.sum())} == dict(shown["lags"])


def test_estimates_wait_for_the_oldest_reward():
    statistics, rows = played(10, np.random.default_rng(1))
    first = sum(reward for *_, reward in rows)
    apply(statistics, 1, decision("a", 0.5), "slow", 60_000)
    for number in range(5):
        apply(statistics, 2, decision("a", 0.5), f"quick {number}", 61_000 + number)
        apply(statistics, 3, RewardCame(1.0, RewardStatus.LEARNED), f"quick {number}", 62_000)
    before = statistics.summary()
    assert (before["rewards"], before["oldest_awaited"], before["times"][-1]["earned"]) == (
        15,
        60_000,
        (None, None, None),
    )
    apply(statistics, 4, DecisionSettled(0.0, is_default=True), "slow", 70_000)
    after = statistics.summary()
    assert after["oldest_awaited"] is None
    assert after["times"][-1]["earned"][0] == 1.0
    assert (before["earned"][0], after["earned"][0]) == (first / 10, (first + 5) / 16)


def test_time_is_kept_in_a_bounded_number_of_buckets():
    buckets, rng = TimeBuckets(), np.random.default_rng(2)
    for moment in np.cumsum(rng.exponential(90_000, 3000)).astype(int).tolist():
        buckets.at(moment).add_decision("a", 1, is_explored=False)
        assert len(buckets.buckets) <= MAX_BUCKETS
    width, rows = buckets.rows()
    assert len(rows) <= MAX_ROWS
    assert sum(row["decisions"] for row in rows) == 3000
    assert all(row["time"] % width == 0 for row in rows)


def test_decisions_without_a_reward_do_not_pile_up(monkeypatch):
    assert MAX_OPEN >= 100_000
    monkeypatch.setattr("stumpery.service.dashboard.policy_statistics.MAX_OPEN", 10)
    statistics = PolicyStatistics()
    for number in range(25):
        apply(statistics, 1, decision("a", 0.5), str(number))
    shown = statistics.summary()
    assert (shown["awaited"], shown["not_followed"], len(shown["recent"])) == (10, 15, min(25, N_RECENT))


def wait_for(follower, number):
    deadline = time.monotonic() + 20
    while follower.number < number and time.monotonic() < deadline:
        follower.summary("default")  # somebody looks
        time.sleep(0.02)
    assert follower.number >= number


def test_the_follower_shows_what_is_committed(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create(rewards="first")
        follower = LogFollower(lambda: SqliteLog(site.engine.folder / LOG_FILE, is_reader=True))
        follower.start()
        for number in range(20):
            site.reward(site.decide(context={"hour": number}).event_id, number % 2)
        wait_for(follower, site.engine.call(lambda journal: journal.replica.number))
        shown = follower.summary("default")
        assert (shown["decisions"], shown["rewards"], shown["earned"][0]) == (20, 20, 0.5)
        assert shown["recent"][0]["context"] == {"hour": 19}
        assert follower.summary("unknown")["decisions"] == 0
        site.do(administering.delete, "default")
        wait_for(follower, site.engine.call(lambda journal: journal.replica.number))
        assert follower.names() == []
        follower.stop()


def test_nothing_is_read_for_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr("stumpery.service.dashboard.follower.WATCHED_S", 0.0)
    monkeypatch.setattr("stumpery.service.dashboard.follower.MAX_BEHIND", 30)
    opened = []
    with open_site(tmp_path / "site") as site:
        site.create()

        def open_log():
            opened.append(1)
            return SqliteLog(site.engine.folder / LOG_FILE, is_reader=True)

        follower = LogFollower(open_log)
        follower.start()
        site.decide()
        time.sleep(0.1)
        assert opened == []
        wait_for(follower, 2)
        for _ in range(100):
            site.decide()
        last = site.engine.call(lambda journal: journal.replica.number)
        wait_for(follower, last)
        assert follower.summary("default")["decisions"] == 30
        follower.stop()


def test_where_what_was_read_is_gone_from_the_log_it_is_read_anew(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create()
        for _ in range(5):
            site.decide()
    log = SqliteLog(site.engine.folder / LOG_FILE)
    follower = LogFollower(lambda: log)
    follower._catch_up(log)
    n_read = follower.number
    log._all("DELETE FROM log WHERE number > ?", n_read - 3)
    follower._catch_up(log)
    assert follower.number == n_read - 3
    assert follower._policies["default"].summary()["decisions"] == 2
    log.close()


def test_the_page_and_its_files_are_served_and_need_no_other_host(tmp_path):
    with open_site(tmp_path / "site") as site:
        web = Web(site)
        page = web("GET", "/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert "/dashboard.js" in named
        named += re.findall(r'from "([^"]+)"', (STATIC / "dashboard.js").read_text())
        assert "/replicas.js" in named
        assert {web("GET", path).status_code for path in named} == {200}
    texts = [each.read_text() for each in STATIC.iterdir()]
    assert [text for text in texts if re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)] == []
    assert sum(len(each.read_bytes()) for each in STATIC.iterdir() if each.name.endswith(".js")) < 100_000


def test_statistics_need_the_right_to_administer(tmp_path):
    from stumpery.service.http.security import new_key

    (admin, admin_digest), (other, other_digest) = new_key(), new_key()
    keys = (
        KeySettings(name="admin", sha256=admin_digest, rights=("admin",)),
        KeySettings(name="web", sha256=other_digest, rights=("decide",)),
    )
    with open_site(tmp_path / "site", keys=keys) as site:
        site.create()
        web, path = Web(site), "/v1/policies/default/statistics"
        assert [web("GET", path, key=key).status_code for key in (None, other, admin)] == [401, 403, 200]
        assert web("GET", f"{path}/stream", key=other).status_code == 403
        assert "data-needs-key" in web("GET", "/").text


def test_the_first_look_at_the_statistics_shows_the_log_as_it_is(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create()
        for _ in range(5):
            site.decide()
        app = Web(site).app

        async def look():
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://site") as client,
            ):
                return (await client.get("/v1/policies/default/statistics")).json()

        assert asyncio.run(look())["decisions"] == 5


def test_the_model_is_shown_as_importances_and_an_outline(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create("forest", kind="RewardForest", options={"n_trees": 3, "max_bytes": 20_000_000})
        site.create("plain")
        web = Web(site)
        assert web("GET", "/v1/policies/forest/model").json() == {"importances": {}, "tree": []}
        assert web("GET", "/v1/policies/plain/model").json() == {"importances": {}, "tree": []}
        for hour in range(60):
            made = site.decide("forest", context={"hour": hour % 24})
            site.reward(made.event_id, float(made.action == "film"), policy="forest")
        shown = web("GET", "/v1/policies/forest/model").json()
        assert list(shown["importances"]) == ["hour"]
        assert shown["tree"][0]["depth"] == 0


def test_the_stream_sends_the_statistics_and_ends_when_the_server_stops(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create()
        site.decide()
        app = Web(site).app
        received = []

        async def listen():
            scope = {"type": "http", "method": "GET", "path": "/v1/policies/default/statistics/stream", "headers": []}
            scope |= {"query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http", "app": app}

            async def send(message):
                received.append(message)
                if b"data: " in message.get("body", b""):
                    app.state.is_stopping = True

            async def receive():
                await asyncio.sleep(60)

            async with app.router.lifespan_context(app):
                await asyncio.wait_for(app(scope, receive, send), 30)

        asyncio.run(listen())
        sent = b"".join(message.get("body", b"") for message in received).decode()
        shown = json.loads(sent.split("data: ")[1].split("\n")[0])
        assert {"number", "decisions", "earned", "uniform", "times", "recent"} <= shown.keys()


def test_always_taking_an_action_is_estimated_by_the_formula_of_its_weights():
    statistics, rows = played(500, np.random.default_rng(1))
    shown = {each["policy"]: each for each in statistics.summary()["comparison"]}
    assert set(shown) == {"uniform", "always a", "always b", "always c"}
    for action in "abc":
        weights = np.array([(name == action) / probability for name, probability, _ in rows])
        rewards = np.array([reward for *_, reward in rows])
        mean = (weights * rewards).sum() / weights.sum()
        half = 1.959963984540054 * np.sqrt((weights**2 * (rewards - mean) ** 2).sum()) / weights.sum()
        found = shown[f"always {action}"]
        np.testing.assert_allclose(found["estimate"], [mean, mean - half, mean + half])
        assert found["effective_size"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    means = [each["estimate"][0] for each in statistics.summary()["comparison"]]
    assert means == sorted(means, reverse=True)


def test_compared_actions_are_bounded():
    statistics = PolicyStatistics()
    for number in range(3 * MAX_COMPARED):
        apply(statistics, number + 1, decision(f"action {number}", 0.5), str(number), number)
        apply(statistics, 1, RewardCame(1.0, RewardStatus.LEARNED), str(number), number)
    assert len(statistics.summary()["comparison"]) == 1 + MAX_COMPARED


def test_the_effective_sample_of_the_time_until_then_falls_without_exploration():
    statistics = PolicyStatistics()
    apply(statistics, 1, PolicyCreated(PolicySettings(actions=("a", "b"))), None)
    for number in range(200):
        probability = 0.5 if number < 100 else 0.999
        action = "b" if number < 100 and number % 2 else "a"
        apply(statistics, number + 2, decision(action, probability), str(number), 1000 * number)
        apply(statistics, 1, RewardCame(1.0, RewardStatus.LEARNED), str(number), 1000 * number)
    apply(statistics, 300, decision("b", 0.001), "rare", 200_000)
    apply(statistics, 301, RewardCame(1.0, RewardStatus.LEARNED), "rare", 200_000)
    rows = statistics.summary()["times"]
    assert rows[0]["effective_share"] == pytest.approx(1.0)
    assert rows[-1]["effective_share"] < 0.02
    assert [row["number"] for row in rows] == sorted(row["number"] for row in rows)


def test_nodes_of_a_tree_have_their_rule_and_their_statistics_apart():
    rule = "kind in {a: 3 events, b}"
    assert _line(f"  {rule}: about 1,234 events, 'x' earns 0.2") == {
        "depth": 1,
        "text": f"{rule}: about 1,234 events, 'x' earns 0.2",
        "rule": rule,
        "statistics": "about 1,234 events, 'x' earns 0.2",
    }
    root = _line("17 events, 'x' earns 0.2 (3 plays)")
    assert (root["rule"], root["statistics"]) == ("", "17 events, 'x' earns 0.2 (3 plays)")
    assert _line("another form of node")["rule"] == "another form of node"


def test_the_page_has_less_than_100_kb_of_script_and_serves_all_of_it():
    scripts = [each for each in STATIC.iterdir() if each.name.endswith(".js")]
    assert sum(len(each.read_bytes()) for each in scripts) < 100_000
    assert {f"/{each.name}" for each in scripts} <= set(FILES)
