"""Online feature selection, figure 1 of Durand and Gagné 2014: error rates when 10 % of the features may be observed.

The paper specifies only two hidden neurons and the learning rate of its network: here it has tanh units, and a variant
has logistic ones. The best of three epsilons is reported, as in the paper.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.jobs.executor import Shared
from stumpery.studies.selection import budgets, methods
from stumpery.studies.selection.methods import ALL, EPSILONS, LOGISTIC, OFS, ONLINE, OURS, PERCEPTRON, THOMPSON
from stumpery.studies.selection.plots import draw
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import TableResult, estimate

Trials = dict[str, dict[str, list[dict[str, Any]]]]  # problem -> method -> trial by trial
ENOUGH = 30_000  # events


@dataclass(frozen=True, eq=False)
class FeatureResult(TableResult):
    """Error curves as rows, the shares of selected features, and accuracy by budget."""

    kept: dict[str, Any] = field(default_factory=dict)  # problem -> method -> each feature's share of the rounds
    money: list[dict[str, Any]] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """The shares of selected features, and accuracy by budget."""
        return {**super().summary(), "kept": self.kept, "money": self.money}


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every method over the same permutations of every dataset, then every budget."""
    trials: Trials = {}
    paid: list[dict[str, Any]] = []
    kept: dict[str, Any] = {}
    for title, problem in methods.PROBLEMS.items():
        data = methods.load_problem(problem)
        trials[title] = all_trials(title, data, methods.n_events(problem, settings.steps), settings, parts, progress)
        paid += budgets.all_budgets(title, data, methods.n_events(problem, settings.steps), settings, parts, progress)
        kept[title] = {name: feature_shares(each) for name, each in trials[title].items()}
    rows = [row for title, of_problem in trials.items() for row in curves(title, of_problem, settings.steps)]
    shown = {title: shown_methods(of_problem) for title, of_problem in trials.items()}
    enough = settings.steps >= ENOUGH and settings.trials > 1
    return Outcome(
        result=FeatureResult(rows, kept, paid),
        table=[line(label, shown, trials) for label in next(iter(shown.values()))],
        findings=verdicts(claims(trials, settings.steps, settings.threads), enough=enough),
        draw=lambda: draw(rows, kept, paid, shown, settings.trials),
    )


