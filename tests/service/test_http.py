"""The HTTP interface: bodies, errors, keys, limits, health, metrics and its description."""

import asyncio
import json
from hashlib import sha256

import httpx
import pytest
from tests.service.sites import ACTIONS, open_site
from tests.support import refused

from stumpery.service.http.app import application
from stumpery.service.http.security import RateLimit, check_exposure, new_key
from stumpery.service.settings import KeySettings, LimitSettings, SiteSettings

POLICY = "/v1/policies/default"


class Web:
    """Requests to the application of a site, without a socket."""

    def __init__(self, site):
        self.site, self.app = site, application(site.engine)

    def __call__(self, method, path, body=None, *, content=None, key=None, headers=None):
        given = {"Authorization": f"Bearer {key}"} if key else {}
        sent = json.dumps(body).encode() if body is not None else content
        return self.run(lambda client: client.request(method, path, content=sent, headers=given | (headers or {})))

    def run(self, work):
        async def send():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
                return await work(client)

        return asyncio.run(send())


@pytest.fixture
def web(tmp_path):
    with open_site(tmp_path / "site", limits=LimitSettings(body_bytes=2_000, batch=3)) as site:
        site.create()
        yield Web(site)


def test_a_decision_and_its_reward(web):
    answer = web("POST", f"{POLICY}/decide", {"context": {"hour": 21, "age": None}})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    decision = answer.json()
    assert decision["action"] in ACTIONS
    assert set(decision) == {"event_id", "action", "probability", "version", "ranking"}
    reward = {"event_id": decision["event_id"], "value": 1}
    assert [web("POST", f"{POLICY}/reward", reward).json() for _ in range(2)] == [
        {"status": "learned"},
        {"status": "duplicate"},
    ]
    assert web("POST", f"{POLICY}/reward", reward | {"value": 0}).status_code == 409


def test_many_at_once_are_answered_one_by_one(web):
    asked = [{"event_id": "one"}, {"available": ["golf"]}, {}]
    answer = web("POST", f"{POLICY}/decide_many", {"decisions": asked}).json()
    assert [each and each["action"] in ACTIONS for each in answer["answers"]] == [True, None, True]
    assert [(each["index"], each["status"]) for each in answer["errors"]] == [(1, 400)]
    rewards = [{"event_id": "one", "value": 1}, {"event_id": "nobody", "value": 1}]
    answer = web("POST", f"{POLICY}/reward_many", {"rewards": rewards}).json()
    assert answer["answers"] == [{"status": "learned"}, None]
    assert answer["errors"][0]["status"] == 404
    assert web("POST", f"{POLICY}/decide_many", {"decisions": [{}] * 4}).status_code == 400


def test_a_decision_is_explained(web):
    event = web("POST", f"{POLICY}/decide", {}).json()["event_id"]
    web("POST", f"{POLICY}/reward", {"event_id": event, "value": 1})
    answer = web("GET", f"{POLICY}/explain/{event}").json()
    assert [each["type"] for each in answer["history"]] == ["decision", "reward"]
    assert answer["now"]["summary"]
    assert web("GET", f"{POLICY}/explain/nobody").status_code == 404


