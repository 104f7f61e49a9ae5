"""Accumulated reward and regret of policies over a stream, in many trials.

Regret is what a reference would have earned more. Where the stream knows the mean behind every reward, the reference is
the best mean and regret is exact; where it does not, it is the best reward of each event, unless the caller brings
another reference.
"""

from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.play import Progress, check_policy, exactly, stream_events
from stumpery.evaluation.result import Result
from stumpery.options import check_whole, listed, shown
from stumpery.policies.policy import Policy
from stumpery.system.extras import need
from stumpery.types import Batch, Floats, Integers, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Reference = Callable[[Batch], Floats]  # what it would have earned at each event of a batch
Trial = dict[str, Any]  # curves at the checkpoints, as plain lists
N_CHECKPOINTS = 80
N_FIRST = 50  # events to compile a policy with: enough to know the columns
# The 97.5 % quantiles of Student's distribution with 1 to 9 degrees of freedom.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True, eq=False, repr=False)
class RegretResult(Result):
    """Curves of several policies over the same trials; each array has a row per trial, a column per checkpoint."""

    checkpoints: Integers
    rewards: Mapping[str, Floats]
    regrets: Mapping[str, Floats]
    seconds: Mapping[str, Floats]  # a number per trial

    def columns(self) -> dict[str, Any]:
        """A row for each policy and checkpoint, with the mean and its 95 % interval over trials."""
        table: dict[str, list[Any]] = {"policy": [], "step": []}
        for name in self.regrets:
            table["policy"] += [name] * len(self.checkpoints)
            table["step"] += self.checkpoints.tolist()
        for what, curves in (("reward", self.rewards), ("regret", self.regrets)):
            for part, index in (("", 0), ("_low", 1), ("_high", 2)):
                column = np.concatenate([band(curves[name])[index] for name in curves])
                table[f"accumulated_{what}{part}"] = column.tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each policy, lowest regret first: what it earned and lost in the end, and how fast it ran."""
        steps = int(self.checkpoints[-1])
        table = []
        for name, curves in self.regrets.items():
            mean, _, high = (float(curve[-1]) for curve in band(curves))
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
        ax = ax or need("matplotlib.pyplot", "study").subplots()[1]
        scale = self.checkpoints if per_step else np.ones(len(self.checkpoints))
        for name, curves in (self.rewards if per_step else self.regrets).items():
            mean, low, high = (curve / scale for curve in band(curves))
            (line,) = ax.plot(self.checkpoints, mean, label=name)
            ax.fill_between(self.checkpoints, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set(xlabel="step", ylabel="average reward" if per_step else "cumulative regret", xscale="log")
        ax.legend()
        return ax


def regret(
    policies: Mapping[str, Policy],
    stream: Stream,
    *,
    steps: int,
    trials: int = 10,
    seed: int = 0,
    threads: int = 2,
    reference: Reference | None = None,
    progress: Progress | None = None,
    kept: MutableMapping[str, Trial] | None = None,
) -> RegretResult:
    """Play new copies of `policies` over the same `trials` of a stream, several at once in threads.

    The result depends on the seed, not on the number of threads. `kept` holds finished trials by name: those that are
    there are not played again, so that a run that was interrupted goes on.

    >>> from stumpery.policies import UCB, RandomPolicy
    >>> from stumpery.streams import BernoulliArms
    >>> policies = {"UCB": UCB(actions=range(10)), "random": RandomPolicy(actions=range(10))}
    >>> result = regret(policies, BernoulliArms(), steps=2000, trials=4)
    >>> [row["policy"] for row in result.final()]
    ['UCB', 'random']
    """
    given: Any = policies
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"policies is {shown(policies)}; it must be a dict from at least one name to its policy")
    if not all(isinstance(name, str) for name in policies):
        raise ValueError(f"policies has the names {listed(list(policies))}; they must be strings")
    for name, player in policies.items():
        check_policy(f"the policy {shown(name)}", player)
    for name, number in (("steps", steps), ("trials", trials), ("threads", threads)):
        check_whole(name, number, 1)
    check_whole("seed", seed, 0)
    kept = {} if kept is None else kept
    checkpoints = log_grid(steps)
    stop = Event()
    for policy in policies.values():  # compiled before the clock runs
        first = next(exactly(stream_events(policy, stream, seed), min(N_FIRST, steps)))
        policy.clone(seed=seed).play(first.contexts, first.rewards)

    def key(name: str, trial: int) -> str:  # whatever else it holds, a trial is found only by all that shaped it
        return f"{name}, trial {trial} of seed {seed}, {steps} steps: {policies[name]!r} on {stream!r}"

    def run(name: str, trial: int) -> None:
        if _fits(kept.get(key(name, trial)), len(checkpoints)):
            if progress is not None:
                progress(steps)
            return
        events_seed, policy_seed = trial_seeds(seed, trial)
        player = policies[name].clone(seed=policy_seed)
        events = exactly(stream_events(player, stream, events_seed), steps)
        found = _play_trial(player, events, checkpoints, reference or best_known, progress, stop)
        if found is not None:
            kept[key(name, trial)] = found

    with ThreadPoolExecutor(max_workers=threads) as pool:
        jobs = [pool.submit(run, name, trial) for trial in range(trials) for name in policies]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise

    def gathered(what: str) -> dict[str, Floats]:
        return {name: np.array([kept[key(name, trial)][what] for trial in range(trials)]) for name in policies}

    return RegretResult(checkpoints, gathered("reward"), gathered("regret"), gathered("seconds"))


def _fits(found: Any, n_checkpoints: int) -> bool:
    """Whether it is a trial of so many checkpoints."""
    if not isinstance(found, dict) or found.keys() != {"reward", "regret", "seconds"}:
        return False
    curves = found["reward"], found["regret"]
    return all(isinstance(curve, list) and len(curve) == n_checkpoints for curve in curves)


def best_known(batch: Batch) -> Floats:
    """What the best action of each event earns: its mean where that is known, else the best reward there was."""
    best: Floats = (batch.rewards if batch.expected is None else batch.expected).max(axis=1)
    return best


def log_grid(steps: int, n: int = N_CHECKPOINTS) -> Integers:
    """At most n steps from 1 to `steps`, evenly spread on a logarithmic axis."""
    return np.unique(np.rint(np.geomspace(1, steps, n)).astype(np.int64))


def trial_seeds(seed: int, trial: int) -> tuple[int, int]:
    """A seed for the events, the same for every policy, and one for the policy's own draws."""
    words = np.random.SeedSequence([seed, trial]).generate_state(2, np.uint64) >> np.uint64(1)
    return int(words[0]), int(words[1])


