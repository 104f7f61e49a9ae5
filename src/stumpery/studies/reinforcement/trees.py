"""Decision trees by deep reinforcement learning (Chaouki, Read and Bifet), table 1 and figures 2 to 4.

Also: an ablation of our changes, variants under drift, and accuracy by expected depth for several depth penalties.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.studies.reinforcement import learners, variants
from stumpery.studies.reinforcement.learners import CRITIC, DOUBLE, DQN, GREEDY, PAPER
from stumpery.studies.reinforcement.plots import draw
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

LONG_RUN = 100_000
Row = dict[str, Any]
Runs = dict[str, dict[str, list[Row]]]  # problem -> learner -> trial by trial


@dataclass(frozen=True, eq=False)
class RlResult(TableResult):
    """Learning curves as rows, the variants, and accuracy by depth penalty."""

    by_setting: list[Row] = field(default_factory=list)
    by_penalty: list[Row] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """The variants, and accuracy by depth penalty."""
        return {**super().summary(), "by_setting": self.by_setting, "by_penalty": self.by_penalty}


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Train every learner on every problem, then every variant and every depth penalty."""
    need("jax", "deep")

    def part(name: str, make: Callable[..., Any], *given: Any) -> Any:
        def made() -> Any:
            result = make(*given)
            progress(settings.steps)
            return result

        return load_or_run(parts, name, settings.steps, progress, made)

    runs: Runs = {title: {name: [] for name in learners.LEARNERS} for title in learners.PROBLEMS}
    for title, trial, name in all_runs(settings):
        result = part(f"{name} on {title}, {trial}", train_learner, title, name, settings.steps, settings.seed + trial)
        runs[title][name].append(result)
    by_setting = run_variants(settings, part)
    by_penalty: list[Row] = []
    for penalty in variants.PENALTIES:
        by_penalty += part(f"penalty {penalty}", by_one_penalty, penalty, settings)
    return Outcome(
        result=RlResult(curves(runs), by_setting, by_penalty),
        table=[line(title, of_problem) for title, of_problem in runs.items()],
        findings=verdicts(claims(runs, by_setting, by_penalty), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(runs, by_penalty),
    )


def train_learner(title: str, name: str, steps: int, seed: int) -> Row:
    """Train one learner on one stream."""
    data, schema = learners.load_problem(title, steps, seed)
    return learners.train(learner(name, seed, schema, len(data.labels)), data)


def learner(name: str, seed: int, schema: Any, n: int) -> Any:
    """A learner by name; short streams get a short warm-up."""
    model = learners.LEARNERS[name](seed, schema)
    return model.clone({"warm_up": variants.warm_up(n)}) if hasattr(model, "warm_up") else model


def all_runs(settings: Settings) -> list[tuple[str, int, str]]:
    """All combinations of problem, trial and learner."""
    trials = range(settings.trials)
    return [(title, trial, name) for title in learners.PROBLEMS for trial in trials for name in learners.LEARNERS]


def run_variants(settings: Settings, part: Callable[..., Any]) -> list[Row]:
    """Train every variant, also under drift, averaged over trials."""
    seeds = range(settings.seed, settings.seed + settings.trials)
    rows = []
    for title in variants.VARIANT_PROBLEMS:
        for name in variants.VARIANTS:
            work = [(f"{name} on {title}, seed {seed}", variants.run_variant, title, name) for seed in seeds]
            rows.append(mean_rows([part(*each, settings.steps, seed) for each, seed in zip(work, seeds, strict=True)]))
    for name in variants.DRIFT_VARIANTS:
        work_after = [(f"{name} after a change, seed {seed}", variants.after_drift, name) for seed in seeds]
        trials = zip(work_after, seeds, strict=True)
        rows.append(mean_rows([part(*each, settings.steps, seed) for each, seed in trials]))
    return rows


def by_one_penalty(penalty: float, settings: Settings) -> list[Row]:
    """Accuracy and depth for one depth penalty."""
    rows = []
    for title in variants.VARIANT_PROBLEMS:
        rows += variants.by_penalty(title, penalty, settings.steps, settings.seed)
    return rows


def mean_rows(rows: Sequence[Row]) -> Row:
    """The mean of rows of several trials."""
    return {
        key: float(np.mean([row[key] for row in rows])) if isinstance(value, float) else value
        for key, value in rows[0].items()
    }


def n_parts(settings: Settings) -> int:
    """The number of parts of the study."""
    n_settings = len(variants.VARIANTS) * len(variants.VARIANT_PROBLEMS) + len(variants.DRIFT_VARIANTS)
    return len(all_runs(settings)) + n_settings * settings.trials + len(variants.PENALTIES)


def curves(runs: Runs) -> list[Row]:
    """A row for each problem, learner, trial and checkpoint."""
    rows = []
    for title, of_problem in runs.items():
        for name, trials in of_problem.items():
            for trial, each in enumerate(trials):
                for index, checkpoint in enumerate(each["marks"]):
                    row = {"problem": title, "learner": name, "trial": trial, "event": checkpoint}
                    row |= {"accuracy": each["accuracy"][index], "depth": each["depth"][index]}
                    losses = zip(("first_loss", "second_loss"), each["losses"][index], strict=True)
                    rows.append(row | {key: float("nan") if loss is None else loss for key, loss in losses})
    return rows


def final(trials: Sequence[Row], what: str = "accuracy") -> float:
    """The final value of a metric, averaged over trials."""
    return float(np.mean([trial[what][-1] for trial in trials]))


def line(title: str, of_problem: dict[str, list[Row]]) -> Row:
    """A row of the table: accuracies in %, those of the paper, and the depth of DQN."""
    result: Row = {"problem": title}
    for name, trials in of_problem.items():
        result[name] = round(100 * final(trials), 1)
        result[f"{name}, paper"] = PAPER[title][name]
    return result | {"queries of DQN": round(final(of_problem[DQN], "depth"), 2)}


def better(accuracies: dict[str, float]) -> float:
    """The better of the two kinds of DQN."""
    return max(accuracies[DQN], accuracies[DOUBLE])


def claims(runs: Runs, by_setting: Sequence[Row], by_penalty: Sequence[Row]) -> list[Finding]:
    """The claims of the paper, and ours."""
    accuracies = {title: {name: 100 * final(trials) for name, trials in each.items()} for title, each in runs.items()}
    findings = [*claims_on_accuracy(accuracies), claim_on_reports(by_setting), claim_on_depth(by_penalty)]
    if "Poker" in accuracies:
        greedy, deep = accuracies["Poker"][GREEDY], accuracies["Poker"][DQN]
        evidence = f"Hoeffding tree {greedy:.1f} %, DQN {deep:.1f} %"
        findings.append(finding("a greedy tree fails on Poker", holds=greedy < 60 < deep, evidence=evidence))
    return findings


def claims_on_accuracy(accuracies: dict[str, dict[str, float]]) -> list[Finding]:
    """The claims on accuracy: as good as in the paper, and never poor."""
    gaps = {title: better(each) - better(PAPER[title]) for title, each in accuracies.items()}
    worst = min(gaps, key=lambda title: gaps[title])
    evidence = f"{gaps[worst]:+.1f} % on {worst}, the least"
    claim = "the better of DQN and Double DQN is as good as the paper's"
    first = finding(claim, holds=gaps[worst] >= 0, evidence=evidence)
    poor = {name: min(each[name] for each in accuracies.values()) for name in (DQN, DOUBLE, CRITIC, GREEDY)}
    holds = min(poor[DQN], poor[DOUBLE]) > max(poor[CRITIC], poor[GREEDY])
    evidence = ", ".join(f"{name} {share:.1f} %" for name, share in poor.items()) + " on the worst problem of each"
    return [
        first,
        finding(
            "the worst accuracy of DQN is higher than that of actor-critic and Hoeffding tree",
            holds=holds,
            evidence=evidence,
        ),
    ]


def claim_on_reports(by_setting: Sequence[Row]) -> Finding:
    """The claim on learning all reports."""
    own = {row["setting"]: 100 * row["accuracy"] for row in by_setting if row["problem"] == "Nursery"}
    every, one = own[variants.OURS], own[variants.ONE_REPORT]
    evidence = f"{every:.1f} % with all reports, {one:.1f} % with one"
    return finding("learning all reports is better than a random one (Nursery)", holds=every > one, evidence=evidence)


def claim_on_depth(by_penalty: Sequence[Row]) -> Finding:
    """The claim that a shallow tree suffices on Nursery."""
    merged = [row for row in by_penalty if (row["problem"], row["tree"]) == ("Nursery", variants.MERGED)]
    shallow = min((row["depth"] for row in merged if row["accuracy"] >= 0.99), default=float("inf"))
    claim = "Nursery at 99 % needs at most 3.7 columns of 8"
    evidence = "no tree is right in 99 %" if np.isinf(shallow) else f"{shallow:.2f} columns at 99 % or more"
    return finding(claim, holds=shallow <= 3.7, evidence=evidence)


STUDY = Study(
    name="rl-trees",
    title="Accuracy and depth of decision trees by deep reinforcement learning, and of a greedy tree",
    source="Chaouki, Read and Bifet, Table 1 and Figures 2 to 4",
    steps=250_000,
    trials=5,
    n_events=lambda settings: n_parts(settings) * settings.steps,
    run=run,
    is_timed=True,
)
