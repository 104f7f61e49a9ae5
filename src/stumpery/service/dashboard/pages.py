"""Routes of the page: its files, the statistics of a policy, and a stream of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stumpery.service.dashboard.follower import LogFollower
from stumpery.service.engine.engine import Engine
from stumpery.service.http.headers import HEADERS, PAGE_HEADERS
from stumpery.service.http.security import Keys

FILES = {
    "/": "index.html",
    "/dashboard.js": "dashboard.js",
    "/charts.js": "charts.js",
    "/comparison.js": "comparison.js",
    "/decisions.js": "decisions.js",
    "/dom.js": "dom.js",
    "/latency.js": "latency.js",
    "/tree.js": "tree.js",
    "/model.js": "model.js",
    "/replicas.js": "replicas.js",
    "/dashboard.css": "dashboard.css",
    "/favicon.svg": "favicon.svg",
}
MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
STREAM_S, CURRENT_S = 1.0, 5.0
MAX_STREAMS = 50
Endpoint = Callable[[Request], Awaitable[Response]]


def dashboard_routes(engine: Engine, follower: LogFollower, keys: Keys) -> list[Route]:
    """The page at /, and what it shows."""
    n_streams = 0

    async def statistics(request: Request) -> Response:
        name = known(request)
        await current()
        summary = msgspec.json.encode(follower.summary(name))
        return Response(summary, 200, HEADERS, "application/json")

    async def current() -> None:
        """Wait until the follower has read the log, for a while."""
        follower.look()
        deadline = time.monotonic() + CURRENT_S
        while not follower.is_current and time.monotonic() < deadline:
            await asyncio.sleep(0.02)

    async def stream(request: Request) -> Response:
        return StreamingResponse(changes(request, known(request)), 200, HEADERS, "text/event-stream")

    def known(request: Request) -> str:
        """The policy that is asked for, where the key may see it."""
        keys.check(request.headers.get("authorization"), "admin")
        name: str = request.path_params["name"]
        engine.journal.replica.policy(name)
        return name

    async def changes(request: Request, name: str) -> AsyncIterator[bytes]:
        """The statistics, each second in which the log has grown; a comment otherwise, so that the line stays open."""
        nonlocal n_streams
        if n_streams >= MAX_STREAMS:
            yield b"event: full\ndata: too many pages are open\n\n"
            return
        n_streams += 1
        try:
            number = -1
            while not (request.app.state.is_stopping or await request.is_disconnected()):
                if follower.number != number:
                    number = follower.number
                    yield b"data: " + msgspec.json.encode(follower.summary(name)) + b"\n\n"
                else:
                    yield b": nothing new\n\n"
                await asyncio.sleep(STREAM_S)
        finally:
            n_streams -= 1

    path = "/v1/policies/{name}/statistics"
    pages = [Route(path, _file(name, needs_key=bool(engine.settings.keys))) for path, name in FILES.items()]
    return [*pages, Route(path, statistics), Route(f"{path}/stream", stream)]


def _file(name: str, *, needs_key: bool) -> Endpoint:
    """A file of the page; the page itself says whether it needs a key."""
    content = (files("stumpery.service.dashboard") / "static" / name).read_bytes()
    if needs_key:
        content = content.replace(b'<html lang="en">', b'<html lang="en" data-needs-key>', 1)
    media_type: Any = MEDIA_TYPES[name.rpartition(".")[2]]

    async def show(request: Request) -> Response:
        return Response(content, 200, PAGE_HEADERS, media_type)

    return show
