"""Off-policy evaluation where the truth is known: bias and error of estimators, coverage of intervals.

The log is of a `TreeProblem` with a new tree in every repetition, logged by a uniform policy, by a frozen forest with
epsilon-greedy exploration, and by a forest that learns while it logs. The target policy is a forest that learned a few
events of its own. Normal intervals "at all times" are looked at as often as the confidence sequences.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation import off_policy
from stumpery.evaluation.events import Progress
from stumpery.evaluation.off_policy.estimates import NAMES
from stumpery.evaluation.regret import trial_seeds
from stumpery.logs import from_frame
from stumpery.policies import Policy, RandomPolicy, RewardForest, explorers
from stumpery.streams import TreeProblem
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Batch, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIFORM, EPSILON_GREEDY, LEARNING = "uniform", "epsilon-greedy", "learning"
REGIMES = (UNIFORM, EPSILON_GREEDY, LEARNING)
EPSILON, N_TRAINING, N_POPULATION = 0.2, 1000, 100_000
PROBLEM = TreeProblem(n_columns=6, n_names=0, depth=3, n_actions=4)
FIXED = (("IPS", "normal"), ("SNIPS", "normal"), ("DR", "normal"), ("SNDR", "normal"), ("DR", "bootstrap"))
OF_IPS = ("likelihood", "Clopper-Pearson")
AT_ALL_TIMES, NORMAL_AT_ALL_TIMES = "sequence, at all times", "normal of IPS, at all times"
MIN_TRIALS = 100  # to judge coverage; 200 repetitions: --trials 200
Row = dict[str, Any]


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Repeat every regime, at a tenth of the events and at all of them."""
    rows: list[Row] = []
    for n in (max(settings.steps // 10, 1), settings.steps):
        for regime in REGIMES:
            wanted = []
            for trial in range(settings.trials):
                make = partial(repetition, regime, n, *trial_seeds(settings.seed, trial))
                wanted.append(Part(f"{regime}, {n} events, trial {trial}", n, partial(counted, n, make)))
            rows += summarised(regime, n, run_parts(wanted, settings, parts, progress))
    return Outcome(
        result=TableResult(rows),
        table=[row for row in rows if row["events"] == settings.steps],
        draw=lambda: draw(rows),
        findings=verdicts(claims(rows, settings.steps), enough=settings.trials >= MIN_TRIALS),
    )


def repetition(regime: str, n: int, events_seed: int, policy_seed: int) -> Row:
    """The estimates and the intervals of one log, and the truth."""
    batches = next(PROBLEM.batches(seed=events_seed, size=N_TRAINING + N_POPULATION + n))
    training, population, logged = cut(batches, (N_TRAINING, N_POPULATION, n))
    target = trained(training, policy_seed, 0.1)
    expected = PROBLEM.expected(population.contexts, seed=events_seed)
    truth = float((target.probabilities_many(population.contexts) * expected).sum(axis=1).mean())
    logger = logging_policy(regime, training, policy_seed)
    if regime == LEARNING:
        actions, probabilities = logger.play(logged.contexts, logged.rewards)
    else:
        decided = logger.decide_many(logged.contexts)
        actions, probabilities = np.array([int(action) for action in decided.actions]), decided.probabilities
    rewards = logged.rewards[np.arange(n), actions]
    columns = {f"x{index}": logged.contexts[:, index] for index in range(logged.contexts.shape[1])}
    frame = {**columns, "action": actions.tolist(), "probability": probabilities, "reward": rewards}
    log = from_frame(frame, action="action", reward="reward", probability="probability", actions=list(PROBLEM.actions))
    least = float(1.0 / PROBLEM.n_actions if regime == UNIFORM else EPSILON / PROBLEM.n_actions)
    report = off_policy.evaluate(log, {"target": target}, least_probability=least)
    weights = target.probabilities_many(logged.contexts)[np.arange(n), actions] / probabilities
    looks = [events for events, _ in report.sequence("target")]
    holds = {f"{name}, {kind}": covers(report.interval("target", kind, name), truth) for name, kind in FIXED}
    holds |= {f"IPS, {kind}": covers(report.interval("target", kind), truth) for kind in OF_IPS}
    holds[AT_ALL_TIMES] = all(covers(interval, truth) for _, interval in report.sequence("target"))
    terms = weights * rewards
    holds[NORMAL_AT_ALL_TIMES] = all(covers(off_policy.normal_interval(terms[:look]), truth) for look in looks)
    widths = {f"{name}, {kind}": report.interval("target", kind, name).width for name, kind in FIXED}
    widths |= {f"IPS, {kind}": report.interval("target", kind).width for kind in OF_IPS}
    widths[AT_ALL_TIMES] = report.interval("target").width
    errors = {name: report.value("target", name) - truth for name in NAMES}
    return {"errors": errors, "holds": holds, "widths": widths}


def cut(batch: Batch, sizes: Sequence[int]) -> list[Batch]:
    """A batch as consecutive ones of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [Batch(batch.contexts[start:end], batch.rewards[start:end]) for start, end in pairwise(ends)]


def trained(batch: Batch, seed: int, epsilon: float) -> Policy:
    """A small forest that has learned these events."""
    forest = RewardForest(
        actions=PROBLEM.actions, seed=seed, n_trees=8, explorer=explorers.greedy(epsilon=epsilon, floor=epsilon)
    )
    forest.play(batch.contexts, batch.rewards)
    return forest


def logging_policy(regime: str, training: Batch, seed: int) -> Policy:
    """The policy that logs; none of them knows all that the target knows."""
    if regime == UNIFORM:
        return RandomPolicy(actions=PROBLEM.actions, seed=seed + 1)
    few = Batch(training.contexts[:300], training.rewards[:300])
    none = Batch(training.contexts[:1], training.rewards[:1])
    return trained(none if regime == LEARNING else few, seed + 1, EPSILON)


def covers(interval: off_policy.Interval, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return bool(interval.low <= truth <= interval.high)


def summarised(regime: str, n: int, trials: Sequence[Row]) -> list[Row]:
    """A row for each estimator, bias and root mean squared error, and for each interval, coverage and mean width."""
    rows = []
    shared = {"log": regime, "events": n}
    blank = {"bias": float("nan"), "rmse": float("nan"), "coverage": float("nan"), "width": float("nan")}
    for name in NAMES:
        errors: Floats = np.array([trial["errors"][name] for trial in trials])
        figures = {"bias": float(errors.mean()), "rmse": float(np.sqrt((errors**2).mean()))}
        rows.append({**shared, "what": name, **blank, **figures})
    for name in trials[0]["holds"]:
        coverage = float(np.mean([trial["holds"][name] for trial in trials]))
        width = float(np.mean([trial["widths"].get(name, float("nan")) for trial in trials]))
        rows.append({**shared, "what": name, **blank, "coverage": coverage, "width": width})
    return rows


def claims(rows: Sequence[Row], n: int) -> list[Finding]:
    """What the guide says of coverage and of error."""
    found = {(row["log"], row["what"]): row for row in rows if row["events"] == n}
    fixed = {
        (regime, name): found[regime, name]["coverage"]
        for regime in (UNIFORM, EPSILON_GREEDY)
        for name in ("DR, normal", "DR, bootstrap", "IPS, likelihood")
    }
    always = [found[regime, AT_ALL_TIMES]["coverage"] for regime in REGIMES]
    normal = [found[regime, NORMAL_AT_ALL_TIMES]["coverage"] for regime in REGIMES]
    errors = [(found[regime, "DR"]["rmse"], found[regime, "IPS"]["rmse"]) for regime in REGIMES]
    return [
        finding(
            "intervals at a fixed number of events cover 93 to 98 % where the logging policy stays",
            holds=all(0.93 <= each <= 0.98 for each in fixed.values()),
            evidence=", ".join(f"{regime} {name} {each:.3f}" for (regime, name), each in fixed.items()),
        ),
        finding(
            "confidence sequences hold at all times in at least 95 % of logs, also of a policy that learns",
            holds=min(always) >= 0.95,
            evidence=", ".join(f"{regime} {each:.3f}" for regime, each in zip(REGIMES, always, strict=True)),
        ),
        finding(
            "normal intervals do not",
            holds=max(normal) < 0.95,
            evidence=", ".join(f"{regime} {each:.3f}" for regime, each in zip(REGIMES, normal, strict=True)),
        ),
        finding(
            "doubly robust estimates have less error than inverse propensity",
            holds=all(robust < plain for robust, plain in errors),
            evidence=", ".join(f"{robust:.4f} and {plain:.4f}" for robust, plain in errors),
        ),
    ]


def draw(rows: Sequence[Row]) -> "Figure":
    """Error of each estimator, and coverage of each interval, by regime."""
    pyplot = need("matplotlib.pyplot", "study")
    figure: Figure
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), layout="constrained")
    n = max(row["events"] for row in rows)
    for place, regime in enumerate(REGIMES):
        own = [row for row in rows if row["log"] == regime and row["events"] == n]
        for panel, field in ((left, "rmse"), (right, "coverage")):
            shown = [row for row in own if row[field] == row[field]]
            heights = np.arange(len(shown)) + 0.22 * (place - 1)
            panel.plot([row[field] for row in shown], heights, "o", color=f"C{place}", label=regime)
            panel.set_yticks(range(len(shown)), [row["what"] for row in shown])
    right.axvline(0.95, color="0.7", linewidth=0.8, zorder=0)
    left.set(xlabel="root mean squared error", title=f"estimators, {n:,} events")
    right.set(xlabel="coverage", title="95 % intervals")
    for panel in (left, right):
        panel.invert_yaxis()
    left.legend(title="logged by")
    return figure


STUDY = Study(
    name="off-policy",
    title="Off-policy evaluation: bias, error and coverage where the truth is known",
    source="Dudik et al. 2011; Karampatziakis, Mineiro and Ramdas 2021",
    steps=10_000,
    trials=10,
    n_events=lambda settings: len(REGIMES) * settings.trials * (settings.steps + max(settings.steps // 10, 1)),
    run=run,
)
