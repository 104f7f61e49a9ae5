"""Accuracy by budget: features have prices, and each event a budget.

There are no published prices of these features. They are drawn log-uniformly from 1 to 10 for each dataset, the same
for all methods. A budget is a fraction of the total price of all features.
"""

from functools import partial
from typing import Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.jobs.executor import Shared
from stumpery.studies.selection import methods
from stumpery.studies.selection.methods import OURS, THOMPSON
from stumpery.studies.study import Part, Parts, Settings, run_parts

BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4)
PLAYERS = (OURS, THOMPSON)
MAX_EVENTS, MAX_TRIALS = 20_000, 5


def prices_of(n_features: int) -> dict[int, float]:
    """A price for each feature."""
    drawn = 10.0 ** np.random.default_rng(n_features).random(n_features)
    return dict(enumerate(drawn.tolist()))


def all_budgets(
    title: str, data: methods.Data, steps: int, settings: Settings, parts: Parts, progress: Progress
) -> list[dict[str, Any]]:
    """The accuracy and spending of every method with every budget."""
    prices, steps = prices_of(len(data.names)), min(steps, MAX_EVENTS)
    total, shared = sum(prices.values()), settings.where.put(data)
    rows = []
    for name in PLAYERS:
        for share in BUDGETS:
            wanted = []
            for trial in range(min(settings.trials, MAX_TRIALS)):
                terms = {"prices": prices, "budget": max(share * total, min(prices.values()))}
                make = partial(play_budget, shared, name, steps, (settings.seed, trial), terms)
                wanted.append(Part(f"{name} on {title} for {share}, trial {trial}", steps, make))
            results = run_parts(wanted, settings, parts, progress)
            mean, _, high = mean_and_interval(
                np.array([[each["rates"][-1], each["spent"] / total] for each in results])
            )
            rows.append(
                {
                    "dataset": title,
                    "method": name,
                    "budget": share,
                    "spent": float(mean[1]),
                    "accuracy": float(1.0 - mean[0]),
                    "half_width": float(high[0] - mean[0]),
                }
            )
    return rows


def play_budget(
    shared: Shared[methods.Data],
    name: str,
    steps: int,
    seeds: tuple[int, int],
    terms: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """One trial under these terms, prices and a budget."""
    result = methods.play_trial(shared.get(), methods.methods()[name], steps, *seeds, **terms)
    progress(steps)
    return result


def n_events(steps: int, trials: int) -> int:
    """The length of this work on one dataset, in events."""
    return len(PLAYERS) * len(BUDGETS) * min(trials, MAX_TRIALS) * min(steps, MAX_EVENTS)
