"""Decision trees by deep reinforcement learning (Chaouki, Read and Bifet), table 1 and figures 2 to 4.

Also: an ablation of our changes, variants under drift, and accuracy by expected depth for several depth penalties.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.studies.reinforcement import learners, variants
from stumpery.studies.reinforcement.claims import Row, Runs, claims, final
from stumpery.studies.reinforcement.learners import DQN, PAPER
from stumpery.studies.reinforcement.plots import draw
from stumpery.studies.study import Outcome, Parts, Settings, Study, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

LONG_RUN, MANY_TRIALS = 100_000, 3  # a run of fewer gives no verdicts


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
        findings=verdicts(claims(runs, by_setting, by_penalty), enough=is_enough(settings)),
        draw=lambda: draw(runs, by_penalty),
    )


def is_enough(settings: Settings) -> bool:
    """Whether a run is long enough for verdicts."""
    return settings.steps >= LONG_RUN and settings.trials >= MANY_TRIALS


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


def line(title: str, of_problem: dict[str, list[Row]]) -> Row:
    """A row of the table: accuracies in %, those of the paper, and the depth of DQN."""
    result: Row = {"problem": title}
    for name, trials in of_problem.items():
        result[name] = round(100 * final(trials), 1)
        if name in PAPER[title]:
            result[f"{name}, paper"] = PAPER[title][name]
    return result | {"queries of DQN": round(final(of_problem[DQN], "depth"), 2)}


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
