"""Check for drift in click prediction: clicks of a model that stops learning half-way."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.click_challenge.challenge import play_challenge
from stumpery.evaluation.click_challenge.result import ChallengeResult, combine_trials
from stumpery.evaluation.click_challenge.submissions import N_CANDIDATES, generated_clicks, selector
from stumpery.evaluation.events import Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.studies.clicks.challenge import BLOCK
from stumpery.studies.study import Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import estimate
from stumpery.system.extras import need
from stumpery.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FROZEN_SUBMISSIONS = ("SimpleStumps", "UTree")
FROZEN = "{}, frozen half-way"
LONG_RUN = 50_000


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play each submission twice over the same batches, the second time without learning from the half on."""
    wanted, n = [], 2 * settings.steps
    for trial in range(settings.trials):
        for name in FROZEN_SUBMISSIONS:
            make = partial(play_frozen, name, settings.steps, *trial_seeds(settings.seed, trial))
            wanted.append(Part(f"trial {trial}, {name}", n, partial(counted, n, make)))
    counts = run_parts(wanted, settings, parts, progress)
    n_names = len(FROZEN_SUBMISSIONS)
    trials = [
        {name: each for found in counts[trial * n_names : (trial + 1) * n_names] for name, each in found.items()}
        for trial in range(settings.trials)
    ]
    result = combine_trials(trials, settings.steps)
    rows = [_row(result, name) for name in FROZEN_SUBMISSIONS]
    claims = [
        finding(
            f"{name} frozen half-way stays within 5 % of one that keeps learning",
            holds=abs(row["gain"]) < 0.05,
            evidence=f"in the second half learning earned {row['learning']} clicks, the frozen model {row['frozen']}; "
            "these rows do not drift, so the difference is what was left to learn",
        )
        for name, row in zip(FROZEN_SUBMISSIONS, rows, strict=True)
    ]
    return Outcome(
        result=result,
        table=[{key: value for key, value in row.items() if key != "gain"} for row in rows],
        findings=verdicts(claims, enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(result),
    )


def play_frozen(name: str, steps: int, rows_seed: int, own_seed: int) -> dict[str, Any]:
    """Play a submission, and beside it the same that stops learning half-way."""
    source, frozen = generated_clicks(), FROZEN.format(name)
    players = {each: selector(name, source, own_seed) for each in (name, frozen)}
    blocks = source.stream.blocks(seed=rows_seed, size=N_CANDIDATES * min(BLOCK, steps))
    return play_challenge(players, blocks, n_batches=steps, size=N_CANDIDATES, freeze={frozen: steps // 2})


def second_half(result: ChallengeResult, name: str) -> Floats:
    """The clicks of each trial in the second half."""
    clicks = result.clicks[name]
    middle = int(np.searchsorted(result.checkpoints, result.checkpoints[-1] // 2))
    late: Floats = clicks[:, -1] - clicks[:, middle]
    return late


def draw(result: ChallengeResult) -> "Figure":
    """Plot the additional clicks of the learning model, as in the paper's figure 6."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    for name in FROZEN_SUBMISSIONS:
        mean, low, high = mean_and_interval(result.clicks[name] - result.clicks[FROZEN.format(name)])
        (line,) = ax.plot(result.checkpoints, mean, label=name)
        ax.fill_between(result.checkpoints, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.axvline(result.checkpoints[-1] // 2, color="grey", linestyle=":")
    ax.set(xlabel="batch", ylabel="additional clicks over the frozen model")
    ax.legend()
    return figure


def _row(result: ChallengeResult, name: str) -> dict[str, Any]:
    learning, frozen = second_half(result, name), second_half(result, FROZEN.format(name))
    more = mean_and_interval((learning - frozen)[:, np.newaxis])
    return {
        "submission": name,
        "learning": f"{learning.mean():,.0f}",
        "frozen": f"{frozen.mean():,.0f}",
        "additional clicks": estimate(float(more[0][0]), float(more[2][0] - more[0][0]), ".1f"),
        "gain": float(learning.sum() / max(1.0, frozen.sum()) - 1.0),
    }


STUDY = Study(
    name="click-drift",
    title="Clicks of a model that keeps learning and of one frozen half-way",
    source="Salperwyck and Urvoy 2011, Figure 6",
    steps=200_000,
    trials=5,
    n_events=lambda settings: 2 * len(FROZEN_SUBMISSIONS) * settings.steps * settings.trials,
    run=run,
)
