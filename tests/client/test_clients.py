"""The clients of the decision service: decisions, rewards, retries that repeat nothing, and errors of one sentence."""

import asyncio
import json
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from tests.service.sites import ACTIONS, open_site
from tests.support import refused

from stumpery.client import AsyncClient, Client, RefusedByService, ServedDecision, ServiceUnreachable
from stumpery.client.calls import MAX_PAUSE_S, pause_s
from stumpery.service.http.app import application

ROOT = Path(__file__).parent.parent.parent


class Bridge(httpx.BaseTransport):
    """A transport of the synchronous client into an application, without a socket; it can lose answers."""

    def __init__(self, app):
        self.app, self.lost, self.requests = app, 0, []

    def handle_request(self, request):
        self.requests.append((request.method, request.url.path, request.content))

        async def send():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
                path, headers = (
                    request.url.raw_path.decode(),
                    {"authorization": request.headers.get("authorization", "")},
                )
                return await client.request(request.method, path, content=request.content, headers=headers)

        answer = asyncio.run(send())
        if self.lost:
            self.lost -= 1
            raise httpx.ReadTimeout("the answer was lost", request=request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@pytest.fixture
def bridge(tmp_path, monkeypatch):
    monkeypatch.setattr("stumpery.client.calls.FIRST_PAUSE_S", 0.0)
    with open_site(tmp_path / "site") as site:
        site.create()
        bridge = Bridge(application(site.engine))
        bridge.site = site
        yield bridge


def test_a_decision_is_made_rewarded_and_explained(bridge):
    with Client("http://site", transport=bridge) as client:
        decision = client.decide({"hour": 21, "age": None}, available=["news", "film"], k=2)
        assert decision.action in ("news", "film")
        assert sum(each.probability for each in decision.ranking) == pytest.approx(1.0)
        assert client.reward(decision, 1.0) == "learned"
        assert [each["type"] for each in client.explain(decision)["history"]] == ["decision", "reward"]
        assert client.status()["learned"] == 1


def test_many_decisions_and_rewards_are_sent_at_once(bridge):
    client = Client("http://site", transport=bridge)
    decisions = client.decide_many([{"hour": 1}, None, {"hour": 3}])
    assert len({decision.event_id for decision in decisions}) == 3
    assert client.reward_many([(decisions[0], 1.0), ("unknown", 1.0), (decisions[2].event_id, 0.0)]) == [
        "learned",
        None,
        "learned",
    ]


def test_a_lost_answer_is_asked_for_again_and_nothing_happens_twice(bridge):
    client = Client("http://site", transport=bridge)
    bridge.lost = 2
    decision = client.decide({"hour": 21})
    assert decision.repeated
    assert len(bridge.requests) == 3
    assert len(set(bridge.requests)) == 1
    bridge.lost = 1
    assert client.reward(decision, 1.0) == "duplicate"
    assert (client.status()["decisions"], client.status()["learned"]) == (1, 1)


def test_a_service_that_never_answers(bridge):
    bridge.lost = 100
    client = Client("http://site", transport=bridge, retries=2)
    with refused(naming="did not answer", error=ServiceUnreachable):
        client.decide()
    assert len(bridge.requests) == 3


def test_refusals_are_the_services_own_sentences(bridge):
    client = Client("http://site", transport=bridge)
    with refused(naming="golf", error=RefusedByService) as _:
        client.decide(available=["golf"])
    with pytest.raises(RefusedByService) as caught:
        Client("http://site", policy="none", transport=bridge).decide()
    assert caught.value.status == 404
    with refused(naming="fallback"):
        client.reward(ServedDecision(None, "news", 1.0, 0, fallback=True), 1.0)
    for wrong in ({"timeout_s": 0}, {"retries": -1}):
        with refused(naming=next(iter(wrong))):
            Client("http://site", **wrong)


def test_an_answer_that_is_no_services():
    for content in (b"<html>", b"[1]", b"{}"):
        transport = httpx.MockTransport(lambda _, content=content: httpx.Response(200, content=content))
        with pytest.raises(RefusedByService):
            Client("http://site", transport=transport).decide()


def test_busy_services_are_asked_again_after_the_pause_they_name(monkeypatch):
    pauses = []
    monkeypatch.setattr("stumpery.client.client.time.sleep", pauses.append)
    answers = [httpx.Response(429, headers={"Retry-After": "2"}, json={}), httpx.Response(503, json={})]
    good = {"event_id": "e", "action": "news", "probability": 1.0, "version": 0}
    transport = httpx.MockTransport(lambda _: answers.pop(0) if answers else httpx.Response(200, json=good))
    assert Client("http://site", transport=transport).decide().action == "news"
    assert pauses[0] == 2.0
    assert 0.1 <= pauses[1] <= 0.3
    assert max(pause_s(attempt, "3600") for attempt in range(50)) == MAX_PAUSE_S


def test_the_client_for_coroutines_does_the_same(bridge):
    async def use():
        transport = httpx.ASGITransport(bridge.app)
        async with AsyncClient("http://site", transport=transport) as client:
            decisions = await asyncio.gather(*[client.decide({"hour": hour}) for hour in range(8)])
            statuses = await asyncio.gather(*[client.reward(each, 1.0) for each in decisions])
            deferred = await client.decide(deferred=True)
            return decisions, statuses, await client.activate(deferred), await client.status()

    decisions, statuses, active, status = asyncio.run(use())
    assert {each.action for each in decisions} <= set(ACTIONS)
    assert (set(statuses), active, status["learned"]) == ({"learned"}, True, 8)


def test_both_clients_offer_the_same():
    def public(kind):
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)


