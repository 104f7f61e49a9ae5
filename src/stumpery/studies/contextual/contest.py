"""One pass over public tables, no row twice: the reward forest against the best of its peers after the fact.

For each table and each number of events, the average reward of `RewardForest` is compared with that of the best peer,
which is known only afterwards. A difference of at most TIE is a tie. Half of the tables served to choose settings, the
other half did not (see `tables.py`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import BATCH_SIZE, Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.jobs.executor import Shared
from stumpery.policies import LinUCB, RewardForest
from stumpery.studies.contextual import peers, tables
from stumpery.studies.contextual.contest_repeated import CANDIDATE
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, counted, finding, run_parts
from stumpery.studies.table import TableResult, estimate
from stumpery.system.extras import need
from stumpery.types import Floats, Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_PASS_CHECKPOINTS = (200, 500, 1000, 2000, 5000, 10_000)
END = "end"
TIE = 0.01  # difference in average reward
LINUCB = "LinUCB"
WANTED = {500: 0.0, 1000: 0.01, 10_000: 0.03, END: 0.03}  # the least mean difference


def players() -> dict[str, Callable[..., Any]]:
    """Our forest, our LinUCB, and the peers that are installed."""
    return {CANDIDATE: RewardForest, LINUCB: LinUCB, **peers.installed(peers.ONE_PASS_PEERS)}


def here() -> dict[str, tables.PackagedTable]:
    """The tables whose package is installed."""
    found = {title: table for title, table in tables.TABLES.items() if table.is_here}
    if not found:
        raise FileNotFoundError(f"the tables of the contest are not on this machine: {tables.INSTALL}")
    return found


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy over every table."""
    rows = []
    for title, table in here().items():
        stream = table.open()
        shared = settings.where.put(stream)
        makes = {name: partial(play_trials, maker, shared, settings) for name, maker in players().items()}
        wanted = [Part(f"{name} over {title}", 1, partial(counted, 1, make)) for name, make in makes.items()]
        rows += lines_of(title, dict(zip(makes, run_parts(wanted, settings, parts, progress), strict=True)))
    return Outcome(
        result=TableResult(rows),
        table=[line for part, titles in halves().items() for line in summary(part, titles, rows)],
        findings=(*claims(rows), *missing()),
        draw=lambda: draw(rows),
    )


def play_trials(maker: Callable[..., Any], shared: Shared[Stream], settings: Settings) -> list[dict[str, float]]:
    """A player's average rewards up to each checkpoint that a table reaches, for each trial."""
    stream = shared.get()
    return [play_pass(maker, stream, settings.steps, *trial_seeds(settings.seed, t)) for t in range(settings.trials)]


def play_pass(
    maker: Callable[..., Any], stream: Stream, steps: int, events_seed: int, policy_seed: int
) -> dict[str, float]:
    """Average rewards up to each checkpoint of one pass, at most `steps` events long."""
    player, rewards = maker(actions=stream.actions, seed=policy_seed), np.zeros(0)
    for batch in stream.batches(seed=events_seed, size=min(BATCH_SIZE, steps)):
        actions = player.play(batch.contexts, batch.rewards).actions
        rewards = np.concatenate([rewards, batch.rewards[np.arange(len(actions)), actions]])
        if len(rewards) >= steps:
            break
    rewards = rewards[:steps]
    reached = {str(events): float(rewards[:events].mean()) for events in ONE_PASS_CHECKPOINTS if events <= len(rewards)}
    return {**reached, END: float(rewards.mean())}


