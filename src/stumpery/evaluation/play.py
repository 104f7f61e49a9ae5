"""Simulation of one policy: all rewards are known to the simulator, only the chosen one is shown to the policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.evaluation.events import Progress, check_policy, first_events, known_events, stream_events
from stumpery.evaluation.result import Result, new_axes
from stumpery.options import check_callable, check_whole
from stumpery.policies.policy import Policy
from stumpery.types import Action, Floats, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class PlayResult(Result):
    """Actions, probabilities and rewards of one simulated policy, step by step.

    Args:
        policy: Name of the policy's class.
        actions: The action chosen at each step.
        probabilities: Probability with which each action was chosen, in (0, 1]; for off-policy estimators.
        rewards: The reward earned at each step, in the policy's own `reward_range`.

    >>> import stumpery as st
    >>> st.play(st.UCB(actions=["a", "b"]), rewards=["a"] * 400).actions[-1]
    'a'
    """

    policy: str
    actions: Sequence[Action]
    probabilities: Floats
    rewards: Floats

    @property
    def n_steps(self) -> int:
        """The number of decisions."""
        return len(self.rewards)

    @property
    def average_reward(self) -> float:
        """The mean reward over all steps."""
        return float(self.rewards.mean())

    def columns(self) -> dict[str, Any]:
        """A row per step."""
        return {
            "step": np.arange(1, self.n_steps + 1),
            "action": self.actions if len(set(map(type, self.actions))) == 1 else list(map(str, self.actions)),
            "probability": self.probabilities,
            "reward": self.rewards,
        }

    def summary(self) -> dict[str, Any]:
        """The policy, the number of steps and the average reward."""
        return {"policy": self.policy, "steps": self.n_steps, "average_reward": self.average_reward}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the average reward so far by step."""
        ax = ax or new_axes()
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
    """Simulate a policy: it decides and learns step by step, over known rewards or over a stream.

    The policy goes on from its present state, and has learned afterwards, up to the error if a stream brings one.

    Args:
        policy: The policy, which learns in place.
        contexts: Rows as a list of dicts, a frame or an array; None for policies without context.
        rewards: A column of right actions (reward 1 for the right one, 0 for others), or a matrix with a column per
            action, in the policy's order or with the actions as names of a frame's columns.
        stream: Source of events in place of `contexts` and `rewards`.
        steps: Number of decisions; all rows once by default. With more steps than rows they are repeated.
        seed: Random seed of the stream's events.
        progress: Called after each batch with the number of steps played.

    >>> from stumpery.policies import UCB
    >>> result = play(UCB(actions=["a", "b"]), rewards=["a", "b", "b", "b"] * 100)
    >>> result.n_steps, result.average_reward > 0.6
    (400, True)
    """
    check_policy("policy", policy)
    check_callable("progress", progress)
    if (rewards is None) == (stream is None) or (stream is not None and contexts is not None):
        raise InvalidInput("play needs either rewards, with contexts or without, or a stream")
    if steps is not None:
        check_whole("steps", steps, 1)
    if stream is None:
        events, n_known = known_events(policy, contexts, rewards)
        n_steps = n_known if steps is None else int(steps)
    elif steps is None:
        raise InvalidInput("a stream may have no end: say how many steps to play")
    else:
        events, n_steps = stream_events(policy, stream, seed), int(steps)
    actions, probabilities, earned = [], [], []
    for batch in first_events(events, n_steps):
        played = policy.play(batch.contexts, batch.rewards)
        actions.append(played.actions)
        probabilities.append(played.probabilities)
        earned.append(np.take_along_axis(batch.rewards, played.actions[:, None], axis=1)[:, 0])
        if progress is not None:
            progress(len(batch.rewards))
    names = [policy.actions[index] for index in np.concatenate(actions).tolist()]
    return PlayResult(type(policy).__name__, names, np.concatenate(probabilities), np.concatenate(earned))
