"""Decisions that are drawn again from the log: of processes that learn behind it, and through changes of a policy."""

import pytest
from tests.service.sites import FOREST, open_site
from tests.service.test_replicas import drive

from stumpery.service.engine import deciding
from stumpery.service.engine.administering import ActionRequest, PromoteRequest, add_action, promote, remove_action
from stumpery.service.engine.rewarding import RewardRequest, reward
from stumpery.service.upkeep.checking import check, recomputed

CONTEXT = {"hour": 1, "device": "desk", "age": None}


def again(site):
    return site.engine.call(lambda journal: recomputed(journal.log, site.engine.snapshots))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learn_at_once": False},
        {"control": 0.3, "baseline": "film", "floors": {"news": 0.1}},
        {"mode": "apprentice"},
        {"rewards": "sum", "exploration": 0.2},
    ],
    ids=["first", "at the end of the wait", "control", "apprentice", "sum"],
)
def test_all_decisions_of_two_processes_are_drawn_again(tmp_path, settings):
    with open_site(tmp_path / "site", name="a") as a, open_site(tmp_path / "site", a.clock, name="b") as b:
        a.create(**FOREST | {"wait_s": 20.0} | settings)
        for seed in range(4):
            drive([a, b][seed % 2], 30, seed)
        found = again(a)
    assert (found.n_equal, found.n_different, found.n_unknown) == (120, 0, 0)


def test_a_decision_that_was_made_before_a_reward_was_learned_is_drawn_again(tmp_path):
    with open_site(tmp_path / "site") as site:
        limits = site.engine.settings.limits
        site.create(**FOREST, wait_s=1000.0)
        drive(site, 60, seed=1)
        earlier = site.decide(context=CONTEXT).event_id

        def in_one_turn(journal):
            reward(journal, limits, "default", RewardRequest(event_id=earlier, value=1.0))
            journal.add("default", None, _changed(journal, exploration=0.5))
            return deciding.decide(journal, limits, "default", deciding.DecideRequest(context=CONTEXT))

        made = site.engine.call(in_one_turn)
        rewarded = site.engine.call(lambda journal: journal.log.rows_of("default", earlier))[-1].number
        assert made.version < rewarded
        found = again(site)
    assert (found.n_equal, found.n_different, found.n_unknown) == (62, 0, 0)


def _changed(journal, **changes):
    from stumpery.service.events import PolicyChanged
    from stumpery.service.settings import changed

    return PolicyChanged(changed(journal.replica.policy("default").settings, changes))


def test_changes_of_a_policy_are_followed(tmp_path):
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, wait_s=20.0)
        site.create("other", **FOREST, shadow_of="default", seed=3)
        drive(site, 40, seed=1)
        site.do(add_action, "default", ActionRequest("weather"))
        drive(site, 40, seed=2)
        site.change(exploration=0.3)
        drive(site, 20, seed=3)
        site.do(remove_action, "default", "news")
        drive(site, 20, seed=4)
        site.change(is_paused=True)
        drive(site, 5, seed=5)
        site.change(is_paused=False)
        site.do(promote, "default", PromoteRequest("other", force=True))
        drive(site, 30, seed=6)
        found = again(site)
    assert (found.n_equal, found.n_different, found.n_unknown) == (155, 0, 0)


def test_a_wrong_probability_is_found(tmp_path, monkeypatch):
    with open_site(tmp_path / "site") as site:
        site.create(**FOREST, wait_s=20.0)
        drive(site, 40, seed=1)
        number = site.engine.log.last()[0]
        monkeypatch.setattr(deciding, "explored", lambda own, share: [each * (1 - 1e-12) for each in own])
        site.decide(context=CONTEXT)
        monkeypatch.undo()
        drive(site, 5, seed=2)
        found = again(site)
    assert (found.n_equal, found.n_different) == (45, 1)
    assert found.first_different > number
    line = list(check(tmp_path / "site", decisions=True))[-1]
    assert line["found"] == f"1 of 46 decisions differ, the first at event {found.first_different}"