def test_a_decision_is_explained_by_the_policy_as_it_was_then(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create(kind="UCB", actions=("a", "b"))
        for reward in (1.0, 0.0, 1.0):
            site.reward(site.decide(available=["a"]).event_id, reward)
        event = site.decide(event_id="asked").event_id
        web = Web(site)
        expected = web("GET", f"{POLICY}/explain/{event}").json()["now"]
        for _ in range(20):
            site.reward(site.decide().event_id, 1.0)
        found = web("GET", f"{POLICY}/explain/{event}/then").json()
        assert found["then"] == expected
        assert web("GET", f"{POLICY}/explain/{event}").json()["now"] != expected
        site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
        assert web("GET", f"{POLICY}/explain/{event}/then").json() == found
        assert web("GET", f"{POLICY}/explain/nobody/then").status_code == 404


def test_policies_are_created_changed_paused_cloned_and_deleted(web):
    settings = {"actions": ["a", "b"], "kind": "UCB"}
    assert web("PUT", "/v1/policies/new", settings).json()["settings"]["wait_s"] == 600.0
    assert web("PUT", "/v1/policies/new", settings).status_code == 200
    assert web("PUT", "/v1/policies/new", settings | {"seed": 1}).status_code == 409
    assert web("PATCH", "/v1/policies/new", {"wait_s": 5}).json()["settings"]["wait_s"] == 5.0
    assert web("POST", "/v1/policies/new/pause").json()["settings"]["is_paused"]
    assert not web("POST", "/v1/policies/new/resume").json()["settings"]["is_paused"]
    assert web("POST", "/v1/policies/new/clone", {"name": "copy"}).json()["name"] == "copy"
    assert web("POST", "/v1/policies/copy/actions", {"action": "c/d"}).json()["settings"]["actions"] == [
        "a",
        "b",
        "c/d",
    ]
    assert web("DELETE", "/v1/policies/copy/actions/c/d").json()["settings"]["actions"] == ["a", "b"]
    assert web("DELETE", "/v1/policies/copy").status_code == 200
    assert [each["name"] for each in web("GET", "/v1/policies").json()] == ["default", "new"]
    assert web("GET", "/v1/policies/copy").status_code == 404
    assert web.site.digest() == web.site.rebuilt_digest()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "naming"),
    [
        ("PUT", "/v1/policies/b@d", {"actions": ["a"]}, 400, "name of a policy"),
        ("PUT", "/v1/policies/x", {"actions": []}, 400, "length >= 1"),
        ("PUT", "/v1/policies/x", {"actions": ["a", "a"]}, 400, "occurs twice"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "kind": "UBC"}, 400, "did you mean UCB"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "kind": "Policy"}, 400, "no kind of policy 'Policy'"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "options": {"golf": 1}}, 400, "golf"),
        (
            "PUT",
            "/v1/policies/x",
            {"actions": ["a"], "options": {"explorer": {"kind": "golf"}}},
            400,
            "no explorer 'golf'",
        ),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "default_reward": 3}, 400, "default_reward is 3"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "fallback": "b"}, 400, "fallback is 'b'"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "options": {"max_bytes": 2**50}}, 400, "the limit of this site"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "golf": 1}, 400, "unknown field"),
        ("PUT", "/v1/policies/x", {"actions": ["a\n"]}, 400, "without line ends"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "columns": {"c" * 201: "numerical"}}, 400, "has 201 characters"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "columns": {"c": ["d" * 2001]}}, 413, "the body is larger"),
        ("PUT", "/v1/policies/x", {"actions": ["a"], "kind": "LinUCB"}, 400, "declare `columns`"),
        ("PATCH", POLICY, {"golf": 1}, 400, "no setting 'golf'"),
        ("PATCH", POLICY, {"seed": 5}, 400, "seed of a policy stays"),
        ("POST", f"{POLICY}/clone", {"name": "default"}, 409, "policy 'default' already"),
        ("POST", f"{POLICY}/actions", {"action": "news"}, 409, "has the action 'news' already"),
        ("POST", f"{POLICY}/actions", {"action": ""}, 400, "action has 0 characters"),
        ("POST", f"{POLICY}/actions", {"action": "a\n"}, 400, "without line ends"),
        ("POST", f"{POLICY}/actions", {"action": "a\x1b[2J"}, 400, "without line ends"),
        ("POST", f"{POLICY}/actions", {"action": "x", "features": {"a": 1}}, 400, "takes no features"),
        ("DELETE", f"{POLICY}/actions/golf", None, 400, "action is 'golf'"),
        ("POST", "/v1/policies/nobody/decide", {}, 404, "no policy 'nobody'"),
        ("POST", f"{POLICY}/reward", {"event_id": "x", "value": True}, 400, "Expected `float`, got `bool`"),
        ("POST", f"{POLICY}/reward", {"event_id": "x", "value": "1"}, 400, "Expected `float`, got `str`"),
        ("POST", f"{POLICY}/decide", {"context": {"x": [1]}}, 400, "context"),
        ("POST", f"{POLICY}/decide", {"golf": 1}, 400, "unknown field"),
        ("POST", f"{POLICY}/decide", {"available": ["golf"]}, 400, "action is 'golf'"),
        ("POST", f"{POLICY}/decide", {"context": {str(x): x for x in range(1_001)}}, 413, "the body is larger"),
        ("POST", f"{POLICY}/reward", {"event_id": "nothing", "value": 1}, 404, "made no decision 'nothing'"),
        ("POST", f"{POLICY}/activate", {"event_id": "nothing"}, 404, "made no decision 'nothing'"),
        ("GET", f"{POLICY}/explain/nothing", None, 404, "made no decision 'nothing'"),
        ("POST", f"{POLICY}/promote", {"challenger": "nobody"}, 404, "no policy 'nobody'"),
        ("POST", f"{POLICY}/rollback", {"number": 10**9}, 400, "number is 1000000000"),
        ("GET", "/v1/policies/nobody/statistics", None, 404, "no policy 'nobody'"),
        ("GET", "/v1/policies/nobody/statistics/stream", None, 404, "no policy 'nobody'"),
        ("GET", "/nowhere", None, 404, "no such path"),
        ("GET", f"{POLICY}/decide", None, 405, "takes no GET"),
    ],
)
def test_bad_requests_are_one_sentence(web, method, path, body, status, naming):
    before = web.site.engine.log.last()
    answer = web(method, path, body)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert naming in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert web.site.engine.log.last() == before


