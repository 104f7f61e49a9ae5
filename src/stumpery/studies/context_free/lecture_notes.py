"""Claims of lecture notes on bandits without context, checked on many ten-armed problems."""

from typing import TYPE_CHECKING

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.play import play
from stumpery.evaluation.regret import RegretResult, trial_seeds
from stumpery.policies import UCB, EpsilonGreedy, Greedy, Policy, RandomPolicy, ThompsonSampling
from stumpery.streams import BernoulliArms
from stumpery.studies.comparison import compare, n_events
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, verdicts
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACTIONS = range(10)
LONG_RUN = 20_000  # steps needed to test claims on the long run
STREAM = BernoulliArms(n_actions=len(ACTIONS))


def policies() -> dict[str, Policy]:
    """The policies of the notes, greedy with three initial values, and Thompson sampling."""
    return {
        "greedy, pessimistic": Greedy(actions=ACTIONS, initial=-10),
        "greedy, in between": Greedy(actions=ACTIONS, initial=0.5),
        "greedy, optimistic": Greedy(actions=ACTIONS, initial=10),
        "epsilon-greedy 0.01": EpsilonGreedy(actions=ACTIONS, epsilon=0.01),
        "epsilon-greedy 0.1": EpsilonGreedy(actions=ACTIONS, epsilon=0.1),
        "UCB rho=2": UCB(actions=ACTIONS, rho=2.0),
        "UCB rho=0.2": UCB(actions=ACTIONS, rho=0.2),
        "Thompson sampling": ThompsonSampling(actions=ACTIONS),
        "random": RandomPolicy(actions=ACTIONS),
    }


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy on the same trials, count the actions that greedy tries, and test the claims."""
    result = compare(policies(), STREAM, settings, parts, progress)
    tried = {name: actions_tried(policy, settings) for name, policy in policies().items() if isinstance(policy, Greedy)}
    return Outcome(
        result=result,
        table=result.final(),
        findings=(*claims_on_greedy(tried), *claims_on_regret(result)),
        draw=lambda: draw(result, settings.trials),
    )


def actions_tried(policy: Policy, settings: Settings) -> list[int]:
    """How many different actions a policy tries in a thousand steps, trial by trial."""
    numbers = []
    for trial in range(settings.trials):
        events_seed, policy_seed = trial_seeds(settings.seed, trial)
        player = policy.clone(seed=policy_seed)
        played = play(player, stream=STREAM, steps=min(settings.steps, 1000), seed=events_seed)
        numbers.append(len(set(played.actions)))
    return numbers


def claims_on_greedy(tried: dict[str, list[int]]) -> list[Finding]:
    """The claims on the initial values of greedy."""
    low, middle, high = (tried[f"greedy, {start}"] for start in ("pessimistic", "in between", "optimistic"))
    return [
        finding(
            "greedy with a pessimistic start tries one action only",
            holds=set(low) == {1},
            evidence=f"it tried {min(low)} to {max(low)} actions",
        ),
        finding(
            "greedy with an optimistic start tries every action at least once",
            holds=set(high) == {len(ACTIONS)},
            evidence=f"it tried {min(high)} to {max(high)} of {len(ACTIONS)} actions",
        ),
        finding(
            "a start in between lies between the two",
            holds=np.mean(low) < np.mean(middle) < np.mean(high),
            evidence=f"it tried {np.mean(middle):.2f} actions on average, from {min(middle)} to {max(middle)}",
        ),
    ]


def claims_on_regret(result: RegretResult) -> tuple[Finding, ...]:
    """The claims on regret."""
    curves = {name: trials.mean(axis=0) for name, trials in result.regrets.items()}
    last = {name: curve[-1] for name, curve in curves.items()}
    explorer = "epsilon-greedy 0.1"
    greedy = {name: value for name, value in last.items() if name.startswith("greedy")}
    rivals = ", ".join(f"{value:.0f} ({name})" for name, value in greedy.items())
    ahead = curves["UCB rho=2"] < curves[explorer]
    late = np.flatnonzero(~ahead)
    overtakes = bool(ahead[-1])
    step = result.checkpoints[late[-1] + 1] if overtakes and len(late) else result.checkpoints[0]
    decade = int(np.searchsorted(result.checkpoints, result.checkpoints[-1] / 10))
    growth = {name: curve[-1] / max(curve[decade], 1e-9) for name, curve in curves.items()}
    findings = [
        *(
            finding(
                f"{name} has less regret than greedy in the long run, for all initial values",
                holds=last[name] < min(greedy.values()),
                evidence=f"regret {last[name]:.0f} against {rivals}",
            )
            for name in last
            if name.startswith("epsilon")
        ),
        finding(
            "UCB overtakes epsilon-greedy",
            holds=overtakes,
            evidence=f"below its regret from step {step} on" if overtakes else "not within these steps",
        ),
        finding(
            "UCB's regret grows with the logarithm of time, epsilon-greedy's in proportion to it",
            holds=growth["UCB rho=2"] < 3 and growth[explorer] > 7,
            evidence=f"over the last tenfold of steps regret grew {growth['UCB rho=2']:.1f} and "
            f"{growth[explorer]:.1f} times",
        ),
    ]
    return verdicts(findings, enough=bool(result.checkpoints[-1] >= LONG_RUN))


def draw(result: RegretResult, trials: int) -> "Figure":
    """Plot average reward and cumulative regret, as in the notes."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot(left, per_step=True)
    result.plot(right)
    left.get_legend().remove()
    right.set(yscale="log", ylim=(0.3, None))
    figure.suptitle(f"Bandits without context: mean and 95 % confidence interval over {trials} ten-armed problems")
    return figure


STUDY = Study(
    name="bandits-101",
    title="Claims on greedy, epsilon-greedy and UCB, on ten-armed bandits",
    source="Lecture notes on ensembles and bandits, lecture 13",
    steps=100_000,
    trials=100,
    n_events=n_events(policies),
    run=run,
)