def all_trials(
    title: str, data: methods.Data, steps: int, settings: Settings, parts: Parts, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """Every method's trials on one dataset."""
    wanted, shared = [], settings.where.put(data)
    for trial in range(settings.trials):
        for name in methods.methods():
            make = partial(play_method, shared, name, steps, settings.seed, trial)
            wanted.append(Part(f"{name} on {title}, trial {trial}", steps, partial(counted, steps, make)))
    results = run_parts(wanted, settings, parts, progress)
    n = len(methods.methods())
    return {name: results[index::n] for index, name in enumerate(methods.methods())}


def play_method(shared: Shared[methods.Data], name: str, steps: int, seed: int, trial: int) -> dict[str, Any]:
    """One trial of a method by its name."""
    return methods.play_trial(shared.get(), methods.methods()[name], steps, seed, trial)


def rates(trials: list[dict[str, Any]]) -> Any:
    """Error rates, (trials, checkpoints)."""
    return np.array([trial["rates"] for trial in trials])


def last(trials: list[dict[str, Any]]) -> float:
    """The final error rate, averaged over trials."""
    return float(rates(trials)[:, -1].mean())


def feature_shares(trials: list[dict[str, Any]]) -> list[float]:
    """The share of rounds in which each feature was selected."""
    shares: list[float] = np.mean([trial["looks"] for trial in trials], axis=0).tolist()
    return shares


def best(of_problem: dict[str, list[dict[str, Any]]], name: str) -> str:
    """The epsilon with the lowest final rate, as the paper reports."""
    names = [methods.by_epsilon(name, epsilon) for epsilon in EPSILONS]
    return min(names, key=lambda each: last(of_problem[each]))


def shown_methods(of_problem: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """The methods to show, by label: of three epsilons the best."""
    chosen = {name: name for name in of_problem if not name.startswith((OFS, PERCEPTRON))}
    return {**{name: best(of_problem, name) for name in (OFS, PERCEPTRON)}, **chosen}


def curves(title: str, of_problem: dict[str, list[dict[str, Any]]], steps: int) -> list[dict[str, Any]]:
    """The error rates of every method at every checkpoint, with 95 % confidence intervals."""
    checkpoints = methods.checkpoints(methods.n_events(methods.PROBLEMS[title], steps)).tolist()
    rows = []
    for name, trials in of_problem.items():
        for checkpoint, mean, low, high in zip(checkpoints, *mean_and_interval(rates(trials)), strict=True):
            key = {"dataset": title, "method": name, "events": checkpoint}
            rows.append({**key, "rate": float(mean), "low": float(low), "high": float(high)})
    return rows


def line(label: str, shown: dict[str, dict[str, str]], trials: Trials) -> dict[str, Any]:
    """A method's final error rate on every dataset, with the half-width of its 95 % interval."""
    results: dict[str, Any] = {"method": label}
    for title, of_problem in trials.items():
        mean, _, high = mean_and_interval(rates(of_problem[shown[title][label]]))
        results[title] = estimate(float(mean[-1]), float(high[-1] - mean[-1]), ".4f")
    return results


def tenth(n_checkpoints: int, n: int) -> int:
    """The index of the first checkpoint after a tenth of the events."""
    return min(int(np.searchsorted(methods.checkpoints(n), n / 10)), n_checkpoints - 1)


def claims(trials: Trials, steps: int, threads: int) -> list[Finding]:
    """The claims of the paper, ours, and on online standardisation."""
    return [
        *(claim_on_thompson(trials, steps, reading) for reading in ("", LOGISTIC)),
        *(
            finding(
                f"{THOMPSON}{reading} is better than {ALL}{reading} on {title}",
                holds=last(trials[title][THOMPSON + reading]) < last(trials[title][ALL + reading]),
                evidence=against(trials[title], THOMPSON + reading, ALL + reading),
            )
            for title in ("a8a", "w8a")
            if title in trials
            for reading in ("", LOGISTIC)
        ),
        *(claim_on_ours(trials, reading) for reading in ("", LOGISTIC)),
        *(claim_on_online(trials, name) for name in (THOMPSON, ALL, OURS)),
        claim_on_time(trials, threads),
    ]


def against(of_problem: dict[str, list[dict[str, Any]]], one: str, other: str) -> str:
    """Two final rates."""
    return f"{last(of_problem[one]):.4f} against {last(of_problem[other]):.4f}"


def claim_on_thompson(trials: Trials, steps: int, reading: str) -> Finding:
    """Whether it has the lowest rate of those that do not look at everything, in the end or after a tenth."""
    evidence, holds = [], True
    for title, of_problem in trials.items():
        rivals = [best(of_problem, name) for name in (OFS, PERCEPTRON)]
        finals = [last(of_problem[name]) for name in (THOMPSON + reading, *rivals)]
        means = [rates(of_problem[name]).mean(axis=0) for name in (THOMPSON + reading, *rivals)]
        index = tenth(len(means[0]), methods.n_events(methods.PROBLEMS[title], steps))
        early = [float(mean[index]) for mean in means]
        holds = holds and (finals[0] == min(finals) or early[0] == min(early))
        evidence.append(f"{title} {finals[0]:.4f} against {min(finals[1:]):.4f}")
    return finding(
        f"{THOMPSON}{reading} has a lower error rate, finally or after a tenth, than OFS and the perceptron",
        holds=holds,
        evidence="; ".join(evidence),
    )


def claim_on_ours(trials: Trials, reading: str) -> Finding:
    """Whether ours beats all four of the paper on three datasets of four."""
    evidence, n_won = [], 0
    for title, of_problem in trials.items():
        rivals = [THOMPSON + reading, ALL + reading, best(of_problem, OFS), best(of_problem, PERCEPTRON)]
        rival = min(rivals, key=lambda name: last(of_problem[name]))
        n_won += last(of_problem[OURS]) < last(of_problem[rival])
        evidence.append(f"{title} {against(of_problem, OURS, rival)} of {rival}")
    return finding(
        f"ours has a lower error rate than each of the paper's four methods{reading} on three datasets of four",
        holds=n_won >= 3,
        evidence="; ".join(evidence),
    )


def claim_on_online(trials: Trials, name: str) -> Finding:
    """The claim on standardising by means and deviations of observed values only."""
    costs = {title: last(each[name + ONLINE]) - last(each[name]) for title, each in trials.items()}
    return finding(
        f"standardising online costs {name} at most 0.01",
        holds=max(costs.values()) <= 0.01,
        evidence="; ".join(f"{title} {cost:+.4f}" for title, cost in costs.items()),
    )


def claim_on_time(trials: Trials, threads: int) -> Finding:
    """How long the paper's four took, all three epsilons included."""
    four = [THOMPSON, ALL, *(methods.by_epsilon(name, epsilon) for name in (OFS, PERCEPTRON) for epsilon in EPSILONS)]
    seconds = sum(trial["seconds"] for of_problem in trials.values() for name in four for trial in of_problem[name])
    return finding(
        "the paper's four methods take less than 30 minutes for everything, on two cores",
        holds=seconds / 2 < 30 * 60,
        evidence=f"{seconds / 60:.1f} minutes of {threads} threads taken together",
    )


def n_events(settings: Settings) -> int:
    """The length of the work, in events."""
    each = [methods.n_events(problem, settings.steps) for problem in methods.PROBLEMS.values()]
    return sum(n * len(methods.methods()) * settings.trials + budgets.n_events(n, settings.trials) for n in each)


STUDY = Study(
    name="feature-selection",
    title="Online feature selection: error rate with 10 % of the features, accuracy by budget",
    source="Durand and Gagné 2014, Figure 1",
    steps=581_012,
    trials=20,
    n_events=n_events,
    run=run,
)
