"""The rule of rewards: late, early, twice, corrected, several per event, and the default where none came."""

import pytest
from tests.service.sites import open_site
from tests.support import refused

from stumpery.service.errors import RefusedRequest, RequestConflict, TooManyRequests, UnknownName
from stumpery.service.events import DecisionSettled, decoded
from stumpery.service.settings import LimitSettings


@pytest.fixture
def site(tmp_path):
    with open_site(tmp_path / "site", limits=LimitSettings(early_rewards=2)) as opened:
        yield opened


def settled(site, event):
    """What was learned of a decision at the end of its wait."""
    found = [decoded(row.content) for row in site.engine.call(lambda journal: journal.find("default", event))]
    return [each for each in found if isinstance(each, DecisionSettled)]


def after_the_wait(site, seconds=601):
    site.clock.forward(seconds)
    site.decide()  # any request makes time pass


def test_rewards_are_learned_at_the_end_of_the_wait_beside_the_defaults_of_the_same_time(site):
    site.create("held", learn_at_once=False, wait_s=60.0)
    clicked, silent = site.decide("held").event_id, site.decide("held").event_id
    assert site.reward(clicked, 1.0, policy="held") == "kept"
    assert site.reward(clicked, 1.0, policy="held") == "duplicate"
    with refused(naming="already", error=RequestConflict):
        site.reward(clicked, 0.0, policy="held")
    assert site.counts("held")["learned"] == 0
    site.clock.forward(61)
    site.counts("held")  # any request makes time pass, and what is settled is learned after it
    counts = site.counts("held")
    assert (counts["learned"], counts["default_rewards"], counts["open_decisions"]) == (2, 1, 0)
    assert site.reward(silent, 1.0, policy="held") == "late"
    assert site.rebuilt_digest() == site.digest()


def test_the_first_reward_is_learned_at_once_where_that_is_set(site):
    site.create()
    event = site.decide().event_id
    assert site.reward(event, 1.0) == "learned"
    assert site.counts()["learned"] == 1
    after_the_wait(site)
    assert (site.counts()["learned"], settled(site, event)) == (1, [])


def test_the_same_reward_again_is_a_duplicate_also_after_the_wait(site):
    site.create()
    event = site.decide().event_id
    site.reward(event, 1.0)
    assert site.reward(event, 1.0) == "duplicate"
    after_the_wait(site)
    assert site.reward(event, 1.0) == "duplicate"
    assert site.counts()["rewards"] == 1


def test_a_reward_with_another_value_is_a_conflict_also_after_the_wait(site):
    site.create()
    event = site.decide().event_id
    site.reward(event, 1.0)
    for _ in range(2):
        with refused(naming="has its reward of 1 already; this one is 0.5", error=RequestConflict):
            site.reward(event, 0.5)
        after_the_wait(site)


def test_of_several_named_rewards_the_first_is_learned_and_others_are_kept(site):
    site.create()
    event = site.decide().event_id
    assert [site.reward(event, 1.0, "click"), site.reward(event, 0.0, "like")] == ["learned", "kept"]
    assert site.counts()["learned"] == 1


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("last", [1.0, 0.0, 0.25], 0.25),
        ("sum", [0.25, 0.5], 0.75),
        ("sum", [1.0, 0.5], 1.0),
        ("max", [0.5, 0.75, 0.0], 0.75),
    ],
)
def test_several_rewards_are_taken_together_at_the_end_of_the_wait(site, rule, values, expected):
    site.create(rewards=rule)
    event = site.decide().event_id
    assert {site.reward(event, value) for value in values} == {"kept"}
    assert site.counts()["learned"] == 0
    after_the_wait(site)
    assert settled(site, event) == [DecisionSettled(expected)]
    assert site.counts()["learned"] == 1


