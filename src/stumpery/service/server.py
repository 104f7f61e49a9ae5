"""The server: the engine, the application on uvicorn, and a graceful stop."""

import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette

from stumpery.errors import InvalidInput
from stumpery.service.engine import administering
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.journal import Journal, wall_clock
from stumpery.service.http.app import application
from stumpery.service.http.security import check_exposure
from stumpery.service.settings import PolicySettings, SiteSettings

logger = logging.getLogger(__name__)
SWITCH_S = 0.0005  # the engine's thread gives way to the event loop this often
BACKLOG, KEEP_ALIVE_S, STOP_S = 2_048, 75, 10


def serve(
    settings: SiteSettings,
    announce: Callable[[str], None],
    *,
    first: Callable[[Journal], None] | None = None,
    clock: Callable[[], int] = wall_clock,
) -> None:
    """Serve a site until SIGTERM or SIGINT; `announce` gets its address when it is ready.

    `first` is a task of the engine before the first request, `clock` gives milliseconds since 1970.
    """
    check_exposure(settings)
    _check_address(settings)
    sys.setswitchinterval(SWITCH_S)
    _end_by_an_exception(signal.SIGTERM)  # else uvicorn ends the process by it, before the engine has stopped
    engine = Engine(settings, clock=clock)
    try:
        engine.start()
        gc.freeze()  # what was imported and restored stays
        gc.enable()
        for name, policy in settings.policies.items():
            engine.call(partial(prepare, settings, name, policy))
        app = application(engine)
        engine.call(first or _wait)  # until the new ones are compiled
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=STOP_S,
        )

        def say(address: str) -> None:
            engine.leading.address = address.removeprefix("http://")
            announce(address)

        AnnouncingServer(config, say, app).run()
    finally:
        engine.stop()


def _end_by_an_exception(number: int) -> None:
    """Let a signal end the process by an exception, as Ctrl-C does, the first time it comes."""

    def end(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(0)

    if threading.current_thread() is threading.main_thread():
        signal.signal(number, end)


def _check_address(settings: SiteSettings) -> None:
    """Listen for a moment, before anything is written; an InvalidInput if that is not possible."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in found:
            socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{settings.host}, port {settings.port} cannot be listened on: {reason}") from None


def _wait(_journal: Journal) -> None:
    """A task without effect, which comes after all that the engine did before."""


def prepare(settings: SiteSettings, name: str, policy: PolicySettings, journal: Journal) -> None:
    """Create a policy of the settings, or change what may be changed of one that is there."""
    existing = journal.replica.policies.get(name)
    if existing is None:
        administering.create(journal, settings.limits, name, policy)
        return
    if set(existing.settings.actions) != set(policy.actions):
        logger.warning("policy %r keeps its actions; the settings name others", name)
    changes = {each: getattr(policy, each) for each in policy.__struct_fields__ if each not in ("actions", "is_paused")}
    for each in ("fallback", "baseline"):
        if changes[each] is not None and changes[each] not in existing.settings.actions:
            logger.warning("policy %r has no action %r, which the settings name as its %s", name, changes[each], each)
            del changes[each]
    administering.change(journal, settings.limits, name, changes)


class AnnouncingServer(uvicorn.Server):
    """A server that says its address when it listens, also where the system chose the port.

    Args:
        config: What is served.
        announce: Gets the address.
        app: The application, whose streams end when the server stops.
    """

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None], app: Starlette) -> None:
        super().__init__(config)
        self._announce, self._app = announce, app

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop, and let streams end."""
        self._app.state.is_stopping = True
        super().handle_exit(sig, frame)

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                self._announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
