"""Modes: control group, apprentice, shadows, promotion and roll-back, floors and ceilings, fallbacks in time."""

import asyncio
import time

import numpy as np
import pytest
from tests.service.sites import FOREST, open_site
from tests.service.test_http import POLICY, Web
from tests.support import refused

from stumpery.service.engine.administering import (
    CloneRequest,
    PromoteRequest,
    RollBackRequest,
    clone,
    promote,
    roll_back,
)
from stumpery.service.engine.drawing import bounded
from stumpery.service.errors import RefusedRequest, RequestConflict, UnknownName
from stumpery.service.events import decoded
from stumpery.service.replica.estimates import RunningMean


@pytest.fixture
def site(tmp_path):
    with open_site(tmp_path / "site") as opened:
        yield opened


def made(site, answer):
    return decoded(site.engine.call(lambda journal: journal.find("default", answer.event_id))[0].content)


def estimates(site, policy="default"):
    return site.counts(policy)["estimates"]


def play(site, n, best="film", policy="default", seed=1):
    """Decide and reward: the best action pays mostly, the others seldom."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        answer = site.decide(policy, context={"hour": int(rng.integers(24))})
        chance = 0.8 if answer.action == best else 0.2
        site.reward(answer.event_id, float(rng.random() < chance), policy=policy)


def test_a_control_group_takes_the_baseline_and_probabilities_stay_true(site):
    site.create(control=0.25, baseline="sport")
    answers = [site.decide() for _ in range(2_000)]
    groups = [made(site, answer).group for answer in answers]
    assert groups.count("control") / 2_000 == pytest.approx(0.25, abs=0.03)
    assert {answer.action for answer, group in zip(answers, groups, strict=True) if group} == {"sport"}
    assert answers[0].ranking[0].probability == pytest.approx(0.25 + 0.75 / 3)
    drawn = [answer.action for answer in answers].count("sport") / 2_000
    assert drawn == pytest.approx(0.25 + 0.75 / 3, abs=0.035)


def test_the_lift_over_the_control_group_has_an_interval_that_holds_the_truth(site):
    site.create(control=0.3, baseline="news", kind="RandomPolicy", exploration=0.0)
    play(site, 1_500)
    found = estimates(site)
    low, high = found["lift"]["interval"]
    assert low <= 0.4 - 0.2 <= high
    assert low > 0.0
    assert found["served"]["n"] + found["control"]["n"] == 1_500


def test_confidence_sequences_hold_at_all_times():
    rng, misses = np.random.default_rng(5), 0
    for _ in range(200):
        running, missed = RunningMean(), False
        for value in (rng.random(600) < 0.3).tolist():
            running.add(float(value))
            interval = running.interval()
            missed |= interval is not None and not interval[0] <= 0.3 <= interval[1]
        misses += missed
    assert misses / 200 <= 0.05


def test_an_apprentice_takes_its_masters_action_and_learns_to_predict_it(site):
    site.create(**FOREST, mode="apprentice", exploration=0.0)
    rng = np.random.default_rng(2)
    for _ in range(400):
        hour = int(rng.integers(24))
        order = ["news", "sport"] if hour < 12 else ["sport", "news"]
        answer = site.decide(context={"hour": hour}, available=order)
        assert (answer.action, answer.probability) == (order[0], 1.0)
        site.reward(answer.event_id, 0.0)
    found = estimates(site)["agreement"]
    assert found["n"] == 400
    assert found["mean"] > 0.7
    site.change(mode="online")
    for hour, expected in ((3, "news"), (20, "sport")):
        answer = site.decide(context={"hour": hour}, available=["news", "sport"])
        assert max(answer.ranking, key=lambda each: each.probability).action == expected
    assert site.digest() == site.rebuilt_digest()


def test_a_shadow_learns_and_is_compared_without_deciding(site):
    site.create(kind="RandomPolicy")
    site.create("challenger", kind="UCB", shadow_of="default", exploration=0.1)
    play(site, 800)
    found = estimates(site)["shadows"]["challenger"]
    assert site.counts("challenger")["decisions"] == 0
    assert site.counts("challenger")["learned"] == 800
    assert found["interval"][0] > 0.0
    assert 0 < found["effective_sample_size"] <= found["n"]
    site.do(promote, "default", PromoteRequest("challenger"))
    assert site.counts()["settings"]["kind"] == "UCB"
    answers = [site.decide(context={"hour": 3}).action for _ in range(30)]
    assert answers.count("film") > 20
    assert site.digest() == site.rebuilt_digest()


def test_a_challenger_that_is_not_certainly_better_is_promoted_by_force_alone_and_taken_back(site):
    site.create()
    site.do(clone, "default", CloneRequest("challenger", shadow_of="default"))
    play(site, 50)
    model = site.engine.journal.replica.policies["default"].model
    with refused(naming="not certain that 'challenger' is better", error=RequestConflict):
        site.do(promote, "default", PromoteRequest("challenger"))
    for expected in (False, True):
        site.do(promote, "default", PromoteRequest("challenger", force=True))
        assert (site.engine.journal.replica.policies["default"].model is model) == expected
    assert site.digest() == site.rebuilt_digest()


def test_a_policy_is_rolled_back_to_an_earlier_event(site):
    site.create(**FOREST)
    play(site, 100, best="film")
    number = site.engine.log.last()[0]
    before = site.engine.call(lambda journal: journal.replica.policies["default"].model.snapshot().arrays)
    play(site, 100, best="news", seed=2)
    site.do(roll_back, "default", RollBackRequest(number))
    after = site.engine.call(lambda journal: journal.replica.policies["default"].model.snapshot().arrays)
    assert all(before[name].tobytes() == array.tobytes() for name, array in after.items())
    play(site, 30, seed=3)
    assert site.digest() == site.rebuilt_digest()
    site.engine.call(lambda journal: site.engine.snapshots.save(journal.replica))
    restored = site.engine.call(lambda journal: site.engine.snapshots.restore(journal.log).digest())
    assert restored == site.digest()


@pytest.mark.parametrize(
    ("settings", "naming"),
    [
        ({"shadow_of": "nobody"}, "no policy 'nobody'"),
        ({"baseline": "golf"}, "baseline is 'golf'"),
        ({"floors": {"news": 0.7, "film": 0.7}}, "floors sum to 1.4"),
        ({"floors": {"news": 0.7}, "ceilings": {"news": 0.1}}, "the floor of 'news' is 0.7"),
        ({"floors": {"nwes": 0.1}}, "floors names 'nwes', which is no action"),
        ({"ceilings": {"nwes": 0.1}}, "ceilings names 'nwes', which is no action"),
    ],
)
def test_settings_that_do_not_fit_are_refused(site, settings, naming):
    with refused(naming=naming):
        site.create(**settings)


def test_promotions_and_roll_backs_that_make_no_sense_are_refused(site):
    site.create()
    site.create("other", reward_range=(0.0, 2.0))
    with refused(naming="its own challenger", error=RefusedRequest):
        site.do(promote, "default", PromoteRequest("default"))
    with refused(naming="different ranges", error=RefusedRequest):
        site.do(promote, "default", PromoteRequest("other", force=True))
    with refused(naming="number is 99; it must be from 1 to 3", error=RefusedRequest):
        site.do(roll_back, "default", RollBackRequest(99))
    with refused(naming="there was no policy 'other' after event 1", error=UnknownName):
        site.do(roll_back, "other", RollBackRequest(1))


def test_floors_and_ceilings_hold_for_every_probability(site):
    site.create(floors={"news": 0.2}, ceilings={"film": 0.5})
    play(site, 300)
    shares = {each.action: each.probability for each in site.decide().ranking}
    assert shares["news"] >= 0.2 - 1e-12
    assert shares["film"] <= 0.5 + 1e-12
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_bounded_probabilities_sum_to_one_within_their_bounds(seed):
    rng = np.random.default_rng(seed)
    given = rng.dirichlet(np.full(5, 0.3)).tolist()
    floors = dict(zip("abcde", (0.15 * rng.random(5)).tolist(), strict=True))
    ceilings = dict(zip("abcde", (0.3 + 0.7 * rng.random(5)).tolist(), strict=True))
    found = bounded("abcde", given, floors, ceilings)
    assert sum(found) == pytest.approx(1.0)
    assert all(floors[a] - 1e-9 <= p <= ceilings[a] + 1e-9 for a, p in zip("abcde", found, strict=True))


def test_a_late_decision_is_answered_by_the_fallback_and_taken_back(tmp_path):
    with open_site(tmp_path / "site", answer_within_ms=150.0) as site:
        site.create(fallback="sport")
        web = Web(site)
        assert not web("POST", f"{POLICY}/decide", {"event_id": "quick"}).json().get("fallback")
        probabilities = site.engine.journal.replica.policies["default"].model.probabilities

        def slowly(*arguments, **options):
            time.sleep(0.3)
            return probabilities(*arguments, **options)

        site.engine.journal.replica.policies["default"].model.__dict__["probabilities"] = slowly

        async def late(client):
            answer = await client.post(f"{POLICY}/decide", content=b'{"event_id":"slow"}')
            await asyncio.sleep(0.6)
            return answer.json()

        found = web.run(late)
        assert (found["action"], found["fallback"]) == ("sport", True)
        del site.engine.journal.replica.policies["default"].model.__dict__["probabilities"]
        site.clock.forward(601)
        site.decide()
        assert site.counts()["default_rewards"] == 1
        assert site.reward("slow", 1.0) == "late"
