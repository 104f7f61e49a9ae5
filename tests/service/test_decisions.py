"""Decisions of the service: true probabilities, ids, limits, and a model that deciding does not change."""

import numpy as np
import pytest
from tests.service.sites import ACTIONS, FOREST, open_site
from tests.support import refused

from stumpery.errors import InvalidInput
from stumpery.service.engine import administering
from stumpery.service.engine.deciding import decide
from stumpery.service.engine.drawing import chosen, uniform
from stumpery.service.engine.messages import CandidateAction, DecideRequest
from stumpery.service.engine.rewarding import RewardRequest, reward
from stumpery.service.errors import RequestConflict, TooManyRequests, UnknownName
from stumpery.service.replica.models import digest_of
from stumpery.service.settings import LimitSettings


@pytest.fixture
def site(tmp_path):
    with open_site(tmp_path / "site") as opened:
        yield opened


def test_a_draw_chooses_each_action_with_its_probability():
    draws = [chosen([0.5, 0.2, 0.0, 0.3], uniform(7, number)) for number in range(20_000)]
    assert np.bincount(draws, minlength=4) / 20_000 == pytest.approx([0.5, 0.2, 0.0, 0.3], abs=0.02)


def test_a_draw_can_be_drawn_again():
    assert uniform(7, 12) == uniform(7, 12) != uniform(8, 12)


def test_the_answers_probability_is_that_of_the_ranking_and_they_sum_to_one(site):
    site.create(exploration=0.1)
    answer = site.decide()
    assert {each.action: each.probability for each in answer.ranking}[answer.action] == answer.probability
    assert sum(each.probability for each in answer.ranking) == pytest.approx(1.0)


def test_exploration_is_a_floor_under_every_probability(site):
    site.create(exploration=0.3)
    for _ in range(50):
        site.reward(site.decide().event_id, 1.0)
    assert min(each.probability for each in site.decide().ranking) >= 0.1 - 1e-12


def test_only_available_actions_are_chosen(site):
    site.create()
    answers = [site.decide(available=["film", "news"]) for _ in range(30)]
    assert {answer.action for answer in answers} <= {"film", "news"}
    assert {each.action for each in answers[0].ranking} == {"film", "news"}


def test_deciding_does_not_change_the_model(site):
    site.create(**FOREST)
    site.decide(context={"hour": 1, "device": "phone"})
    model = site.engine.journal.replica.policies["default"].model
    before = site.engine.call(lambda journal: digest_of(model))
    for hour in range(40):
        site.decide(context={"hour": hour, "device": f"device {hour}"})
    assert site.engine.call(lambda journal: digest_of(model)) == before


def test_a_repeated_request_gets_its_first_answer(site):
    site.create()
    first = site.decide(event_id="one", context={"hour": 3})
    for _ in range(20):
        site.reward(site.decide().event_id, 1.0)
    again = site.decide(event_id="one", context={"hour": 3})
    assert again.repeated
    assert (again.action, again.probability, again.ranking) == (first.action, first.probability, first.ranking)
    assert site.counts()["decisions"] == 21


def test_a_repeated_request_gets_its_first_answer_after_its_wait(site):
    site.create(wait_s=10.0)
    first = site.decide(event_id="one")
    site.clock.forward(11)
    site.decide()
    assert site.decide(event_id="one").action == first.action


