"""Click challenge: the submissions of the paper's table, and one of our own, on the same batches."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from stumpery.evaluation.click_challenge.challenge import play_challenge
from stumpery.evaluation.click_challenge.result import ChallengeResult, combine_trials
from stumpery.evaluation.click_challenge.submissions import (
    EXPONENTIAL,
    GROUPS,
    N_CANDIDATES,
    OURS,
    PAPER,
    SUMMED_CRITERION,
    ClickSource,
    generated_clicks,
    selector,
)
from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import trial_seeds
from stumpery.jobs.executor import Shared
from stumpery.studies.clicks.datasets import covertype, open_bandit
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import estimate
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PLAYERS = sum(map(len, GROUPS))
BLOCK = 1000  # batches at a time
LONG_RUN = 50_000  # batches needed to test claims
MIN_RATIO = 1.8


def play(source: ClickSource, settings: Settings, parts: Parts, progress: Progress) -> ChallengeResult:
    """Play all groups of submissions in all trials; finished ones are stored."""
    wanted, shared = [], settings.where.put(source)
    for trial in range(settings.trials):
        for group in GROUPS:
            make = partial(play_group, shared, group, settings.steps, *trial_seeds(settings.seed, trial))
            n = settings.steps * len(group)
            wanted.append(Part(f"trial {trial}, {', '.join(group)}", n, partial(counted, n, make)))
    results = run_parts(wanted, settings, parts, progress)
    n = len(GROUPS)
    trials = [
        {name: c for part in results[n * t : n * t + n] for name, c in part.items()} for t in range(settings.trials)
    ]
    return combine_trials(trials, settings.steps)


def play_group(
    shared: Shared[ClickSource], group: Sequence[str], steps: int, rows_seed: int, own_seed: int
) -> dict[str, Any]:
    """Play a group of submissions over the same batches."""
    source = shared.get()
    players = {name: selector(name, source, own_seed) for name in group}
    blocks = source.stream.blocks(seed=rows_seed, size=N_CANDIDATES * min(BLOCK, steps))
    return play_challenge(players, blocks, n_batches=steps, size=N_CANDIDATES)


def table(result: ChallengeResult) -> list[dict[str, Any]]:
    """The printed table: clicks and ratios, with those of the paper on Adobe's log."""
    rows = []
    for row in result.final():
        paper = PAPER.get(row["player"])
        reach = (row["high"] - row["low"]) / 2
        rows.append(
            {
                "submission": row["player"],
                "clicks": f"{row['score']:,.0f}",
                "ratio to random": estimate(row["ratio_to_random"], reach, ".2f"),
                "paper's ratio": f"{paper / 1127:.2f}" if paper else "",
                "µs per batch": f"{row['us_per_batch']:.0f}" if row["bytes"] else "",
                "kB": f"{row['bytes'] / 1000:,.0f}" if row["bytes"] else "",
            }
        )
    return rows


def claims(result: ChallengeResult) -> list[Finding]:
    """The claims of the paper, and ours."""
    scores = {row["player"]: row for row in result.final()}
    order = [name for name in scores if name in PAPER]
    ratios = {name: scores[name]["ratio_to_random"] for name in ("SimpleStumps", "UTree")}
    averaged = scores["SimpleStumps"]["score"]
    rivals = {name: scores[name]["score"] for name in (EXPONENTIAL, "LinRankP", "LinRankB")}
    ours, best = scores[OURS], scores["Orange Best"]
    gain, low, high = result.ratio(OURS, "Orange Best")
    return [
        finding(
            f"SimpleStumps and UTree earn at least {MIN_RATIO} times Random",
            holds=min(ratios.values()) >= MIN_RATIO,
            evidence=", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
        ),
        finding(
            "the submissions rank as in the paper's table",
            holds=order == list(PAPER),
            evidence="from the lowest: " + ", ".join(order),
        ),
        finding(
            "plain averaging beats the tuned combinations",
            holds=averaged > max(rivals.values()),
            evidence=f"SimpleStumps {averaged:,.0f}, "
            + ", ".join(f"{name} {score:,.0f}" for name, score in rivals.items()),
        ),
        finding(
            "splits by weighted Gini impurity are no worse than splits by the printed, unweighted sum",
            holds=averaged >= scores[SUMMED_CRITERION]["score"],
            evidence=f"SimpleStumps {averaged:,.0f} and {scores[SUMMED_CRITERION]['score']:,.0f}",
        ),
        finding(
            "ours beats Orange Best at no more than a tenth of its time",
            holds=low > 1.0 and ours["us_per_batch"] <= best["us_per_batch"] / 10,
            evidence=f"{gain:.2f} ({low:.2f} to {high:.2f}) times its clicks, "
            f"{ours['us_per_batch']:.0f} and {best['us_per_batch']:.0f} us per batch",
        ),
    ]


def draw(result: ChallengeResult, title: str) -> "Figure":
    """Plot cumulative clicks on the left and the smoothed click rate on the right, as in the paper's figure 4."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot(left)
    result.plot(right, rate=True)
    right.get_legend().remove()
    left.legend(fontsize="small")
    figure.suptitle(title)
    return figure


def study(name: str, title: str, steps: int, source: Callable[[], ClickSource]) -> Study:
    """The challenge on one stream."""

    def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
        result = play(source(), settings, parts, progress)
        return Outcome(
            result=result,
            table=table(result),
            findings=verdicts(claims(result), enough=settings.steps >= LONG_RUN),
            draw=lambda: draw(result, f"{title}: mean of {settings.trials} trials"),
        )

    return Study(
        name=name,
        title=title,
        source="Salperwyck and Urvoy 2011, Table 2 and Figure 4",
        steps=steps,
        trials=5,
        n_events=lambda settings: N_PLAYERS * settings.steps * settings.trials,
        run=run,
    )


STUDIES = (
    study("click-challenge", "Click challenge on generated rows like Adobe's", 500_000, generated_clicks),
    study("click-covertype", "Click challenge on Covertype, its rarest class being the click", 96_000, covertype),
    study("click-open-bandit", "Click challenge on the Open Bandit data logged at random", 5_000, open_bandit),
)
