"""A subclass that overrides `decide` or `learn` is asked, not passed over by a compiled loop."""

import numpy as np
import pytest

import stumpery as st
from stumpery.streams import BernoulliArms
from stumpery.types import Decision

ROWS = [{"hour": hour % 24, "device": "phone" if hour % 3 else "tv"} for hour in range(60)]
REWARDS = np.random.default_rng(1).random((60, 2))


class Guarded(st.UCB):
    """A policy that never chooses its first action."""

    def decide(self, context=None, *, available=None):
        names = self.actions if available is None else available
        return super().decide(context, available=[name for name in names if name != self.actions[0]])


class Doubling(st.RewardForest):
    """A policy that counts what it learns."""

    n_learned = 0

    def learn(self, decision, reward):
        self.n_learned += 1
        super().learn(decision, reward)


class Stubborn(st.LinUCB):
    """A policy that says always the same."""

    def decide(self, context=None, *, available=None):
        return Decision("b", 0.5, context)


def test_play_asks_an_overridden_decide():
    result = st.play(Guarded(actions=["a", "b"]), rewards=REWARDS)
    assert set(result.actions) == {"b"}
    assert Guarded(actions=["a", "b"]).play(None, REWARDS).actions.tolist() == [1] * 60


def test_regret_asks_an_overridden_decide():
    policies = {"guarded": Guarded(actions=range(2)), "ucb": st.UCB(actions=range(2))}
    result = st.regret(policies, BernoulliArms(means=[0.9, 0.1]), steps=200, trials=2)
    assert result.regrets["guarded"][:, -1] == pytest.approx(160.0)
    assert (result.regrets["ucb"][:, -1] < 160.0).all()


def test_deciding_many_asks_an_overridden_decide():
    policy = Guarded(actions=["a", "b", "c"])
    assert "a" not in policy.decide_many(20).actions
    assert set(policy.decide_many(20, available=["a", "c"]).actions) == {"c"}
    decisions = Stubborn(actions=["a", "b"]).decide_many(ROWS)
    assert list(decisions) == [Decision("b", 0.5, row) for row in ROWS]


def test_an_overridden_learn_is_called_for_every_event():
    policy = Doubling(actions=["a", "b"], n_trees=3)
    st.play(policy, contexts=ROWS, rewards=REWARDS)
    assert policy.n_learned == 60
    policy.learn_many(policy.decide_many(ROWS), [1.0] * 60)
    assert policy.n_learned == 120


def test_the_plain_loop_equals_the_compiled_one():
    class Same(st.RewardForest):
        def decide(self, context=None, *, available=None):
            return super().decide(context, available=available)

    options = {"actions": ["a", "b"], "n_trees": 3, "seed": 2}
    played, expected = Same(**options).play(ROWS, REWARDS), st.RewardForest(**options).play(ROWS, REWARDS)
    assert played.actions.tolist() == expected.actions.tolist()
    assert played.probabilities.tolist() == expected.probabilities.tolist()


def test_columns_are_taken_from_all_first_rows_as_in_the_compiled_loop():
    class Same(st.LinUCB):
        def decide(self, context=None, *, available=None):
            return super().decide(context, available=available)

    played, expected = Same(actions=["a", "b"]), st.LinUCB(actions=["a", "b"])
    assert played.play(ROWS, REWARDS).actions.tolist() == expected.play(ROWS, REWARDS).actions.tolist()
    assert played.schema == expected.schema


def test_of_several_rewards_with_a_bad_one_none_reaches_an_overridden_learn():
    policy = Doubling(actions=["a", "b"], n_trees=3)
    decisions = policy.decide_many(ROWS[:2])
    with pytest.raises(ValueError, match=r"^a reward is 2\.0"):
        policy.learn_many(decisions, [1.0, 2.0])
    assert policy.n_learned == 0
