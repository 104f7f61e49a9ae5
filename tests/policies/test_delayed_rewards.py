"""Delayed rewards are learned after the same wait, whatever they are."""

import math
from threading import Thread

import numpy as np
import pytest

import stumpery as st
from stumpery.jit import INTERPRETED
from stumpery.policies.delayed_rewards import combined_reward


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def opened(wait=10.0, **options):
    """A policy, its delayed rewards, and their clock."""
    policy, clock = st.ThompsonSampling(actions=["a", "b"], seed=1), Clock()
    return policy, st.DelayedRewards(policy=policy, wait=wait, clock=clock, **options), clock


def learned(policy):
    """The number of rewards that were learned, and their sum."""
    rows = [row for row in policy.explain().rows if row["n"]]
    return sum(row["n"] for row in rows), pytest.approx(sum(row["n"] * row["mean"] for row in rows))


def test_rewards_and_silence_are_learned_when_the_wait_ends():
    policy, waiting, clock = opened()
    for event in range(3):
        clock.now = float(event)
        waiting.open(policy.decide(), event_id=event)
    assert waiting.reward(0, 1.0)
    clock.now = 9.5
    assert (waiting.learn_due(), len(waiting), learned(policy)) == (0, 3, (0, 0.0))
    clock.now = 11.0
    assert (waiting.learn_due(), len(waiting), learned(policy)) == (2, 1, (2, 1.0))
    clock.now = 12.0
    assert (waiting.learn_due(), waiting.learn_due(), len(waiting)) == (1, 0, 0)


def test_a_reward_after_the_wait_is_late_however_seldom_due_decisions_are_learned():
    policy, waiting, clock = opened()
    waiting.open(policy.decide(), event_id="e")
    clock.now = 10.0
    assert not waiting.reward("e", 1.0)
    assert not waiting.reward("unknown", 1.0)
    assert (waiting.learn_due(), learned(policy)) == (1, (1, 0.0))


@pytest.mark.parametrize(
    ("rule", "rewards", "expected"),
    [
        ("first", [0.25, 1.0], 0.25),
        ("last", [1.0, 0.5, 0.25], 0.25),
        ("sum", [0.25, 0.5], 0.75),
        ("sum", [1.0, 0.5], 1.0),
        ("max", [0.5, 0.75, 0.0], 0.75),
    ],
)
def test_several_rewards_are_combined(rule, rewards, expected):
    policy, waiting, clock = opened(rewards=rule)
    waiting.open(policy.decide(), event_id="e")
    assert all(waiting.reward("e", value) for value in rewards)
    clock.now = 10.0
    waiting.learn_due()
    assert learned(policy) == (1, expected)
    assert combined_reward(rule, rewards, (0.0, 1.0)) == expected


def test_a_sum_is_cut_only_in_the_end():
    policy, clock = st.UCB(actions=["a"], reward_range=(-1.0, 1.0)), Clock()
    waiting = st.DelayedRewards(policy=policy, wait=1.0, rewards="sum", clock=clock)
    waiting.open(policy.decide(), event_id="e")
    for value in (1.0, 1.0, -1.0, -0.5):
        waiting.reward("e", value)
    clock.now = 1.0
    waiting.learn_due()
    assert policy.explain().rows[0]["mean"] == pytest.approx(0.5)


def test_without_a_default_silence_is_not_learned():
    policy, waiting, clock = opened(default_reward=None)
    for event in range(2):
        waiting.open(policy.decide(), event_id=event)
    waiting.reward(1, 0.5)
    clock.now = 10.0
    assert (waiting.learn_due(), len(waiting), learned(policy)) == (1, 0, (1, 0.5))


def test_the_oldest_are_dropped_where_too_many_are_open(caplog):
    policy, waiting, clock = opened(max_open=2)
    for event in range(5):
        waiting.open(policy.decide(), event_id=event)
    assert (len(waiting), waiting.n_dropped) == (2, 3)
    assert [waiting.reward(event, 1.0) for event in range(5)] == [False, False, False, True, True]
    assert [record.message for record in caplog.records] == [
        "2 decisions are open; the oldest are dropped without being learned"
    ]
    clock.now = 10.0
    assert (waiting.learn_due(), learned(policy)) == (2, (2, 2.0))


def test_a_decision_of_a_removed_action_is_left_out_and_counted(caplog):
    policy, waiting, clock = opened()
    decisions = [policy.decide(available=[name]) for name in "ab"]
    for decision in decisions:
        waiting.open(decision, event_id=decision.action)
    policy.remove_action("a")
    clock.now = 10.0
    assert (waiting.learn_due(), waiting.n_refused, len(waiting)) == (1, 1, 0)
    assert "the decision 'a' is not learned" in caplog.text