def test_an_id_and_a_reward_with_another_content_are_conflicts(web):
    asked = {"event_id": "one", "context": {"hour": 3}}
    first = web("POST", f"{POLICY}/decide", asked).json()
    assert web("POST", f"{POLICY}/decide", asked).json() == {**first, "repeated": True}
    web("POST", f"{POLICY}/reward", {"event_id": "one", "value": 1})
    before = web.site.engine.log.last()
    other = web("POST", f"{POLICY}/decide", {"event_id": "one", "context": {"hour": 4}})
    assert (other.status_code, "made for another request" in other.json()["error"]) == (409, True)
    other = web("POST", f"{POLICY}/reward", {"event_id": "one", "value": 0})
    assert (other.status_code, "has its reward of 1 already" in other.json()["error"]) == (409, True)
    assert web("POST", f"{POLICY}/reward", {"event_id": "one", "value": 1}).json() == {"status": "duplicate"}
    assert web.site.engine.log.last() == before


@pytest.mark.parametrize("context", [{}, None])
def test_the_first_context_has_columns(web, context):
    web("PUT", "/v1/policies/forest", {"actions": ["a", "b"], "options": {"max_bytes": 20_000_000}})
    refusal = web("POST", "/v1/policies/forest/decide", {"context": context})
    assert (refusal.status_code, "fixes its columns, and this one has none" in refusal.json()["error"]) == (400, True)
    assert web("POST", "/v1/policies/forest/decide", {"context": {"hour": None}}).status_code == 200
    assert web("POST", "/v1/policies/forest/decide", {"context": {}}).status_code == 200


@pytest.mark.parametrize("role", ["fallback", "baseline"])
def test_an_action_with_a_role_is_not_removed(web, role):
    web("PATCH", POLICY, {role: "news"})
    refusal = web("DELETE", f"{POLICY}/actions/news")
    assert (refusal.status_code, f"'news' is the {role} of policy" in refusal.json()["error"]) == (409, True)
    web("PATCH", POLICY, {role: None})
    assert web("DELETE", f"{POLICY}/actions/news").status_code == 200


@pytest.mark.parametrize(
    "content",
    [
        b'{"context":{"x":NaN}}',
        b'{"context":{"x":Infinity}}',
        b'{"context":{"x":1e999}}',
        b'{"context":',
        b"[" * 1_990,
        b'{"context":{"x":' + b"[" * 1_000,
        b'{"k":"1"}',
        b'{"k":true}',
        b'{"k":1.5}',
        b'"\xff"',
        b"",
        b"null",
    ],
)
def test_hostile_bodies_are_refused(web, content):
    answer = web("POST", f"{POLICY}/decide", content=content)
    assert answer.status_code == 400
    assert "the body is not valid" in answer.json()["error"]


def test_of_keys_that_occur_twice_the_last_one_counts(web):
    answer = web("POST", f"{POLICY}/decide", content=b'{"event_id":"first","event_id":"second"}')
    assert answer.json()["event_id"] == "second"


def test_a_large_body_is_refused_before_it_is_read(web):
    assert web("POST", f"{POLICY}/decide", content=b" " * 3_000).status_code == 413
    assert web("POST", f"{POLICY}/decide", content=b"{}", headers={"Content-Length": "x"}).status_code == 413


def test_a_large_body_in_pieces_is_refused_while_it_is_read(web):
    sent = []

    async def pieces():
        while len(sent) < 1_000:
            sent.append(1)
            yield b" " * 500

    async def send():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(web.app), base_url="http://site") as client:
            return await client.post(f"{POLICY}/decide", content=pieces())

    assert asyncio.run(send()).status_code == 413
    assert len(sent) <= 5


