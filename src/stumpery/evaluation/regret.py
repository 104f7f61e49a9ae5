"""Cumulative reward and regret of policies over a stream, in many trials.

Regret is what a reference would have earned more. Where the stream knows the mean behind every reward, the reference is
the best mean and regret is exact (pseudo-regret); where it does not, it is the best reward of each event, unless the
caller brings another reference.
"""

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.evaluation.events import Progress, check_policy, first_events, stream_events
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.result import Result, new_axes
from stumpery.jobs.executor import Advance, Executor, Shared, check_executor
from stumpery.jobs.threads import Threads
from stumpery.options import check_callable, check_whole, listed, shown
from stumpery.policies.policy import Policy
from stumpery.types import Batch, Floats, Integers, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Reference = Callable[[Batch], Floats]  # what the reference would have earned at each event of a batch
Trial = dict[str, Any]  # curves at the checkpoints, as plain lists
N_CHECKPOINTS = 80
N_WARM_UP = 50  # events to compile a policy's kernels with: enough to know the columns


@dataclass(frozen=True, eq=False, repr=False)
class RegretResult(Result):
    """Cumulative reward and regret curves of several policies over the same trials.

    Args:
        checkpoints: Steps at which the curves have a point, evenly spaced on a logarithmic axis.
        rewards: Cumulative reward by the policy's name: an array with a row per trial, a column per checkpoint.
        regrets: Cumulative regret, likewise.
        seconds: Run time of deciding and learning by the policy's name, a number per trial.

    >>> import numpy as np
    >>> curves = {"UCB": np.array([[1.0, 3.0], [2.0, 5.0]])}
    >>> RegretResult(np.array([1, 10]), curves, curves, {"UCB": np.array([0.1, 0.2])}).final()[0]["regret"]
    4.0
    """

    checkpoints: Integers
    rewards: Mapping[str, Floats]
    regrets: Mapping[str, Floats]
    seconds: Mapping[str, Floats]

    def columns(self) -> dict[str, Any]:
        """A row for each policy and checkpoint, with means and their 95 % intervals over trials."""
        table: dict[str, list[Any]] = {"policy": [], "step": []}
        for name in self.regrets:
            table["policy"] += [name] * len(self.checkpoints)
            table["step"] += self.checkpoints.tolist()
        for what, curves in (("reward", self.rewards), ("regret", self.regrets)):
            for suffix, index in (("", 0), ("_low", 1), ("_high", 2)):
                column = np.concatenate([mean_and_interval(curves[name])[index] for name in curves])
                table[f"cumulative_{what}{suffix}"] = column.tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each policy, lowest regret first: average reward, cumulative regret, its interval, and speed."""
        steps = int(self.checkpoints[-1])
        table = []
        for name, curves in self.regrets.items():
            mean, _, high = (float(curve[-1]) for curve in mean_and_interval(curves))
            table.append(
                {
                    "policy": name,
                    "average_reward": float(self.rewards[name][:, -1].mean()) / steps,
                    "regret": mean,
                    "plus_minus": high - mean,
                    "events_per_s": steps / float(np.median(self.seconds[name])),
                }
            )
        return sorted(table, key=lambda row: row["regret"])

    def plot(self, ax: "Axes | None" = None, *, per_step: bool = False) -> "Axes":
        """Plot cumulative regret, or average reward, by step, with a 95 % confidence band over trials."""
        ax = ax or new_axes()
        scale = self.checkpoints if per_step else np.ones(len(self.checkpoints))
        for name, curves in (self.rewards if per_step else self.regrets).items():
            mean, low, high = (curve / scale for curve in mean_and_interval(curves))
            (line,) = ax.plot(self.checkpoints, mean, label=name)
            ax.fill_between(self.checkpoints, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set(xlabel="step", ylabel="average reward" if per_step else "cumulative regret", xscale="log")
        ax.legend()
        return ax


class TrialTask(NamedTuple):
    """What a worker needs to play a trial."""

    policy: Policy
    stream: Shared[Stream]
    steps: int
    seed: int
    trial: int
    reference: Reference
    pid: int  # of the process whose kernels are compiled


def regret(  # noqa: PLR0913 - `threads` is short for an executor
    policies: Mapping[str, Policy],
    stream: Stream,
    *,
    steps: int,
    trials: int = 10,
    seed: int = 0,
    threads: int = 2,
    executor: Executor | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    kept: MutableMapping[str, Trial] | None = None,
) -> RegretResult:
    """Measure the regret of new copies of `policies` over the same trials of a stream, several trials at once.

    Args:
        policies: The policies by name; they themselves learn nothing.
        stream: Source of events with every action's reward.
        steps: Number of decisions in each trial.
        trials: Repetitions, each with its own seeds for the events and for the policies' draws.
        seed: Random seed; the result depends on it, not on where trials are played.
        threads: Trials played in parallel, in threads of this process.
        executor: Where trials are played instead, such as `stumpery.jobs.Processes(4)` or `stumpery.jobs.RayCluster()`.
        reference: What the best strategy earns at each event of a batch; the best action's mean, or reward, by default.
        progress: Called with the number of steps played.
        kept: Finished trials by name, which are not played again, so that an interrupted run can be resumed.

    >>> from stumpery.policies import UCB, RandomPolicy
    >>> from stumpery.streams import BernoulliArms
    >>> policies = {"UCB": UCB(actions=range(10)), "random": RandomPolicy(actions=range(10))}
    >>> result = regret(policies, BernoulliArms(), steps=2000, trials=4)
    >>> [row["policy"] for row in result.final()]
    ['UCB', 'random']
    """
    _check_policies(policies)
    for name, number in (("steps", steps), ("trials", trials), ("threads", threads)):
        check_whole(name, number, 1)
    check_whole("seed", seed, 0)
    check_callable("reference", reference)
    check_callable("progress", progress)
    if kept is not None and not isinstance(kept, MutableMapping):
        raise InvalidInput(f"kept is {shown(kept)}; it must be a dict or None")
    kept = {} if kept is None else kept
    executor = Threads(threads) if executor is None else executor
    check_executor(executor)
    checkpoints = log_grid(steps)
    for policy in policies.values():  # compiled before the clock runs
        _compile(policy, stream, seed, steps)

    def key(name: str, trial: int) -> str:  # all that decides a trial's curves
        return f"{name}, trial {trial} of seed {seed}, {steps} steps: {policies[name]!r} on {stream!r}"

    wanted = [(name, trial) for trial in range(trials) for name in policies]
    missing = [each for each in wanted if not _is_complete(kept.get(key(*each)), len(checkpoints))]
    if progress is not None:
        progress(steps * (len(wanted) - len(missing)))
    sent = executor.put(stream)
    best = reference or best_known
    tasks = (TrialTask(policies[name], sent, steps, seed, trial, best, os.getpid()) for name, trial in missing)
    for place, curves in executor.map(_play_trial, tasks, progress=progress):
        kept[key(*missing[place])] = curves

    def stacked(what: str) -> dict[str, Floats]:
        return {name: np.array([kept[key(name, trial)][what] for trial in range(trials)]) for name in policies}

    return RegretResult(checkpoints, stacked("reward"), stacked("regret"), stacked("seconds"))


def best_known(batch: Batch) -> Floats:
    """The reward of the best action of each event: its mean where that is known, else the largest reward."""
    best: Floats = (batch.rewards if batch.expected is None else batch.expected).max(axis=1)
    return best


def log_grid(steps: int, n: int = N_CHECKPOINTS) -> Integers:
    """At most n steps from 1 to `steps`, evenly spaced on a logarithmic axis."""
    return np.unique(np.rint(np.geomspace(1, steps, n)).astype(np.int64))


def trial_seeds(seed: int, trial: int) -> tuple[int, int]:
    """A seed for the events, the same for every policy, and one for the policy's own draws."""
    words = np.random.SeedSequence([seed, trial]).generate_state(2, np.uint64) >> np.uint64(1)
    return int(words[0]), int(words[1])