def test_a_named_reward_can_be_sent_again_without_being_summed_twice(site):
    site.create(rewards="sum")
    event = site.decide().event_id
    assert [site.reward(event, 0.25, "click") for _ in range(2)] == ["kept", "duplicate"]
    with refused(naming="'click' of 0.25 already", error=RequestConflict):
        site.reward(event, 0.5, "click")
    after_the_wait(site)
    assert settled(site, event) == [DecisionSettled(0.25)]


@pytest.mark.parametrize(("default", "learned"), [(0.0, 1), (0.5, 1), (None, 0)])
def test_where_no_reward_comes_the_default_is_learned(site, default, learned):
    site.create(default_reward=default)
    event = site.decide().event_id
    after_the_wait(site)
    assert settled(site, event) == [DecisionSettled(default, is_default=True)]
    assert (site.counts()["learned"], site.counts()["default_rewards"]) == (learned, learned)


def test_a_reward_after_the_wait_is_recorded_and_not_learned(site):
    site.create()
    event = site.decide().event_id
    after_the_wait(site)
    assert site.reward(event, 1.0) == "late"
    assert site.reward(event, 1.0) == "duplicate"
    assert (site.counts()["learned"], site.counts()["late_rewards"]) == (1, 1)


def test_rewards_may_come_in_any_order(site):
    site.create()
    events = [site.decide().event_id for _ in range(5)]
    assert [site.reward(event, 1.0) for event in reversed(events)] == ["learned"] * 5


def test_a_reward_of_an_unknown_decision_is_refused(site):
    site.create()
    with refused(naming="has made no decision 'nothing'", error=UnknownName):
        site.reward("nothing", 1.0)


def test_a_reward_may_come_before_its_decision(site):
    site.create(early_rewards_s=30.0)
    assert [site.reward("soon", 1.0), site.reward("soon", 1.0)] == ["early", "duplicate"]
    with refused(naming="of 1 already; this one is 0", error=RequestConflict):
        site.reward("soon", 0.0)
    site.decide(event_id="soon")
    assert site.counts()["learned"] == 1
    assert site.reward("soon", 1.0) == "duplicate"


def test_early_rewards_are_forgotten_in_time_and_limited_in_number(site):
    site.create(early_rewards_s=30.0)
    site.reward("one", 1.0)
    site.reward("two", 1.0)
    with refused(naming="2 early rewards, which is the limit", error=TooManyRequests):
        site.reward("three", 1.0)
    site.clock.forward(31)
    site.decide()
    assert site.reward("three", 1.0) == "early"
    site.decide(event_id="one")
    assert site.counts()["learned"] == 0


def test_a_deferred_decision_is_learned_when_it_is_activated(site):
    site.create()
    event = site.decide(deferred=True).event_id
    assert site.reward(event, 1.0) == "kept"
    assert site.counts()["learned"] == 0
    assert site.activate(event).active
    assert site.activate(event).active
    assert site.counts()["learned"] == 1


def test_a_deferred_decision_that_is_not_activated_is_never_learned(site):
    site.create()
    site.decide(deferred=True)
    after_the_wait(site)
    assert site.counts()["learned"] == 0


def test_a_decision_that_was_not_shown_is_taken_back(site):
    site.create()
    event = site.decide().event_id
    assert not site.activate(event, shown=False).active
    assert site.reward(event, 1.0) == "late"
    after_the_wait(site)
    assert (site.counts()["learned"], site.counts()["default_rewards"]) == (0, 0)
    with refused(naming="the wait of decision", error=RequestConflict):
        site.activate(event)


def test_what_is_learned_cannot_be_taken_back(site):
    site.create()
    event = site.decide().event_id
    site.reward(event, 1.0)
    with refused(naming="is learned already", error=RequestConflict):
        site.activate(event, shown=False)


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf")])
def test_a_reward_outside_the_range_is_refused(site, value):
    site.create()
    event = site.decide().event_id
    with refused(naming="it must be a number from 0 to 1", error=RefusedRequest):
        site.reward(event, value)
