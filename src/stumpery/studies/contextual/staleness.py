"""What stale deciders cost the reward forest: they learn in batches, and decide in between with what they knew.

A decider is refreshed every `batch` events, as one that loads snapshots or reads a log now and then. With `SHARE` it is
refreshed earlier at the start: whenever a share of what it knows has come, at most every `batch` events.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.evaluation.events import Progress, first_events
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.jobs.executor import Shared
from stumpery.policies import RewardForest
from stumpery.streams import TreeProblem, find_dataset
from stumpery.studies.contextual import datasets
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, finding, run_parts, verdicts
from stumpery.studies.table import TableResult, estimate
from stumpery.system.extras import need
from stumpery.types import Decisions, Floats, Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERATORS = {
    "TreeProblem": TreeProblem(n_names=0),
    "TreeProblem, drifting": TreeProblem(n_names=0, drift="gradual", drift_every=10_000),
}
DATASETS = ("Covertype", "Poker", "electricity, in order")  # of the contest
BATCHES = (10, 100, 1_000, 10_000)  # events
SHARE = 0.05  # of what is known
EVERY, BY_SHARE = "every so many events", f"at {SHARE:.0%} of what is known"
MAX_LOSS = 0.01  # of the average reward, where deciders are 1,000 events behind at most
ENOUGH_EVENTS = 100_000
TELL_EVENTS = 1_000  # from one advance of the progress bar to the next


class Refresh(NamedTuple):
    """When a decider learns what has come."""

    batch: int  # events at most; 1 learns each at once
    rule: str


REFRESHES = (Refresh(1, EVERY), *(Refresh(batch, rule) for rule in (EVERY, BY_SHARE) for batch in BATCHES))


def lengths(steps: int) -> dict[str, int]:
    """The streams that are on this machine, and the events of each: no row of a dataset comes twice."""
    found = dict.fromkeys(GENERATORS, steps)
    for title in DATASETS:
        problem = datasets.CONTEST.get(title)
        if problem is not None and datasets.is_available(problem.dataset):
            found[title] = min(steps, find_dataset(problem.dataset).n_rows)
    return found


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play the reward forest on every stream with every refresh."""
    steps = lengths(settings.steps)
    opened: dict[str, Stream] = {t: GENERATORS[t] if t in GENERATORS else datasets.CONTEST[t].open() for t in steps}
    shared = {title: settings.where.put(stream) for title, stream in opened.items()}
    cells, wanted = list(product(steps, REFRESHES)), []
    for (title, refresh), trial in product(cells, range(settings.trials)):
        make = partial(play_stale, shared[title], refresh, steps[title], settings.seed, trial)
        name = f"{title}, {refresh.batch} {refresh.rule}, trial {trial}"
        wanted.append(Part(name, steps[title], make))
    trials, n = run_parts(wanted, settings, parts, progress), settings.trials
    rows = [row(title, refresh, trials[at * n : (at + 1) * n]) for at, (title, refresh) in enumerate(cells)]
    return Outcome(
        result=TableResult(rows),
        table=[line(refresh, rows) for refresh in REFRESHES],
        findings=verdicts(claims(rows), enough=settings.steps >= ENOUGH_EVENTS),
        draw=lambda: draw(rows),
    )