def test_time_stands_still_where_the_clock_goes_backwards_or_fails():
    policy, waiting, clock = opened()
    clock.now = 100.0
    waiting.open(policy.decide(), event_id=1)
    for now in (50.0, math.nan, math.inf):
        clock.now = now
        waiting.open(policy.decide(), event_id=now)
    clock.now = 110.0
    assert waiting.learn_due() == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "UCB"}, "policy is 'UCB'; it must be a policy"),
        ({"wait": -1.0}, "wait is -1.0"),
        ({"wait": math.nan}, "wait is nan"),
        ({"default_reward": 2.0}, "default_reward is 2.0"),
        ({"rewards": "mean"}, "rewards is 'mean'"),
        ({"max_open": 0}, "max_open is 0"),
        ({"clock": 3.0}, "clock is 3.0"),
        ({"clock": None}, "clock is None; it must be a function that gives the time"),
    ],
)
def test_invalid_options_are_refused(change, said):
    options = {"policy": st.UCB(actions=["a", "b"]), "wait": 1.0} | change
    with pytest.raises(st.InvalidInput, match=said):
        st.DelayedRewards(**options)


def test_invalid_decisions_and_rewards_are_refused_and_change_nothing():
    policy, waiting, _ = opened()
    decision = policy.decide()
    waiting.open(decision, event_id="e")
    with pytest.raises(st.InvalidInput, match="event_id is 'e', which is open already"):
        waiting.open(decision, event_id="e")
    with pytest.raises(st.InvalidInput, match="it must be a Decision"):
        waiting.open(policy.decide(k=2), event_id="f")
    for reward in (2.0, math.nan, None, "1"):
        with pytest.raises(st.InvalidInput, match="it must be a number from 0 to 1"):
            waiting.reward("e", reward)
    assert (len(waiting), waiting.n_dropped, learned(policy)) == (1, 0, (0, 0.0))


def test_ids_that_cannot_be_looked_up_and_clocks_without_a_time_change_nothing():
    policy, waiting, clock = opened(max_open=1)
    decision = policy.decide()
    waiting.open(decision, event_id="e")
    for event_id in (["f"], ("f", ["g"]), {}):
        for call in (lambda e=event_id: waiting.open(decision, event_id=e), lambda e=event_id: waiting.reward(e, 1.0)):
            with pytest.raises(st.InvalidInput, match="it must be a string, a number or another hashable value"):
                call()
    for now in ("noon", None):
        clock.now = now
        with pytest.raises(st.InvalidInput, match=r"clock gives .*; it must give the time as a number"):
            waiting.open(decision, event_id="f")
    clock.now = 1.0
    assert (len(waiting), waiting.n_dropped, waiting.reward("e", 1.0)) == (1, 0, True)


def test_threads_may_share_it():
    policy, waiting, clock = opened(max_open=10_000)
    decisions = [policy.decide() for _ in range(600)]

    def serve(first):
        for event in range(first, 600, 3):
            waiting.open(decisions[event], event_id=event)
            waiting.reward(event, 1.0)
            clock.now += 0.01
            waiting.learn_due()

    threads = [Thread(target=serve, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.now += 10.0
    waiting.learn_due()
    assert (len(waiting), learned(policy)) == (0, (600, 600.0))


@pytest.mark.skipif(INTERPRETED, reason="it takes many events")
def test_held_back_clicks_earn_more_than_clicks_learned_as_they_come():
    earned = {}
    for held in (True, False):
        rng, clock = np.random.default_rng(3), Clock()
        policy = st.RewardForest(actions=range(4), seed=1)
        waiting = st.DelayedRewards(policy=policy, wait=500.0, default_reward=0.0, clock=clock)
        rewards = []
        for event in range(4_000):
            clock.now = float(event)
            context = {"x": float(rng.random())}
            decision = policy.decide(context)
            clicks = float(rng.random() < (0.6 if decision.action == int(4 * context["x"]) else 0.2))
            rewards.append(clicks)
            if held or not clicks:
                waiting.open(decision, event_id=event)
            if clicks and held:
                waiting.reward(event, 1.0)
            elif clicks:
                policy.learn(decision, 1.0)
            waiting.learn_due()
        earned[held] = np.mean(rewards[-2_000:])
    assert earned[True] > earned[False] + 0.1
