"""Playing over known rewards and over streams."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import stumpery as st
from stumpery.evaluation.events import BATCH_SIZE
from stumpery.policies import Policy
from stumpery.streams import BernoulliArms, ClassificationBandit, GaussianArms
from stumpery.types import Batch, Explanation

LABELS = ["a", "b", "b", "c"] * 25
FRAMES = {
    "list of dicts": lambda values: [{"x": value} for value in values],
    "array": lambda values: np.array(values)[:, None],
    "polars": lambda values: pl.DataFrame({"x": values}),
    "pandas": lambda values: pd.DataFrame({"x": values}),
    "pandas with an index of its own": lambda values: pd.DataFrame({"x": values}, index=np.array(values) * -1.5),
    "pyarrow": lambda values: pa.table({"x": values}),
}


@dataclass(kw_only=True, eq=False)
class InOrder(Policy):
    """A policy without compiled loops: each action in turn, whatever it pays; it remembers the contexts."""

    seen: list[Any] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self):
        super().__post_init__()
        self._next = np.zeros(1, dtype=np.int64)

    def explain(self, decision=None):
        return Explanation("In order.", tuple({"action": action} for action in self.actions))

    def _decide(self, context, available):
        index = int(self._next[0])
        self._next[0] = (index + 1) % len(self.actions)
        return index, 1.0

    def _learn(self, context, action, reward, probability):
        self.seen.append((context, self.actions[action], reward))

    def _arrays(self):
        return {"rng": self._rng, "next": self._next}

    def _grow(self, n):
        pass

    def _shrink(self, keep):
        pass


def number_in(context):
    return context["x"] if isinstance(context, dict) else context[0]


def test_labels_pay_1_for_the_right_action():
    result = st.play(InOrder(actions=["a", "b", "c"]), rewards=LABELS)
    assert result.actions == (["a", "b", "c"] * 34)[:100]
    assert result.rewards.tolist() == [
        float(label == action) for label, action in zip(LABELS, result.actions, strict=True)
    ]
    assert result.probabilities.tolist() == [1.0] * 100
    assert result.n_steps == 100
    assert result.average_reward == pytest.approx(result.rewards.sum() / 100)


@pytest.mark.parametrize(
    "form", [list, tuple, np.array, pl.Series, pd.Series, lambda labels: pa.chunked_array([labels])]
)
def test_labels_come_in_any_container(form):
    expected = st.play(st.UCB(actions=["a", "b", "c"]), rewards=LABELS)
    actual = st.play(st.UCB(actions=["a", "b", "c"]), rewards=form(LABELS))
    assert actual.actions == expected.actions
    assert actual.rewards.tolist() == expected.rewards.tolist()


def test_labels_may_be_of_several_types():
    result = st.play(InOrder(actions=["a", 1, 2.5, True][:3]), rewards=["a", 1, 2.5] * 3)
    assert result.average_reward == 1.0


@pytest.mark.parametrize("form", [np.array, list, pl.DataFrame, lambda table: pd.DataFrame(np.array(table))])
def test_a_matrix_has_a_column_for_each_action(form):
    table = [[0.25, 0.5], [0.75, 1.0], [0.0, 0.125]]
    rewards = form(table) if form is not pl.DataFrame else pl.DataFrame(table, schema=["a", "b"], orient="row")
    result = st.play(InOrder(actions=["a", "b"]), rewards=rewards)
    assert result.rewards.tolist() == [0.25, 1.0, 0.0]


def test_rewards_keep_their_own_range():
    policy = InOrder(actions=["a", "b"], reward_range=(-5, 3))
    result = st.play(policy, rewards=[[-5.0, 0.0], [0.0, 3.0]])
    assert result.rewards.tolist() == [-5.0, 3.0]
    assert [reward for *_, reward in policy.seen] == [0.0, 1.0]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("n", [7, BATCH_SIZE + 3])
def test_contexts_come_row_by_row(make, n):
    policy = InOrder(actions=["a", "b"])
    result = st.play(policy, contexts=make(list(range(n))), rewards=np.ones((n, 2)), steps=n + 4)
    assert [number_in(context) for context, *_ in policy.seen] == [*range(n), *range(4)]
    assert result.n_steps == n + 4


@pytest.mark.parametrize("steps", [1, 99, 100, 101, 2 * BATCH_SIZE + 1])
def test_steps_loop_over_the_data(steps):
    result = st.play(InOrder(actions=["a", "b", "c"]), rewards=LABELS, steps=steps)
    expected = [float("abc"[step % 3] == LABELS[step % 100]) for step in range(steps)]
    assert result.rewards.tolist() == expected


def test_a_stream_gives_its_events_in_order():
    stream = BernoulliArms(means=[0.3, 0.6])
    result = st.play(InOrder(actions=[0, 1]), stream=stream, steps=BATCH_SIZE + 50, seed=4)
    batches = stream.batches(seed=4, size=BATCH_SIZE)
    rewards = np.concatenate([next(batches).rewards, next(batches).rewards])[: BATCH_SIZE + 50]
    assert result.rewards.tolist() == rewards[np.arange(len(rewards)), np.arange(len(rewards)) % 2].tolist()


def test_a_policy_may_name_the_streams_actions_in_another_order():
    stream = BernoulliArms(means=[0.0, 1.0, 0.0])
    result = st.play(InOrder(actions=[1, 2, 0]), stream=stream, steps=300)
    assert result.actions[:3] == [1, 2, 0]
    assert result.rewards.tolist() == [1.0, 0.0, 0.0] * 100


def test_a_streams_contexts_reach_the_policy():
    contexts = pl.DataFrame({"x": [0, 1, 2]})
    stream = ClassificationBandit(contexts=contexts, labels=["a", "b", "a"], shuffle=False)
    policy = InOrder(actions=["a", "b"])
    st.play(policy, stream=stream, steps=5)
    assert [number_in(context) for context, *_ in policy.seen] == [0, 1, 2, 0, 1]


def test_a_stream_that_ends_early_is_an_error_in_one_sentence():
    stream = ClassificationBandit(contexts=None, labels=["a", "b", "a"], loop=False)
    with pytest.raises(ValueError, match=r"^the stream ended 7 events before the 10 steps were played$"):
        st.play(InOrder(actions=["a", "b"]), stream=stream, steps=10)


class Slow(st.UCB):
    """UCB with the plain Python loop."""

    _play = Policy._play


def test_a_policy_without_a_compiled_loop_has_the_same_result():
    fast, slow = (
        st.play(kind(actions=range(3), seed=2), stream=BernoulliArms(n_actions=3), steps=500) for kind in (st.UCB, Slow)
    )
    assert fast.actions == slow.actions
    assert fast.probabilities.tobytes() == slow.probabilities.tobytes()
    assert fast.rewards.tobytes() == slow.rewards.tobytes()


def test_a_policy_goes_on_from_where_it_is():
    rewards = next(BernoulliArms(n_actions=3).batches(seed=1, size=600)).rewards
    whole, parts = st.EpsilonGreedy(actions=range(3)), st.EpsilonGreedy(actions=range(3))
    expected = st.play(whole, rewards=rewards)
    halves = [st.play(parts, rewards=part) for part in (rewards[:200], rewards[200:])]
    assert halves[0].actions + halves[1].actions == expected.actions


def test_progress_counts_every_step_once():
    steps = []
    st.play(InOrder(actions=["a", "b", "c"]), rewards=LABELS, steps=250, progress=steps.append)
    assert sum(steps) == 250


class Unbounded:
    """A stream that pays more than it says, in its second batch."""

    actions = (0, 1)
    reward_range = (0.0, 1.0)

    def batches(self, *, seed, size):
        yield Batch(None, np.zeros((size, 2)))
        yield Batch(None, np.full((size, 2), 2.0))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "play needs either rewards, .*"),
        ({"rewards": [0], "stream": BernoulliArms(n_actions=2), "steps": 1}, "play needs either rewards, .*"),
        ({"contexts": [1], "stream": BernoulliArms(n_actions=2), "steps": 1}, "play needs either rewards, .*"),
        ({"stream": BernoulliArms(n_actions=2)}, "a stream may have no end: say how many steps to play"),
        ({"stream": 3, "steps": 5}, "stream is a int; it must have .*"),
        ({"stream": BernoulliArms, "steps": 5}, "stream is a type; it must have .*"),
        ({"rewards": [0, 1], "progress": 3}, "progress is 3; it must be a function or None"),
        ({"stream": BernoulliArms(n_actions=3), "steps": 5}, r"the stream's actions are \[0, 1, 2\], the policy's .*"),
        ({"stream": GaussianArms(n_actions=2), "steps": 5}, "the stream's rewards go from -5 to 5, the policy's .*"),
        ({"stream": BernoulliArms(n_actions=2), "steps": 5, "seed": -1}, "seed is -1; .*"),
        ({"stream": Unbounded(), "steps": 2 * BATCH_SIZE}, "a reward is 2.0; it must be a number from 0 to 1"),
        ({"rewards": [0, 1], "steps": 0}, "steps is 0; it must be a whole number of 1 or more"),
        ({"rewards": [0, 1], "steps": 2.5}, "steps is 2.5; it must be a whole number of 1 or more"),
        ({"rewards": []}, r"rewards have shape \(0,\); .*"),
        ({"rewards": 1.0}, r"rewards have shape \(\); .*"),
        ({"rewards": [[0.0, 1.0], [1.0]]}, "rewards have shape .*"),
        ({"rewards": [0, 2]}, "action is 2; it must be one of 0, 1"),
        ({"rewards": [[0.0, 1.5]]}, "a reward is 1.5; it must be a number from 0 to 1"),
        ({"rewards": [[0.0, 1.0, 0.0]]}, r"rewards have shape \(1, 3\); a column for each of 2 actions is needed"),
        ({"rewards": [0, 1], "contexts": [1]}, "there are 1 contexts and 2 rows of rewards: one of each is needed"),
        ({"rewards": [0, 1], "contexts": 5}, "contexts is 5; it must be a list, an array or a frame of rows"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(options, sentence):
    policy = st.UCB(actions=[0, 1])
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        st.play(policy, **options)
    if not isinstance(options.get("stream"), Unbounded):
        assert sum(row["n"] for row in policy.explain().rows) == 0


def test_only_a_policy_can_play():
    with pytest.raises(ValueError, match=r"^policy is 'UCB'; it must be a policy, such as stumpery\.UCB"):
        st.play("UCB", rewards=[0, 1])


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_frame_of_rewards_is_read_by_the_names_of_its_columns(frame):
    result = st.play(st.UCB(actions=["a", "b"]), rewards=frame({"b": [1.0] * 100, "a": [0.0] * 100}))
    assert result.actions.count("b") > 80
    with pytest.raises(ValueError, match="rewards has the columns 'b', 'c'; it must have 'a', 'b'"):
        st.play(st.UCB(actions=["a", "b"]), rewards=frame({"b": [1.0], "c": [0.0]}))


def test_masked_rewards_are_refused():
    rewards = np.ma.masked_array(np.ones((4, 2)), mask=np.eye(4, 2))
    with pytest.raises(ValueError, match=r"^some rewards are masked; "):
        st.play(st.UCB(actions=["a", "b"]), rewards=rewards)


def test_contexts_may_be_any_sequence():
    rows = deque({"x": place % 3} for place in range(20))
    result = st.play(st.RewardForest(actions=["a", "b"], n_trees=2), contexts=rows, rewards=["a"] * 20)
    assert result.n_steps == 20