def test_a_new_policy_knows_nothing_of_a_deleted_one_of_its_name(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create()
        first = site.decide(event_id="one")
        site.decide(event_id="two")
        site.do(administering.delete, "default")
        site.create(actions=("golf", "chess"))
        again = site.decide(event_id="one")
        assert (first.action in ACTIONS, again.action in ("golf", "chess"), again.repeated) == (True, True, False)
        assert site.decide(event_id="one").repeated
        with refused(naming="has made no decision 'two'", error=UnknownName):
            site.reward("two", 1.0)
        digest = site.digest()
        assert site.rebuilt_digest() == digest
        site.clock.forward(10_000)
        site.decide()
    with open_site(tmp_path / "site", site.clock) as site:  # from its last snapshot
        assert site.decide(event_id="one").action == again.action
        with refused(naming="has made no decision 'two'", error=UnknownName):
            site.reward("two", 1.0)


def test_an_id_with_another_request_is_a_conflict(site):
    site.create()
    site.decide(event_id="one", context={"hour": 3})
    with refused(naming="'one' was made for another request", error=RequestConflict):
        site.decide(event_id="one", context={"hour": 4})


@pytest.mark.parametrize(
    ("request_", "error", "naming"),
    [
        ({"available": []}, InvalidInput, "available is empty"),
        ({"available": ["news", "news"]}, InvalidInput, "names an action twice"),
        ({"available": ["golf"]}, InvalidInput, "action is 'golf'"),
        ({"k": 0}, InvalidInput, "k is 0"),
        ({"event_id": ""}, InvalidInput, "event_id has 0 characters"),
        ({"context": {"x": "y" * 3_000}}, InvalidInput, "column 'x' has 3000 characters"),
        ({"context": {"x" * 300: 1}}, InvalidInput, "name has 300 characters"),
        ({"context": {str(x): x for x in range(2_000)}}, InvalidInput, "context has 2000 columns"),
        ({"context": {"hour": "noon"}}, InvalidInput, "column 'hour' is 'noon'"),
        ({"policy": "nobody"}, UnknownName, "no policy 'nobody'"),
    ],
)
def test_bad_requests_are_refused_and_nothing_is_logged(site, request_, error, naming):
    site.create(**FOREST)
    site.decide(context={"hour": 1})
    before = site.engine.log.last()
    with refused(naming=naming, error=error):
        site.decide(**request_)
    assert site.engine.log.last() == before


def test_open_decisions_are_limited(tmp_path):
    with open_site(tmp_path / "site", limits=LimitSettings(open_decisions=3)) as site:
        site.create(wait_s=60.0)
        for _ in range(3):
            site.decide()
        with refused(naming="3 open decisions, which is the limit", error=TooManyRequests):
            site.decide()
        site.clock.forward(61)
        assert site.decide().action in ACTIONS


def test_actions_of_a_request_are_chosen_from_and_new_ones_added_where_the_policy_takes_them(site):
    site.create(**FOREST)
    site.decide(context={"hour": 1})
    with refused(naming="action is 'golf'", error=InvalidInput):
        site.decide(context={"hour": 1}, actions=[CandidateAction("golf")])
    site.change(new_actions=True)
    before = site.engine.log.last()
    for bad in (
        {"context": {"hour": "noon"}, "actions": [CandidateAction("news"), CandidateAction("golf")]},
        {"actions": [CandidateAction("golf"), CandidateAction("golf")]},
        {"actions": [CandidateAction("golf")], "available": ["news"]},
        {"actions": [CandidateAction("")]},
    ):
        with refused(error=InvalidInput):
            site.decide(**bad)
    assert site.engine.log.last() == before
    answer = site.decide(context={"hour": 1}, actions=[CandidateAction("news"), CandidateAction("golf")])
    assert {each.action for each in answer.ranking} == {"news", "golf"}
    assert list(site.counts()["settings"]["actions"]) == [*ACTIONS, "golf"]
    only = [CandidateAction("tennis"), CandidateAction("golf")]
    assert site.decide(context={"hour": 1}, actions=only, available=["tennis"]).action == "tennis"
    assert site.digest() == site.rebuilt_digest()


def test_a_paused_policy_answers_with_its_fallback_and_learns_nothing(site):
    site.create(fallback="sport")
    site.change(is_paused=True)
    answers = [site.decide() for _ in range(10)]
    assert {(answer.action, answer.probability) for answer in answers} == {("sport", 1.0)}
    site.reward(answers[0].event_id, 1.0)
    assert site.counts()["learned"] == 0
    site.change(is_paused=False)
    site.reward(site.decide().event_id, 1.0)
    assert site.counts()["learned"] == 1


def test_the_logs_time_stands_still_while_the_clock_goes_backwards(site):
    site.create()
    site.decide()
    number, time = site.engine.log.last()
    site.clock.forward(-100)
    site.decide()
    assert site.engine.log.last() == (number + 1, time)
    site.clock.forward(200)
    site.decide()
    assert site.engine.log.last()[1] == time + 100_000


def test_the_decisions_that_requests_name_are_looked_up_at_once(tmp_path):
    """Whatever is looked up, the answers are those of one look for each."""
    with open_site(tmp_path / "site") as site:
        site.create(wait_s=5.0)
        site.create("other", wait_s=5.0)
        for event in ("closed", "rewarded"):
            site.decide(event_id=event)
        site.decide("other", event_id="elsewhere")
        site.reward("rewarded", 1.0)
        site.clock.forward(10)
        site.decide()
        site.decide(event_id="open")
        read = []
        rows_of = site.engine.log.rows_of

        def counted(policy, event):
            read.append(event)
            return rows_of(policy, event)

        def work(journal):
            site.engine.log.rows_of = counted
            names = [("default", "closed"), ("default", "rewarded"), ("default", "elsewhere"), ("default", "open")]
            journal.look_up([*names, ("default", "new"), ("nobody", "closed")])
            found = {event: [row.event for row in journal.find("default", event)] for _, event in names}
            limits = site.engine.settings.limits
            decide(journal, limits, "default", DecideRequest(event_id="new"))
            again = decide(journal, limits, "default", DecideRequest(event_id="new"))
            late = reward(journal, limits, "default", RewardRequest(event_id="closed", value=1.0))
            twice = reward(journal, limits, "default", RewardRequest(event_id="rewarded", value=1.0))
            return found, again.repeated, late.status.value, twice.status.value

        found, is_repeated, late, twice = site.engine.call(work)
        assert {event: len(rows) for event, rows in found.items()} == {
            "closed": 2,
            "rewarded": 2,
            "elsewhere": 0,
            "open": 1,
        }
        assert (is_repeated, late, twice) == (True, "late", "duplicate")
        assert read == ["open"]
        site.engine.log.rows_of = rows_of
        assert len(site.engine.call(lambda journal: journal.find("default", "closed"))) == 3
