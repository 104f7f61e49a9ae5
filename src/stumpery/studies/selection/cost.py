"""Accuracy against money: features have prices, and each event a budget.

Nobody has published what these features cost. Prices are drawn once for each dataset, evenly on a log scale from 1 to
10, the same for everybody; a budget is a share of what all features cost together.
"""

from functools import partial
from typing import Any

import numpy as np

from stumpery.evaluation.play import Progress
from stumpery.evaluation.regret import band
from stumpery.studies.selection import problems
from stumpery.studies.selection.problems import OURS, THOMPSON
from stumpery.studies.study import Parts, Settings, once

BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4)
PLAYERS = (OURS, THOMPSON)
MOST_EVENTS, MOST_TRIALS = 20_000, 5


def prices_of(n_features: int) -> dict[int, float]:
    """A price for each feature."""
    drawn = 10.0 ** np.random.default_rng(n_features).random(n_features)
    return dict(enumerate(drawn.tolist()))


def all_budgets(
    title: str, data: problems.Data, steps: int, settings: Settings, parts: Parts, progress: Progress
) -> list[dict[str, Any]]:
    """Every player's rate of mistakes and spending with every budget."""
    prices, steps = prices_of(len(data.names)), min(steps, MOST_EVENTS)
    total = sum(prices.values())
    rows = []
    for name in PLAYERS:
        for share in BUDGETS:
            found = []
            for trial in range(min(settings.trials, MOST_TRIALS)):
                terms = {"prices": prices, "budget": max(share * total, min(prices.values()))}
                make = partial(paid, data, name, steps, (settings.seed, trial), terms, progress)
                found.append(once(parts, f"{name} on {title} for {share}, trial {trial}", steps, progress, make))
            mean, _, high = band(np.array([[each["rates"][-1], each["spent"] / total] for each in found]))
            rows.append(
                {
                    "dataset": title,
                    "method": name,
                    "budget": share,
                    "spent": float(mean[1]),
                    "accuracy": float(1.0 - mean[0]),
                    "reach": float(high[0] - mean[0]),
                }
            )
    return rows


def paid(
    data: problems.Data, name: str, steps: int, seeds: tuple[int, int], terms: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    """One trial under these terms, prices and a budget."""
    found = problems.played(data, problems.methods()[name], steps, *seeds, **terms)
    progress(steps)
    return found


def n_events(steps: int, trials: int) -> int:
    """The length of this work on one dataset, in events."""
    return len(PLAYERS) * len(BUDGETS) * min(trials, MOST_TRIALS) * min(steps, MOST_EVENTS)
