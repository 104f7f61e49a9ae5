"""Simulated events: batches of contexts and of every action's reward, from given data or from a stream."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows
from stumpery.options import listed, shown
from stumpery.policies.policy import Policy
from stumpery.types import Batch, Floats, Stream

BATCH_SIZE = 8192
Progress = Callable[[int], None]  # called with the number of events that were just played


def check_policy(name: str, value: Any) -> None:
    """Refuse what is no policy."""
    if not isinstance(value, Policy):
        raise InvalidInput(f"{name} is {shown(value)}; it must be a policy, such as stumpery.UCB(actions=['a', 'b'])")


def stream_events(policy: Policy, stream: Stream, seed: int) -> Iterator[Batch]:
    """A stream's batches, with the columns of rewards in the policy's order of actions."""
    if isinstance(stream, type) or not all(hasattr(stream, name) for name in ("actions", "reward_range", "batches")):
        raise InvalidInput(f"stream is a {type(stream).__name__}; it must have actions, a reward_range and batches")
    if set(stream.actions) != set(policy.actions):
        raise InvalidInput(f"the stream's actions are {list(stream.actions)}, the policy's {list(policy.actions)}")
    (policy_min, policy_max), (stream_min, stream_max) = policy.reward_range, stream.reward_range
    if stream_min < policy_min or stream_max > policy_max:
        raise InvalidInput(
            f"the stream's rewards go from {stream_min:g} to {stream_max:g}, "
            f"the policy's from {policy_min:g} to {policy_max:g}"
        )
    if tuple(stream.actions) == tuple(policy.actions):
        yield from stream.batches(seed=seed, size=BATCH_SIZE)
        return
    order = [list(stream.actions).index(action) for action in policy.actions]
    for contexts, rewards, expected in stream.batches(seed=seed, size=BATCH_SIZE):
        reordered = np.ascontiguousarray(rewards[:, order])
        yield Batch(contexts, reordered, None if expected is None else expected[:, order])


def first_events(batches: Iterator[Batch], n_events: int) -> Iterator[Batch]:
    """The first `n_events` of a stream; a ValueError says that it ended before."""
    n_left = n_events
    for batch in batches:
        if len(batch.rewards) == 0:
            continue
        yield batch if len(batch.rewards) <= n_left else _head(batch, n_left)
        n_left -= min(n_left, len(batch.rewards))
        if n_left == 0:
            return
    raise InvalidInput(f"the stream ended {n_left} events before the {n_events} steps were played")


def known_events(policy: Policy, contexts: Any, rewards: Any) -> tuple[Iterator[Batch], int]:
    """Given contexts and rewards as batches, repeated without end, and the number of rows."""
    if np.ma.is_masked(rewards):
        raise InvalidInput("some rewards are masked; leave out the rows whose rewards are not known")
    if isinstance(contexts, Sequence) and not isinstance(contexts, str | bytes):
        contexts = list(contexts)  # not every sequence can be sliced
    rewards = _in_order(policy, rewards)
    try:
        matrix = np.asarray(rewards)
    except ValueError:  # rows of different lengths
        matrix = np.empty(0)
    if matrix.ndim not in (1, 2) or len(matrix) == 0:
        raise InvalidInput(f"rewards have shape {matrix.shape}; a column of actions or a matrix of rewards is needed")
    if contexts is not None and n_rows(contexts, "contexts") != len(matrix):
        raise InvalidInput(
            f"there are {len(contexts)} contexts and {len(matrix)} rows of rewards: one of each is needed"
        )
    if matrix.ndim == 1:
        labels = rewards if isinstance(rewards, list | tuple) else matrix.tolist()  # an array holds one type only
        columns = np.array([policy.position(action) for action in labels])
        matrix = np.zeros((len(columns), len(policy.actions)))
        matrix[np.arange(len(columns)), columns] = 1.0
    return _repeated(contexts, np.ascontiguousarray(policy.checked_rewards(matrix))), len(matrix)


def _in_order(policy: Policy, rewards: Any) -> Any:
    """Rewards in the policy's order of actions, where they are a frame whose columns name the actions."""
    given: Any = getattr(rewards, "column_names", None) or getattr(rewards, "columns", ())  # pyarrow's, others'
    columns = list(map(str, given)) if hasattr(rewards, "shape") else []
    names = [str(action) for action in policy.actions]
    if not set(names) & set(columns):
        return rewards
    if set(names) != set(columns):
        raise InvalidInput(f"rewards has the columns {listed(columns)}; it must have {listed(names)}")
    return np.asarray(rewards)[:, [columns.index(name) for name in names]]


def _repeated(contexts: Any, rewards: Floats) -> Iterator[Batch]:
    while True:
        for start in range(0, len(rewards), BATCH_SIZE):
            rows = slice(start, start + BATCH_SIZE)
            yield Batch(None if contexts is None else contexts[rows], rewards[rows])


def _head(batch: Batch, n: int) -> Batch:
    contexts, rewards, expected = batch
    return Batch(None if contexts is None else contexts[:n], rewards[:n], None if expected is None else expected[:n])
