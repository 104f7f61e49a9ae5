"""Comparison of all contextual policies and the installed peers on datasets that are repeated: contexts come again.

A finite dataset that is repeated rewards a policy that remembers its rows; `contest.py` is the contest without.
"""

from collections.abc import Callable
from functools import partial
from math import isnan
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from stumpery.evaluation.events import BATCH_SIZE, Progress, first_events
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.policies import (
    UCB,
    BanditForest,
    Banditron,
    BanditStump,
    BanditTree,
    LinearPolicy,
    LinearThompson,
    LinUCB,
    NeuralBandit,
    RewardForest,
)
from stumpery.policies.records import ChosenActions
from stumpery.studies.contextual import datasets, peers
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult, estimate
from stumpery.system.extras import need
from stumpery.types import Floats, Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FIRST = 50  # events that compile a policy and measure its speed
MAX_SECONDS = 300.0  # per trial; slower players play fewer events
CHECKPOINTS = (10_000, 100_000, 1_000_000)
TOO_SLOW = "too slow"
CANDIDATE = "RewardForest"
TOLERANCE = 0.002  # difference in average reward that counts as equal
OURS = (
    RewardForest,
    LinUCB,
    LinearThompson,
    LinearPolicy,
    NeuralBandit,
    Banditron,
    BanditForest,
    BanditTree,
    BanditStump,
    UCB,
)


class Player(Protocol):
    """The interface of a compared policy."""

    @property
    def n_bytes(self) -> int:
        """The memory that it holds."""

    def play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        """Decide and learn row by row; the rewards of all actions are known."""


def players() -> dict[str, Callable[..., Player]]:
    """Ours by the names of their classes, and the peers that are installed."""
    return {**{kind.__name__: kind for kind in OURS}, **peers.installed()}


def streams() -> dict[str, datasets.ContestProblem]:
    """The streams whose dataset is on this machine."""
    return {title: problem for title, problem in datasets.CONTEST.items() if datasets.is_available(problem.dataset)}


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy on every stream, one after the other so that all have the whole machine."""
    checkpoint_events = checkpoints(settings.steps)
    rows = []
    for title, problem in streams().items():
        stream = problem.open()
        of_stream = []
        for name, maker in players().items():
            trials = []
            for trial in range(settings.trials):
                make = partial(play_trial, maker, stream, settings, trial, progress)
                trials.append(load_or_run(parts, f"{name} on {title}, trial {trial}", settings.steps, progress, make))
            of_stream.append(row(title, name, trials, checkpoint_events))
        rows += sorted(of_stream, key=lambda entry: -np.nan_to_num(entry[reward_at(checkpoint_events[-1])], nan=-1.0))
    return Outcome(
        result=TableResult(rows),
        table=[line(entry, checkpoint_events) for entry in rows],
        findings=(
            *verdicts(claims(rows, checkpoint_events), enough=settings.steps >= CHECKPOINTS[0]),
            *missing_participants(),
        ),
        draw=lambda: draw(rows, checkpoint_events[-1], settings.trials),
    )


def checkpoints(steps: int) -> list[int]:
    """The steps at which average rewards are reported: powers of ten, and the last step."""
    return sorted({checkpoint for checkpoint in CHECKPOINTS if checkpoint < steps} | {steps})


def reward_at(checkpoint: int) -> str:
    """The column of the average reward up to a step."""
    return f"reward_at_{checkpoint}"


def half_width_at(checkpoint: int) -> str:
    """The column of half of its 95 % interval over trials."""
    return f"plus_minus_at_{checkpoint}"


def play_trial(
    maker: Callable[..., Player], stream: Stream, settings: Settings, trial: int, progress: Progress
) -> dict[str, Any]:
    """One player's average rewards at the checkpoints that it reached, its events, its seconds and its bytes."""
    events_seed, policy_seed = trial_seeds(settings.seed, trial)
    first = next(first_events(stream.batches(seed=events_seed, size=BATCH_SIZE), N_FIRST))
    player, times = maker(actions=stream.actions, seed=policy_seed), []
    for _ in range(3):  # the first compiles; the others measure the speed
        start = perf_counter()
        player.play(first.contexts, first.rewards)
        times.append((perf_counter() - start) / N_FIRST)
    seconds_per_event = min(times[1:])
    steps = (
        settings.steps
        if seconds_per_event * settings.steps <= MAX_SECONDS
        else max(int(MAX_SECONDS / seconds_per_event), N_FIRST)
    )
    player = maker(actions=stream.actions, seed=policy_seed)
    seconds, rewards = 0.0, []
    for batch in first_events(stream.batches(seed=events_seed, size=BATCH_SIZE), steps):
        start = perf_counter()
        actions = player.play(batch.contexts, batch.rewards).actions
        seconds += perf_counter() - start
        rewards.append(batch.rewards[np.arange(len(actions)), actions])
        progress(len(actions))
    progress(settings.steps - steps)
    gains = np.cumsum(np.concatenate(rewards))
    averages = [
        float(gains[checkpoint - 1]) / checkpoint for checkpoint in checkpoints(settings.steps) if checkpoint <= steps
    ]
    return {"averages": averages, "events": steps, "seconds": seconds, "bytes": player.n_bytes}


