"""A state machine over decisions, rewards, time, snapshots and restarts: in no order is an answered event lost."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.service.sites import Clock, Site

from stumpery.errors import StumperyError
from stumpery.service.engine.engine import Engine
from stumpery.service.settings import SiteSettings


class SiteMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.answers, self.rewards = {}, {}
        self.open()

    def open(self):
        engine = Engine(SiteSettings(folder=str(self.folder)), clock=self.clock)
        engine.start()
        self.site = Site(engine, self.clock)

    @initialize(rewards=st.sampled_from(["first", "last", "sum", "max"]), control=st.sampled_from([0.0, 0.3]))
    def create(self, rewards, control):
        self.site.create(rewards=rewards, control=control, wait_s=20.0, early_rewards_s=5.0)

    @rule(n=st.integers(0, 12), deferred=st.booleans())
    def decide(self, n, deferred):
        try:
            answer = self.site.decide(event_id=str(n), deferred=deferred)
        except StumperyError:
            assert str(n) in self.answers
            return
        known = self.answers.setdefault(str(n), (answer.action, answer.probability, deferred))
        assert known == (answer.action, answer.probability, deferred)

    @rule(n=st.integers(0, 14), value=st.sampled_from([0.0, 0.5, 1.0]), name=st.sampled_from([None, "a", "b"]))
    def reward(self, n, value, name):
        try:
            status = self.site.reward(str(n), value, name)
        except StumperyError:
            return
        if status != "duplicate":
            self.rewards[str(n)] = self.rewards.get(str(n), 0) + 1

    @rule(n=st.integers(0, 12), shown=st.booleans())
    def activate(self, n, shown):
        try:
            self.site.activate(str(n), shown=shown)
        except StumperyError:
            return

    @rule(seconds=st.integers(-5, 15))
    def wait(self, seconds):
        self.clock.forward(seconds)

    @rule()
    def save(self):
        self.site.engine.call(lambda journal: self.site.engine.snapshots.save(journal.replica))

    @precondition(lambda self: self.answers)
    @rule(is_graceful=st.booleans())
    def restart(self, is_graceful):
        before = self.site.digest()
        if not is_graceful:
            self.site.engine.duties.end = lambda journal: None
        self.site.engine.stop()
        self.open()
        assert self.site.digest() == before

    @invariant()
    def the_log_holds_what_was_answered(self):
        counts = {}
        for row in self.site.engine.call(lambda journal: list(journal.log.rows())):
            if row.event is not None and b'"type":"reward"' in row.content:
                counts[row.event] = counts.get(row.event, 0) + 1
        assert counts == self.rewards
        assert self.site.digest() == self.site.rebuilt_digest()

    def teardown(self):
        self.site.engine.stop()
        shutil.rmtree(self.folder)


TestSite = SiteMachine.TestCase
TestSite.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
