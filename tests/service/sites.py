"""Sites for tests: an engine on a temporary folder, with a clock that the test moves."""

from contextlib import contextmanager
from functools import partial
from inspect import signature

from stumpery.service.engine import administering, deciding, rewarding
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.engine.rewarding import ActivateRequest, RewardRequest
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import PolicySettings, SiteSettings

ACTIONS = ("news", "sport", "film")
FOREST = {"kind": "RewardForest", "options": {"n_trees": 3, "max_bytes": 20_000_000}}


class Clock:
    """A clock in milliseconds that stands still until it is moved."""

    def __init__(self):
        self.time = 1_000_000

    def __call__(self):
        return self.time

    def forward(self, seconds):
        self.time += round(1000 * seconds)


class Site:
    """An engine with short names for what requests do."""

    def __init__(self, engine, clock):
        self.engine, self.clock = engine, clock

    def do(self, function, *arguments):
        """Run one of the engine's functions, with the journal and, where it takes them, the limits first."""
        first = [self.engine.settings.limits] if "limits" in signature(function).parameters else []
        return self.engine.call(lambda journal: function(journal, *first, *arguments))

    def decide(self, policy="default", **request):
        return self.do(deciding.decide, policy, DecideRequest(**request))

    def reward(self, event, value, reward=None, policy="default"):
        return self.do(
            rewarding.reward, policy, RewardRequest(event_id=event, value=value, reward_id=reward)
        ).status.value

    def activate(self, event, *, shown=True, policy="default"):
        return self.do(rewarding.activate, policy, ActivateRequest(event_id=event, shown=shown))

    def create(self, policy="default", **settings):
        return self.do(
            administering.create,
            policy,
            PolicySettings(**{"kind": "UCB", "actions": ACTIONS, "learn_at_once": True} | settings),
        )

    def change(self, policy="default", **changes):
        return self.do(administering.change, policy, changes)

    def counts(self, policy="default"):
        return self.do(administering.status, policy)

    def digest(self):
        return self.do(administering.digests)["digest"]

    def rebuilt_digest(self):
        """The digest of a replica that applies the whole log anew."""
        return self.engine.call(partial(_rebuilt_digest))


def _rebuilt_digest(journal):
    return SiteReplica.of_log(journal.log).digest()


@contextmanager
def open_site(folder, clock=None, log=None, **settings):
    """A running site; the same folder continues it."""
    clock = clock or Clock()
    engine = Engine(SiteSettings(folder=str(folder), **settings), log, clock)
    engine.start()
    try:
        yield Site(engine, clock)
    finally:
        engine.stop()