PROGRAM = """
import {{ Client, ServiceError }} from "{file}";
const client = new Client("{address}", {{ policy: "p", key: "k" }});
const decision = await client.decide({{ hour: 21 }});
const reward = await client.reward(decision, 1);
const told = (error) => [error instanceof ServiceError, error.message, error.status];
const refusal = await client.explain("unknown").catch(told);
console.log(JSON.stringify({{ decision, reward, refusal }}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_client_for_javascript(tmp_path):
    seen = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers["Authorization"], body))
            if len(seen) == 1:
                self.answer(503, {"error": "busy"})
            else:
                self.answer(200, {"event_id": body["event_id"], "action": "news", "status": "learned"})

        def do_GET(self):
            self.answer(404, {"error": "there is no such decision"})

        def answer(self, status, content):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        program = tmp_path / "use.mjs"
        file = (tmp_path / "stumpery.mjs").as_posix()
        shutil.copy(ROOT / "clients" / "stumpery.js", file)
        program.write_text(PROGRAM.format(file=file, address=f"http://127.0.0.1:{server.server_port}"))
        result = subprocess.run(["node", program], capture_output=True, text=True, timeout=60, check=True)  # noqa: S607
    finally:
        server.shutdown()
        server.server_close()
    answers = json.loads(result.stdout)
    assert answers["decision"]["action"] == "news"
    assert answers["refusal"] == [True, "there is no such decision", 404]
    (first, second, third) = seen
    assert first == second
    assert first[:2] == ("/v1/policies/p/decide", "Bearer k")
    assert third[2]["event_id"] == answers["decision"]["event_id"]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"address": ""}, "address is ''"),
        ({"address": None}, "address is None"),
        ({"address": "localhost:8321"}, "it must be one such as"),
        ({"address": "http://127.0.0.1/\r\nX: y"}, "address is"),
        ({"policy": ""}, "policy is ''"),
        ({"policy": 5}, "policy is 5"),
        ({"key": "é"}, "key must be a text of visible ASCII"),
        ({"key": "a\r\nX: b"}, "key must be a text of visible ASCII"),
    ],
)
def test_clients_that_cannot_be_are_refused(kind, options, words):
    with refused(naming=words):
        kind(**options)


def test_requests_that_are_no_json_are_refused_and_not_sent():
    client = Client(transport=httpx.MockTransport(lambda request: pytest.fail("it was sent")))
    for context in ({"a": float("nan")}, {"a": object()}):
        with refused(naming="the request is no JSON"):
            client.decide(context)
    with refused(naming="context is 5"):
        client.decide(5)
    with refused(naming="the request is no JSON"):
        client.reward("an event", float("inf"))


def test_an_answer_that_is_nested_too_deeply():
    client = Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=b"[" * 100_000)))
    with pytest.raises(RefusedByService, match="the answer with status 200 is not JSON"):
        client.decide({"hour": 1})


class Dripping(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes byte by byte, each in time."""

    def __iter__(self):
        while True:
            time.sleep(0.05)
            yield b" "

    async def __aiter__(self):
        while True:
            await asyncio.sleep(0.05)
            yield b" "


def test_an_answer_that_never_ends_is_given_up():
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Dripping()))
    options = {"transport": transport, "timeout_s": 0.2, "retries": 0}
    with refused(naming="not complete after 0.2 s", error=ServiceUnreachable):
        Client("http://site", **options).decide()
    with refused(naming="not complete after 0.2 s", error=ServiceUnreachable):
        asyncio.run(AsyncClient("http://site", **options).decide())
