"""Bandit Forest, table 1: a toy problem with two actions and two variables, and the best rewards with each variable.

No rewards from 0 to 1 have the means of Table 1. Those of k1 fix how often each context comes (and so the variables are
not independent); k2 must then pay 3/2 or more where x1 = 0 and x2 = 1. Here it pays 3/2, and rewards go from 0 to 3/2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.play import play
from stumpery.evaluation.regret import RegretResult, trial_seeds
from stumpery.policies import UCB, BanditStump, Policy
from stumpery.policies.bandit_forest.optimal_greedy_tree import optimal_greedy_tree, variable_rewards
from stumpery.studies.comparison import compare, n_events
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, verdicts
from stumpery.system.extras import need
from stumpery.types import Action, Batch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACTIONS = ("k1", "k2")
CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
PROBABILITIES = np.array([9, 1, 3, 3]) / 16
MEANS = np.array([[0, 1 / 2], [0, 3 / 2], [1, 0], [1, 1 / 3]])
MAX_REWARD = 1.5
LONG_RUN = 20_000
PLAYERS = {"no variable": Fraction(7, 16), "x1": Fraction(3, 4), "x2": Fraction(15, 32)}  # optimal, by the paper


@dataclass(frozen=True)
class Toy:
    """Contexts of Table 1, and rewards that are all or nothing around its means."""

    actions: tuple[Action, ...] = ACTIONS
    reward_range: tuple[float, float] = (0.0, MAX_REWARD)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Batches of `size` events without end."""
        rng = np.random.default_rng(seed)
        while True:
            rows = rng.choice(len(PROBABILITIES), size=size, p=PROBABILITIES)
            pays = rng.random((size, len(ACTIONS))) < MEANS[rows] / MAX_REWARD
            yield Batch(CONTEXTS[rows], np.where(pays, MAX_REWARD, 0.0), MEANS[rows])


def policies() -> dict[str, Policy]:
    """A policy without context, and the stump that selects the best variable."""
    return {
        "UCB, no context": UCB(actions=ACTIONS, reward_range=(0.0, MAX_REWARD)),
        "Bandit Stump": BanditStump(actions=ACTIONS, reward_range=(0.0, MAX_REWARD), epsilon=0.1),
    }


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Compute the best reward with each variable, and play the stump."""
    result = compare(policies(), Toy(), settings, parts, progress)
    long_run = settings.steps >= LONG_RUN
    return Outcome(
        result=result,
        table=result.final(),
        findings=(*claims(), *verdicts([claim_on_stump(settings)], enough=long_run)),
        draw=lambda: draw(result, settings.trials),
    )


def claims() -> list[Finding]:
    """The claims of section 3.1, computed exactly, and on the rewards of table 1."""
    blind = optimal_greedy_tree(contexts=CONTEXTS, probabilities=PROBABILITIES, rewards=MEANS, max_depth=0).reward
    rewards = dict(zip(PLAYERS, (blind, *variable_rewards(CONTEXTS, PROBABILITIES, MEANS).tolist()), strict=True))
    return [
        *(
            finding(
                f"the optimal policy with {player} earns {said} per event",
                holds=bool(np.isclose(rewards[player], float(said))),
                evidence=f"it earns {Fraction(rewards[player]).limit_denominator(1000)}",
            )
            for player, said in PLAYERS.items()
        ),
        finding(
            "Table 1 is a problem with rewards from 0 to 1",
            holds=bool(MEANS.max() <= 1),
            evidence=f"a mean of k2 must be {MEANS.max():g}: no joint distribution within 0 and 1 has these margins",
        ),
    ]


def claim_on_stump(settings: Settings) -> Finding:
    """Which variable the stump of each trial takes."""
    first = 0
    for trial in range(settings.trials):
        events_seed, policy_seed = trial_seeds(settings.seed, trial)
        stump = policies()["Bandit Stump"].clone(seed=policy_seed)
        play(stump, stream=Toy(), steps=settings.steps, seed=events_seed)
        first += isinstance(stump, BanditStump) and stump.to_text().startswith("x0?")
    return finding(
        "the stump selects the first variable",
        holds=first == settings.trials,
        evidence=f"it did in {first} of {settings.trials} trials of {settings.steps:,} steps",
    )


def draw(result: RegretResult, trials: int) -> "Figure":
    """Plot average reward, and the best rewards with each variable."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.subplots()
    for (player, rewards), style in zip(PLAYERS.items(), ("--", "-.", ":"), strict=True):
        axes.axhline(float(rewards), color="0.4", linestyle=style, label=f"optimal policy, {player}: {rewards}")
    result.plot(axes, per_step=True)
    axes.set(xlim=(10, None), ylim=(0.2, 0.95))
    axes.legend(loc="upper left", ncols=2, fontsize="small")
    figure.suptitle(f"Toy problem of table 1, average reward: mean and 95 % confidence interval over {trials} trials")
    return figure


STUDY = Study(
    name="toy",
    title="Value of a context on the paper's toy problem, and the stump that finds it",
    source="Feraud et al. 2016, Table 1",
    steps=50_000,
    trials=20,
    n_events=n_events(policies),
    run=run,
)