def play_stale(
    shared: Shared[Stream], refresh: Refresh, steps: int, seed: int, trial: int, progress: Progress
) -> dict[str, float]:
    """The average reward, and the last tenth's."""
    stream, (events_seed, policy_seed) = shared.get(), trial_seeds(seed, trial)
    policy = RewardForest(actions=stream.actions, seed=policy_seed)
    events = next(first_events(stream.batches(seed=events_seed, size=steps), steps))
    earned, index = np.zeros(steps), {action: place for place, action in enumerate(policy.actions)}
    start = told = 0
    while start < steps:
        size = refresh.batch if refresh.rule == EVERY else max(min(refresh.batch, int(SHARE * start)), 1)
        block = slice(start, min(start + size, steps))
        contexts, rewards = events.contexts[block], events.rewards[block]
        decided = policy.decide_many(contexts)
        chosen = [index[action] for action in decided.actions]
        earned[block] = rewards[np.arange(len(rewards)), chosen]
        policy.learn_many(Decisions(decided.actions, decided.probabilities, contexts), earned[block])
        start = block.stop
        if start - told >= TELL_EVENTS or start == steps:
            progress(start - told)
            told = start
    return {"average_reward": float(earned.mean()), "last_tenth": float(earned[-max(steps // 10, 1) :].mean())}


def row(title: str, refresh: Refresh, trials: Sequence[dict[str, float]]) -> dict[str, Any]:
    """A refresh's means over trials, with the half-widths of their 95 % intervals."""
    measured: Floats = np.array([[trial["average_reward"], trial["last_tenth"]] for trial in trials])
    mean, _, high = mean_and_interval(measured)
    found: dict[str, Any] = {"stream": title, "batch": refresh.batch, "refresh": refresh.rule}
    found |= {"average_reward": float(mean[0]), "average_plus_minus": float(high[0] - mean[0])}
    return found | {"last_tenth": float(mean[1]), "last_tenth_plus_minus": float(high[1] - mean[1])}


def line(refresh: Refresh, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A refresh's average rewards in one line."""
    at_once = "each event" if refresh.batch == 1 else f"{refresh.batch:,}"
    shown = {"events behind": at_once if refresh.rule == EVERY else f"{SHARE:.0%}, at most {at_once}"}
    of_refresh = [each for each in rows if (each["batch"], each["refresh"]) == refresh]
    return shown | {e["stream"]: estimate(e["average_reward"], e["average_plus_minus"], ".3f") for e in of_refresh}


def loss(title: str, refresh: Refresh, rows: Sequence[dict[str, Any]]) -> float:
    """How much less the average reward is than that of learning each event at once."""
    found = {(each["stream"], each["batch"], each["refresh"]): each["average_reward"] for each in rows}
    return float(found[title, *REFRESHES[0]] - found[title, *refresh])


def claims(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    """The claims on how much staleness costs."""
    titles = list(dict.fromkeys(each["stream"] for each in rows))
    still = [title for title in titles if "order" not in title and "drift" not in title]
    found = []
    for rule, batch in ((EVERY, 100), (BY_SHARE, 1_000), (BY_SHARE, 10_000)):
        losses = {title: loss(title, Refresh(batch, rule), rows) for title in still}
        found.append(
            finding(
                f"refreshed {rule}, at most {batch:,}: without drift at most {MAX_LOSS} is lost",
                holds=max(losses.values()) <= MAX_LOSS,
                evidence="; ".join(f"{title} {lost:.4f}" for title, lost in losses.items()),
            )
        )
    return found


def draw(rows: Sequence[dict[str, Any]]) -> "Figure":
    """A panel for each rule: the average reward of each stream by the size of a batch."""
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(
        1, 2, figsize=(10, 4), layout="constrained", sharey=True
    )
    for panel, rule in zip(panels, (EVERY, BY_SHARE), strict=True):
        for title in dict.fromkeys(each["stream"] for each in rows):
            known = [e for e in rows if e["stream"] == title and (e["refresh"] == rule or e["batch"] == 1)]
            batches, rewards = [e["batch"] for e in known], [e["average_reward"] for e in known]
            panel.plot(batches, rewards, marker="o", label=title)
        panel.set(xlabel="events between two refreshes, at most", xscale="log", title=f"refreshed {rule}")
    panels[0].set(ylabel="average reward")
    panels[0].legend()
    figure.suptitle("The reward forest decides with what it knew at the last refresh")
    return figure


STUDY = Study(
    name="staleness",
    title="Stale deciders: what the reward forest loses by the time between two refreshes",
    source="Stumpery's own",
    steps=100_000,
    trials=3,
    n_events=lambda settings: len(REFRESHES) * sum(lengths(settings.steps).values()) * settings.trials,
    run=run,
)