def lines_of(title: str, averages: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """A table's line for each checkpoint: the forest's average reward, the best peer's, and the difference."""
    lines = []
    for checkpoint in averages[CANDIDATE][0]:
        means = {name: float(np.mean([trial[checkpoint] for trial in trials])) for name, trials in averages.items()}
        ours = means.pop(CANDIDATE)
        best = max(means, key=lambda name: means[name])
        lines.append(
            {
                "table": title,
                "events": checkpoint,
                "ours": ours,
                "best_peer": best,
                "peers_reward": means[best],
                "difference": ours - means[best],
                "over_linucb": ours - means[LINUCB],
            }
        )
    return lines


def halves() -> dict[str, Sequence[str]]:
    """The tables on which settings may be chosen, those on which they are checked, and all."""
    return {"choosing": tables.CHOOSING, "checking": tables.CHECKING, "all": tuple(tables.TABLES)}


def differences(rows: list[dict[str, Any]], titles: Sequence[str], checkpoint: int | str) -> Floats:
    """The differences from the best peer at a checkpoint, of those tables that reach it."""
    return np.array([row["difference"] for row in rows if row["table"] in titles and row["events"] == str(checkpoint)])


def summary(part: str, titles: Sequence[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wins, ties and losses at each checkpoint, and the mean difference with its 95 % interval over tables."""
    lines = []
    for checkpoint in (*ONE_PASS_CHECKPOINTS, END):
        found = differences(rows, titles, checkpoint)
        if len(found):
            wins, losses = int((found > TIE).sum()), int((found < -TIE).sum())
            mean, _, high = mean_and_interval(found[:, np.newaxis])
            lines.append(
                {
                    "tables_and_events": f"{part}, {checkpoint}",
                    "tables": len(found),
                    "wins": wins,
                    "ties": len(found) - wins - losses,
                    "losses": losses,
                    "mean_difference": estimate(float(mean[0]), float(high[0] - mean[0]), "+.4f"),
                    "worst": float(found.min()),
                }
            )
    return lines


def claims(rows: list[dict[str, Any]]) -> list[Finding]:
    """The claims that the forest loses no more often than it wins, and by how much it is ahead on average."""
    findings = []
    for checkpoint in (*ONE_PASS_CHECKPOINTS, END):
        found = differences(rows, tuple(tables.TABLES), checkpoint)
        if not len(found):
            continue
        wins, losses = int((found > TIE).sum()), int((found < -TIE).sum())
        least = WANTED.get(checkpoint, -1.0)
        findings.append(
            finding(
                f"after {checkpoint} events of one pass, {CANDIDATE} has at least as many wins as losses"
                + (f" and is ahead by {least:g} on average" if checkpoint in WANTED else ""),
                holds=wins >= losses and float(found.mean()) >= least,
                evidence=f"{wins} wins, {losses} losses, {found.mean():+.4f}",
            )
        )
    return findings


def missing() -> list[Finding]:
    """Findings that name missing tables and peers."""
    absent = {
        "tables": [title for title in tables.TABLES if title not in here()],
        "peers": [name for name in peers.ONE_PASS_PEERS if name not in players()],
    }
    return [
        Finding("not testable", f"all {what} are in the contest", f"not on this machine: {', '.join(names)}")
        for what, names in absent.items()
        if names
    ]


def draw(rows: list[dict[str, Any]]) -> "Figure":
    """Plot every table's difference from the best peer by the number of events."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(7.5, 4.5), layout="constrained")
    panel = figure.subplots()
    marks = [str(checkpoint) for checkpoint in (*ONE_PASS_CHECKPOINTS, END)]
    for place, mark in enumerate(marks):
        for titles, shift, colour in ((tables.CHOOSING, -0.12, "tab:grey"), (tables.CHECKING, 0.12, "tab:blue")):
            found = differences(rows, titles, mark)
            panel.plot(np.full(len(found), place + shift), found, "o", markersize=4, alpha=0.6, color=colour)
    panel.axhline(0.0, color="0.6")
    panel.set_xticks(range(len(marks)), marks)
    panel.set_xlabel("events (grey: tables to choose settings on, blue: tables to check them on)")
    panel.set_ylabel(f"average reward of {CANDIDATE} less the best peer's")
    return figure


STUDY = Study(
    name="contest",
    title="Average reward of the reward forest less the best peer's after the fact, over one pass of 40 tables",
    source="Stumpery's own",
    steps=tables.MAX_ROWS,
    trials=3,
    n_events=lambda settings: len(here()) * len(players()),
    run=run,
)
