"""Simulate: all rewards are known to us, only the chosen one is shown to the policy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.result import Result
from stumpery.frames import n_rows
from stumpery.options import check_whole, listed, shown
from stumpery.policies.policy import Policy
from stumpery.system.extras import need
from stumpery.types import Action, Batch, Floats, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATCH = 8192
Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False, repr=False)
class PlayResult(Result):
    """What a policy did and earned, step by step."""

    policy: str
    actions: Sequence[Action]
    probabilities: Floats
    rewards: Floats

    @property
    def n_steps(self) -> int:
        """How many decisions were played."""
        return len(self.rewards)

    @property
    def average_reward(self) -> float:
        """The mean reward of all steps."""
        return float(self.rewards.mean())

    def columns(self) -> dict[str, Any]:
        """A row a step."""
        return {
            "step": np.arange(1, self.n_steps + 1),
            "action": self.actions if len(set(map(type, self.actions))) == 1 else list(map(str, self.actions)),
            "probability": self.probabilities,
            "reward": self.rewards,
        }

    def summary(self) -> dict[str, Any]:
        """The policy and what it earned."""
        return {"policy": self.policy, "steps": self.n_steps, "average_reward": self.average_reward}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The average reward so far, against the step."""
        ax = ax or need("matplotlib.pyplot", "study").subplots()[1]
        steps = np.arange(1, self.n_steps + 1)
        ax.plot(steps, np.cumsum(self.rewards) / steps, label=self.policy)
        ax.set(xlabel="step", ylabel="average reward", xscale="log")
        ax.legend()
        return ax


def play(
    policy: Policy,
    *,
    contexts: Any = None,
    rewards: Any = None,
    stream: Stream | None = None,
    steps: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PlayResult:
    """Let `policy` decide and learn, step by step, over known rewards or over a stream.

    `rewards` is a column of right actions (reward 1 for the right one) or a matrix with a column for each action, in
    the policy's order; `contexts` has as many rows. A `stream` is given instead of both, with the number of `steps`.
    The policy goes on from where it is, and has learned afterwards, up to the error if a stream brings one.

    >>> from stumpery.policies import UCB
    >>> result = play(UCB(actions=["a", "b"]), rewards=["a", "b", "b", "b"] * 100)
    >>> result.n_steps, result.average_reward > 0.6
    (400, True)
    """
    check_policy("policy", policy)
    if (rewards is None) == (stream is None) or (stream is not None and contexts is not None):
        raise ValueError("play needs either rewards, with contexts or without, or a stream")
    if steps is not None:
        check_whole("steps", steps, 1)
    if stream is None:
        events, n_steps = _known(policy, contexts, rewards, steps)
    elif steps is None:
        raise ValueError("a stream may have no end: say how many steps to play")
    else:
        events, n_steps = stream_events(policy, stream, seed), int(steps)
    actions, probabilities, earned = [], [], []
    for batch in exactly(events, n_steps):
        played = policy.play(batch.contexts, batch.rewards)
        actions.append(played.actions)
        probabilities.append(played.probabilities)
        earned.append(np.take_along_axis(batch.rewards, played.actions[:, None], axis=1)[:, 0])
        if progress is not None:
            progress(len(batch.rewards))
    names = [policy.actions[index] for index in np.concatenate(actions).tolist()]
    return PlayResult(type(policy).__name__, names, np.concatenate(probabilities), np.concatenate(earned))


def check_policy(name: str, value: Any) -> None:
    """Refuse what is no policy."""
    if not isinstance(value, Policy):
        raise ValueError(f"{name} is {shown(value)}; it must be a policy, such as stumpery.UCB(actions=['a', 'b'])")


def stream_events(policy: Policy, stream: Stream, seed: int) -> Iterator[Batch]:
    """A stream's batches, with the columns of rewards in the policy's order."""
    if not hasattr(stream, "batches"):
        raise ValueError(f"stream is a {type(stream).__name__}; it must have actions, a reward_range and batches")
    if set(stream.actions) != set(policy.actions):
        raise ValueError(f"the stream's actions are {list(stream.actions)}, the policy's {list(policy.actions)}")
    (low, high), (least, most) = policy.reward_range, stream.reward_range
    if least < low or most > high:
        raise ValueError(f"the stream's rewards go from {least:g} to {most:g}, the policy's from {low:g} to {high:g}")
    if tuple(stream.actions) == tuple(policy.actions):
        yield from stream.batches(seed=seed, size=BATCH)
        return
    order = [list(stream.actions).index(action) for action in policy.actions]
    for contexts, rewards, expected in stream.batches(seed=seed, size=BATCH):
        in_order = np.ascontiguousarray(rewards[:, order])
        yield Batch(contexts, in_order, None if expected is None else expected[:, order])


def exactly(events: Iterator[Batch], n_steps: int) -> Iterator[Batch]:
    """The first `n_steps` events of a stream of batches."""
    left = n_steps
    for batch in events:
        if len(batch.rewards) == 0:
            continue
        yield batch if len(batch.rewards) <= left else _head(batch, left)
        left -= min(left, len(batch.rewards))
        if left == 0:
            return
    raise ValueError(f"the stream ended {left} events before the {n_steps} steps were played")


def _head(batch: Batch, n: int) -> Batch:
    contexts, rewards, expected = batch
    return Batch(None if contexts is None else contexts[:n], rewards[:n], None if expected is None else expected[:n])


def _known(policy: Policy, contexts: Any, rewards: Any, steps: int | None) -> tuple[Iterator[Batch], int]:
    if np.ma.is_masked(rewards):
        raise ValueError("some rewards are masked; leave out the rows whose rewards are not known")
    if isinstance(contexts, Sequence) and not isinstance(contexts, str | bytes):
        contexts = list(contexts)  # not every sequence can be sliced
    rewards = _in_order(policy, rewards)
    try:
        table = np.asarray(rewards)
    except ValueError:  # rows of different lengths
        table = np.empty(0)
    if table.ndim not in (1, 2) or len(table) == 0:
        raise ValueError(f"rewards have shape {table.shape}; a column of actions or a matrix of rewards is needed")
    if contexts is not None and n_rows(contexts, "contexts") != len(table):
        raise ValueError(f"there are {len(contexts)} contexts and {len(table)} rows of rewards: one of each is needed")
    if table.ndim == 1:
        labels = rewards if isinstance(rewards, list | tuple) else table.tolist()  # an array holds one type only
        right = np.array([policy.position(action) for action in labels])
        table = np.zeros((len(right), len(policy.actions)))
        table[np.arange(len(right)), right] = 1.0
    n_steps = len(table) if steps is None else int(steps)
    return _in_a_loop(contexts, np.ascontiguousarray(policy.checked_rewards(table))), n_steps


def _in_order(policy: Policy, rewards: Any) -> Any:
    """Rewards in the policy's order of actions, where they are a frame whose columns name the actions."""
    given: Any = getattr(rewards, "column_names", None) or getattr(rewards, "columns", ())  # pyarrow's, others'
    columns = list(map(str, given)) if hasattr(rewards, "shape") else []
    names = [str(action) for action in policy.actions]
    if not set(names) & set(columns):
        return rewards
    if set(names) != set(columns):
        raise ValueError(f"rewards has the columns {listed(columns)}; it must have {listed(names)}")
    return np.asarray(rewards)[:, [columns.index(name) for name in names]]


def _in_a_loop(contexts: Any, rewards: Floats) -> Iterator[Batch]:
    while True:
        for start in range(0, len(rewards), BATCH):
            rows = slice(start, start + BATCH)
            yield Batch(None if contexts is None else contexts[rows], rewards[rows])
