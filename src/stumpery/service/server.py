"""The server: the engine, the application on uvicorn, and a graceful stop."""

import logging
import sys
from collections.abc import Callable
from functools import partial

from stumpery.service.engine import administering
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.journal import Journal
from stumpery.service.http.security import check_exposure
from stumpery.service.settings import PolicySettings, SiteSettings
from stumpery.system.extras import need

logger = logging.getLogger(__name__)
SWITCH_S = 0.0005  # the engine's thread gives way to the event loop this often
BACKLOG, KEEP_ALIVE_S, STOP_S = 2_048, 75, 10


def serve(settings: SiteSettings, announce: Callable[[str], None]) -> None:
    """Serve a site until SIGTERM or SIGINT; `announce` gets its address when it is ready."""
    uvicorn = need("uvicorn", "service")
    from stumpery.service.http.app import application

    check_exposure(settings)
    sys.setswitchinterval(SWITCH_S)
    engine = Engine(settings)
    try:
        engine.start()
        for name, policy in settings.policies.items():
            engine.call(partial(_prepare, settings, name, policy))
        config = uvicorn.Config(
            application(engine),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=STOP_S,
        )
        server = _announcing(uvicorn.Server)(config)
        server.announce = announce
        server.run()
    finally:
        engine.stop()


def _prepare(settings: SiteSettings, name: str, policy: PolicySettings, journal: Journal) -> None:
    """Create a policy of the settings, or change what may be changed of one that is there."""
    existing = journal.replica.policies.get(name)
    if existing is None:
        administering.create(journal, settings.limits, name, policy)
        return
    if set(existing.settings.actions) != set(policy.actions):
        logger.warning("policy %r keeps its actions; the settings name others", name)
    changes = {each: getattr(policy, each) for each in policy.__struct_fields__ if each not in ("actions", "is_paused")}
    administering.change(journal, settings.limits, name, changes)


def _announcing(base: type) -> type:
    """A server that says its address when it listens, also where the port was chosen by the system."""

    class AnnouncingServer(base):
        announce: Callable[[str], None]

        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)
            for server in getattr(self, "servers", []):
                for socket in server.sockets:
                    host, port = socket.getsockname()[:2]
                    self.announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    return AnnouncingServer