def _check_policies(policies: Any) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidInput(f"policies is {shown(policies)}; it must be a dict from at least one name to its policy")
    if not all(isinstance(name, str) for name in policies):
        raise InvalidInput(f"policies has the names {listed(list(policies))}; they must be strings")
    for name, policy in policies.items():
        check_policy(f"the policy {shown(name)}", policy)


def _is_complete(trial: Any, n_checkpoints: int) -> bool:
    """Whether it is a finished trial with that many checkpoints."""
    if not isinstance(trial, dict) or trial.keys() != {"reward", "regret", "seconds"}:
        return False
    curves = trial["reward"], trial["regret"]
    return all(isinstance(curve, list) and len(curve) == n_checkpoints for curve in curves)


def _checked_reference(given: Any, n: int) -> Floats:
    """What a reference earned at each of n events; an InvalidInput says what else came."""
    try:
        best = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"the reference gave {shown(given)}; one number for each event is needed") from None
    if best.shape != (n,):
        raise InvalidInput(f"the reference gave shape {best.shape} for {n} events; one number each is needed")
    return best


def _compile(policy: Policy, stream: Stream, seed: int, steps: int) -> None:
    """Compile a policy's kernels, or load them."""
    first = next(first_events(stream_events(policy, stream, seed), min(N_WARM_UP, steps)))
    policy.clone(seed=seed).play(first.contexts, first.rewards)


def _play_trial(task: TrialTask, advance: Advance) -> Trial:
    """The curves of one trial at the checkpoints."""
    stream, checkpoints = task.stream.get(), log_grid(task.steps)
    if os.getpid() != task.pid:
        _compile(task.policy, stream, task.seed, task.steps)
    events_seed, policy_seed = trial_seeds(task.seed, task.trial)
    policy = task.policy.clone(seed=policy_seed)
    rewards, regrets = np.zeros(len(checkpoints)), np.zeros(len(checkpoints))
    total_reward = total_regret = seconds = 0.0
    n_played = 0
    for batch in first_events(stream_events(policy, stream, events_seed), task.steps):
        start = perf_counter()
        actions = policy.play(batch.contexts, batch.rewards).actions
        seconds += perf_counter() - start
        earned = np.take_along_axis(batch.rewards, actions[:, None], axis=1)[:, 0]
        expected = batch.rewards if batch.expected is None else batch.expected
        best = _checked_reference(task.reference(batch), len(earned))
        lost = best - np.take_along_axis(expected, actions[:, None], axis=1)[:, 0]
        reward_curve, regret_curve = total_reward + np.cumsum(earned), total_regret + np.cumsum(lost)
        reached = (checkpoints > n_played) & (checkpoints <= n_played + len(actions))
        rewards[reached] = reward_curve[checkpoints[reached] - n_played - 1]
        regrets[reached] = regret_curve[checkpoints[reached] - n_played - 1]
        total_reward, total_regret = float(reward_curve[-1]), float(regret_curve[-1])
        n_played += len(actions)
        advance(len(actions))
    return {"reward": rewards.tolist(), "regret": regrets.tolist(), "seconds": seconds}