def test_health_metrics_and_the_description(web):
    web("POST", f"{POLICY}/decide", {})
    assert web("GET", "/healthz").json() == {"status": "up"}
    assert web("GET", "/readyz").json() == {"status": "ready"}
    lines = web("GET", "/metrics").text.splitlines()
    assert 'stumpery_requests_total{operation="Choose an action",status="200"} 1' in lines
    assert 'stumpery_policy_decisions{policy="default"} 1' in lines
    assert 'stumpery_request_seconds_bucket{operation="Choose an action",le="+Inf"} 1' in lines
    latencies = web("GET", "/v1/latencies").json()
    (decided,) = [each for each in latencies["operations"] if each["operation"] == "Choose an action"]
    assert (sum(decided["counts"]), len(decided["counts"])) == (1, len(latencies["bounds_s"]) + 1)
    assert latencies["commit_p50_s"] <= latencies["commit_p99_s"]
    description = web("GET", "/openapi.json").json()
    used = json.dumps(description).split('"#/components/schemas/')[1:]
    assert {each.split('"')[0] for each in used} <= set(description["components"]["schemas"])
    assert "DecideRequest" in description["components"]["schemas"]


def test_the_page_to_try_it_loads_nothing_from_elsewhere(web):
    pages = [web("GET", path) for path in ("/try", "/try.js", "/try.css")]
    assert {page.status_code for page in pages} == {200}
    assert all("default-src 'self'" in page.headers["content-security-policy"] for page in pages)
    assert not any("http://" in page.text or "https://" in page.text for page in pages)


def test_keys_have_separate_rights(tmp_path):
    made = {right: new_key() for right in ("decide", "reward", "admin")}
    keys = tuple(KeySettings(name=right, sha256=digest, rights=(right,)) for right, (_, digest) in made.items())
    with open_site(tmp_path / "site", keys=keys) as site:
        site.create()
        web = Web(site)
        requests = {
            "decide": ("POST", f"{POLICY}/decide", {"event_id": "x"}),
            "reward": ("POST", f"{POLICY}/reward", {"event_id": "x", "value": 1}),
            "admin": ("GET", POLICY),
        }
        for right, request in requests.items():
            assert web(*request).status_code == 401
            assert web(*request, key="guessed").status_code == 401
            for other, (key, _) in made.items():
                assert web(*request, key=key).status_code == (200 if other == right else 403)
        assert web("GET", "/metrics").status_code == 401
        assert web("GET", "/v1/latencies").status_code == 401
        assert web("GET", "/healthz").status_code == 200
        assert all(
            key not in (tmp_path / "site" / "log.sqlite").read_bytes().decode("latin") for key, _ in made.values()
        )


def test_a_key_has_its_rate(tmp_path):
    key, digest = new_key()
    keys = (KeySettings(name="app", sha256=digest, rights=("reward",), rate=2.0),)
    with open_site(tmp_path / "site", keys=keys) as site:
        web = Web(site)
        answers = [web("POST", f"{POLICY}/reward", {"event_id": "x", "value": 1}, key=key) for _ in range(8)]
        assert 429 in {answer.status_code for answer in answers}
        assert answers[-1].headers["retry-after"] == "1"


def test_each_request_of_many_counts_for_the_rate(tmp_path):
    key, digest = new_key()
    keys = (KeySettings(name="app", sha256=digest, rights=("decide",), rate=5.0),)
    with open_site(tmp_path / "site", keys=keys) as site:
        site.create()
        web = Web(site)
        many = {"decisions": [{}] * 50}
        statuses = [web("POST", f"{POLICY}/decide_many", many, key=key).status_code for _ in range(3)]
        assert statuses == [200, 429, 429]


def test_rates_refill(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("stumpery.service.http.security.time.monotonic", lambda: now[0])
    limit = RateLimit(2.0)
    limit.take()
    limit.take()
    with refused(naming="2 requests a second"):
        limit.take()
    now[0] += 0.5
    limit.take()


def test_without_keys_only_this_machine_is_served():
    with refused(naming="the site needs keys"):
        check_exposure(SiteSettings(host="0.0.0.0"))  # noqa: S104
    key = KeySettings(name="app", sha256=sha256(b"key").hexdigest(), rights=("decide",))
    check_exposure(SiteSettings(host="0.0.0.0", keys=(key,)))  # noqa: S104


def test_too_many_waiting_requests_are_refused(tmp_path):
    with open_site(tmp_path / "site", limits=LimitSettings(waiting_requests=1)) as site:
        site.create()
        web = Web(site)

        async def flood():
            transport = httpx.ASGITransport(web.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
                return await asyncio.gather(*(client.post(f"{POLICY}/decide", content=b"{}") for _ in range(60)))

        statuses = {answer.status_code for answer in asyncio.run(flood())}
        assert statuses <= {200, 429}
        assert 200 in statuses