def band(curves: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean over trials and the ends of its 95 % interval; a single trial has no interval."""
    mean = curves.mean(axis=0)
    freedom = len(curves) - 1
    if freedom == 0:
        nothing = np.full_like(mean, np.nan)
        return mean, nothing, nothing
    quantile = _STUDENT[freedom - 1] if freedom < 10 else 1.96 + 2.372 / freedom + 2.823 / freedom**2
    reach = quantile * curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
    return mean, mean - reach, mean + reach


def _play_trial(
    player: Policy,
    events: Any,
    checkpoints: Integers,
    reference: Reference,
    progress: Progress | None,
    stop: Event,
) -> Trial | None:
    """Curves of one trial at the checkpoints; None if it was stopped before the end."""
    rewards, regrets = np.zeros(len(checkpoints)), np.zeros(len(checkpoints))
    reward_so_far = regret_so_far = seconds = 0.0
    n_played = 0
    for batch in events:
        if stop.is_set():
            return None
        start = perf_counter()
        actions = player.play(batch.contexts, batch.rewards).actions
        seconds += perf_counter() - start
        earned = np.take_along_axis(batch.rewards, actions[:, None], axis=1)[:, 0]
        worth = batch.rewards if batch.expected is None else batch.expected
        best = np.asarray(reference(batch), dtype=np.float64)
        if best.shape != earned.shape:
            raise ValueError(
                f"the reference gave shape {best.shape} for {len(earned)} events; one number each is needed"
            )
        lost = best - np.take_along_axis(worth, actions[:, None], axis=1)[:, 0]
        reward_curve, regret_curve = reward_so_far + np.cumsum(earned), regret_so_far + np.cumsum(lost)
        here = (checkpoints > n_played) & (checkpoints <= n_played + len(actions))
        rewards[here] = reward_curve[checkpoints[here] - n_played - 1]
        regrets[here] = regret_curve[checkpoints[here] - n_played - 1]
        reward_so_far, regret_so_far = float(reward_curve[-1]), float(regret_curve[-1])
        n_played += len(actions)
        if progress is not None:
            progress(len(actions))
    return {"reward": rewards.tolist(), "regret": regrets.tolist(), "seconds": seconds}