def row(title: str, name: str, trials: list[dict[str, Any]], checkpoint_events: list[int]) -> dict[str, Any]:
    """A player's line for a stream: average rewards with half their 95 % intervals, speed and memory."""
    averages = np.full((len(trials), len(checkpoint_events)), np.nan)
    for line, entry in zip(averages, trials, strict=True):
        line[: len(entry["averages"])] = entry["averages"]
    mean, _, high = mean_and_interval(averages)
    result: dict[str, Any] = {"stream": title, "policy": name}
    for index, checkpoint in enumerate(checkpoint_events):
        result[reward_at(checkpoint)] = float(mean[index])
        result[half_width_at(checkpoint)] = float(high[index] - mean[index])
    result["events_per_s"] = float(np.median([entry["events"] / entry["seconds"] for entry in trials]))
    result["bytes"] = max(entry["bytes"] for entry in trials)
    return result


def line(row: dict[str, Any], checkpoint_events: list[int]) -> dict[str, Any]:
    """A row in few columns, to print."""
    shown: dict[str, Any] = {"dataset_and_policy": f"{row['stream']}: {row['policy']}"}
    for checkpoint in checkpoint_events:
        mean = row[reward_at(checkpoint)]
        shown[f"{checkpoint:,}"] = TOO_SLOW if isnan(mean) else estimate(mean, row[half_width_at(checkpoint)], ".4f")
    return {**shown, "events_per_s": row["events_per_s"], "kB": row["bytes"] / 1000}


def claims(rows: list[dict[str, Any]], checkpoint_events: list[int]) -> list[Finding]:
    """The claims that our forest is not behind any policy, at entry checkpoint."""
    findings = []
    for checkpoint in checkpoint_events:
        column = reward_at(checkpoint)
        behind = []
        for title in dict.fromkeys(entry["stream"] for entry in rows):
            scores = {
                entry["policy"]: entry[column]
                for entry in rows
                if entry["stream"] == title and not isnan(entry[column])
            }
            best = max(scores, key=lambda name: scores[name])
            if scores[best] > scores[CANDIDATE] + TOLERANCE:
                behind.append(f"{title} ({scores[CANDIDATE]:.4f}, {best} {scores[best]:.4f})")
        findings.append(
            finding(
                f"{CANDIDATE} is at most {TOLERANCE:g} behind any policy on any stream after {checkpoint:,} events",
                holds=not behind,
                evidence=f"behind on {'; '.join(behind)}" if behind else "behind on none",
            )
        )
    return findings


def missing_participants() -> list[Finding]:
    """Findings that name missing datasets and peers."""
    absent = {
        "streams": [title for title in datasets.CONTEST if title not in streams()],
        "peers": [name for name in peers.PEERS if name not in players()],
    }
    return [
        Finding("not testable", f"all {what} are in the contest", f"not on this machine: {', '.join(names)}")
        for what, names in absent.items()
        if names
    ]


def draw(rows: list[dict[str, Any]], checkpoint: int, trials: int) -> "Figure":
    """Plot the final average reward of every policy, a panel for entry stream."""
    titles = list(dict.fromkeys(entry["stream"] for entry in rows))
    names = list(players())
    n_columns = min(5, len(titles))
    n_rows = -(-len(titles) // n_columns)
    size = (2.2 + 2.6 * n_columns, 0.8 + (0.5 + 0.22 * len(names)) * n_rows)
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).flatten()
    for panel, title in zip(panels, titles, strict=False):
        for entry in (entry for entry in rows if entry["stream"] == title):
            reward, height = entry[reward_at(checkpoint)], names.index(entry["policy"])
            colour = "tab:orange" if entry["policy"] in peers.PEERS else "tab:blue"
            panel.errorbar(reward, height, xerr=entry[half_width_at(checkpoint)], fmt="o", markersize=5, color=colour)
            shown = TOO_SLOW if isnan(reward) else f"{reward:.4f}"
            panel.text(1.02, height, shown, transform=panel.get_yaxis_transform(), va="center", fontsize=7)
        best = np.nanmax([entry[reward_at(checkpoint)] for entry in rows if entry["stream"] == title])
        panel.axvline(best, color="0.8", zorder=0)
        panel.set_title(title, fontsize="medium")
        panel.set_yticks(range(len(names)), names)
        panel.grid(axis="y", color="0.93")
    for panel in panels[len(titles) :]:
        panel.remove()
    panels[0].invert_yaxis()
    figure.suptitle(f"Average reward after {checkpoint:,} events, {trials} trials: ours blue, peers orange, best grey")
    return figure


STUDY = Study(
    name="contest-repeated",
    title="Average reward of all contextual policies and the installed peers where contexts come again, by dataset",
    source="Stumpery's own",
    steps=100_000,
    trials=3,
    n_events=lambda settings: len(streams()) * len(players()) * settings.steps * settings.trials,
    run=run,
    is_timed=True,
)
