"""The ASGI application: routes to the engine, errors as one sentence, health, metrics and the description."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from stumpery.errors import StumperyError
from stumpery.service.dashboard.follower import LogFollower
from stumpery.service.dashboard.pages import dashboard_routes
from stumpery.service.engine import deciding, explaining
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.engine.requests import Fallback
from stumpery.service.errors import TooManyRequests, status_of
from stumpery.service.http.answering import in_time
from stumpery.service.http.batches import n_requests, named_decisions
from stumpery.service.http.bodies import decoded_body, read_body
from stumpery.service.http.headers import HEADERS, PAGE_HEADERS
from stumpery.service.http.metrics import Metrics
from stumpery.service.http.openapi import description
from stumpery.service.http.operation import ErrorAnswer, Operation
from stumpery.service.http.operations import OPERATIONS
from stumpery.service.http.personalizer import personalizer_routes
from stumpery.service.http.replicas import check_role, replicas
from stumpery.service.http.security import Keys
from stumpery.service.log.opening import open_log

logger = logging.getLogger(__name__)
JSON = "application/json"
TRY_PAGE = {"try.html": "text/html", "try.js": "text/javascript", "try.css": "text/css"}
Endpoint = Callable[[Request], Awaitable[Response]]


def application(engine: Engine) -> Starlette:
    """The application that serves an engine's policies."""
    keys, metrics = Keys(engine.settings.keys), Metrics(engine)
    routes = [Route(each.path, _endpoint(engine, keys, metrics, each), methods=[each.method]) for each in OPERATIONS]
    routes += [Route(path, endpoint) for path, endpoint in _pages(engine, keys, metrics).items()]
    follower = LogFollower(lambda: open_log(engine.settings, is_reader=True))
    routes += dashboard_routes(engine, follower, keys) + personalizer_routes(engine, keys)

    @asynccontextmanager
    async def following(_: Starlette) -> AsyncIterator[None]:
        follower.start()
        yield
        follower.stop()

    handlers: dict[Any, Any] = {
        StumperyError: _refused,
        HTTPException: _http_error,
        ClientDisconnect: _gone,
        Exception: _failed,
    }
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=following)
    app.state.is_stopping = False  # what the server sets, so that streams end
    return app


def _endpoint(engine: Engine, keys: Keys, metrics: Metrics, operation: Operation) -> Endpoint:
    """The function that answers the requests of one operation."""
    limits = engine.settings.limits
    makes_decisions = operation.body is DecideRequest

    async def answer(request: Request) -> Response:
        start = time.perf_counter()
        status = 500
        try:
            rate = keys.check(request.headers.get("authorization"), operation.right)
            check_role(engine.settings, operation.right)
            body: Any = None
            if operation.body is not None:
                body = decoded_body(await read_body(request, limits.body_bytes), operation.body)
                if rate is not None:
                    rate.charge(n_requests(body) - 1)
            path = request.path_params
            fallback: Fallback = None
            if makes_decisions:
                fallback = lambda replica: deciding.fallback_answer(replica.policy(path["name"]), body)  # noqa: E731
            decisions = named_decisions(path.get("name", ""), body)
            reply = engine.submit(operation.task(limits, path, body), fallback, decisions)
            if fallback is None or engine.settings.answer_within_ms is None:
                result = await reply
            else:
                result = await in_time(engine, path["name"], reply, fallback)
            status = 200
            return Response(_encoded(result), headers=HEADERS, media_type=JSON)
        except StumperyError as error:
            status = status_of(error)
            return _refused(request, error)
        finally:
            metrics.count(operation.summary, status, time.perf_counter() - start)

    return answer


def _pages(engine: Engine, keys: Keys, metrics: Metrics) -> dict[str, Endpoint]:
    """Health, metrics and the description of the interface."""
    openapi = msgspec.json.encode(description(bool(engine.settings.keys)))
    replays = asyncio.Lock()

    async def health(request: Request) -> Response:
        return Response(b'{"status":"up"}', media_type=JSON)

    async def ready(request: Request) -> Response:
        failure = engine.failure
        if failure is None:
            return Response(b'{"status":"ready"}', media_type=JSON)
        return Response(_encoded({"status": "not ready", "error": failure}), 503, media_type=JSON)

    async def show_metrics(request: Request) -> Response:
        keys.check(request.headers.get("authorization"), "admin")
        return Response(await metrics.text(), media_type="text/plain; version=0.0.4")

    async def show_alarms(request: Request) -> Response:
        keys.check(request.headers.get("authorization"), "admin")
        return Response(_encoded(engine.alarms.shown()), headers=HEADERS, media_type=JSON)

    async def show_replicas(request: Request) -> Response:
        keys.check(request.headers.get("authorization"), "admin")
        return Response(_encoded(replicas(engine)), headers=HEADERS, media_type=JSON)

    async def show_latencies(request: Request) -> Response:
        keys.check(request.headers.get("authorization"), "admin")
        return Response(_encoded(metrics.latencies()), headers=HEADERS, media_type=JSON)

    async def explain_then(request: Request) -> Response:
        keys.check(request.headers.get("authorization"), "admin")
        if replays.locked():
            raise TooManyRequests("another decision is being explained; try again later")
        name, event = request.path_params["name"], request.path_params["event_id"]
        async with replays:
            site, snapshots = engine.settings, engine.snapshots
            found = await asyncio.to_thread(explaining.explain_then, site, snapshots, name, event)
        return Response(_encoded(found), headers=HEADERS, media_type=JSON)

    async def show_openapi(request: Request) -> Response:
        return Response(openapi, headers=HEADERS, media_type=JSON)

    return {
        "/healthz": health,
        "/readyz": ready,
        "/metrics": show_metrics,
        "/openapi.json": show_openapi,
        "/v1/alarms": show_alarms,
        "/v1/replicas": show_replicas,
        "/v1/latencies": show_latencies,
        "/v1/policies/{name}/explain/{event_id}/then": explain_then,
        **{f"/{path.removesuffix('.html')}": _file(path, kind) for path, kind in TRY_PAGE.items()},
    }


def _file(name: str, media_type: str) -> Endpoint:
    """A file of the page to try the interface."""
    content = (files("stumpery.service.http") / "try_page" / name).read_bytes()

    async def show(request: Request) -> Response:
        return Response(content, headers=PAGE_HEADERS, media_type=media_type)

    return show


def _refused(request: Request, error: Exception) -> Response:
    status = status_of(error)
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(_encoded(ErrorAnswer(str(error), status)), status, {**HEADERS, **headers}, JSON)


def _http_error(request: Request, error: HTTPException) -> Response:
    sentence = {404: "there is no such path", 405: f"this path takes no {request.method}"}
    text = sentence.get(error.status_code, error.detail)
    return Response(_encoded(ErrorAnswer(text, error.status_code)), error.status_code, HEADERS, JSON)


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)


def _failed(request: Request, error: Exception) -> Response:
    logger.error("a request failed: %r", error)
    return Response(_encoded(ErrorAnswer("an internal error; the log of the service says more", 500)), 500, None, JSON)


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if hasattr(value, "item") else str(value)
