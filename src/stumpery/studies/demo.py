"""The main job in small: several policies on one stream, a table and a picture of their regret."""

from typing import TYPE_CHECKING

from stumpery.evaluation.play import Progress
from stumpery.evaluation.regret import RegretResult
from stumpery.extras import need
from stumpery.policies import (
    UCB,
    EpsilonGreedy,
    Greedy,
    Policy,
    RandomPolicy,
    SuccessiveElimination,
    ThompsonSampling,
)
from stumpery.streams import BernoulliArms
from stumpery.studies.comparison import compare, n_events
from stumpery.studies.study import Outcome, Parts, Settings, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ACTIONS = 10


def policies() -> dict[str, Policy]:
    """Who plays."""
    actions = range(N_ACTIONS)
    return {
        "random": RandomPolicy(actions=actions),
        "greedy": Greedy(actions=actions),
        "epsilon-greedy": EpsilonGreedy(actions=actions, epsilon=0.1),
        "successive elimination": SuccessiveElimination(actions=actions),
        "UCB": UCB(actions=actions),
        "Thompson sampling": ThompsonSampling(actions=actions),
    }


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy over the same arms, other ones in each trial."""
    result = compare(policies(), BernoulliArms(n_actions=N_ACTIONS), settings, parts, progress)
    return Outcome(result=result, table=result.final(), draw=lambda: draw(result, settings.trials))


def draw(result: RegretResult, trials: int) -> "Figure":
    """Regret on the left, average reward on the right."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot(left)
    result.plot(right, per_step=True)
    left.set(yscale="log", ylim=(0.3, None), title="what not knowing the best action cost")
    right.set(title="what was earned", xlim=(10, None))
    right.get_legend().remove()
    figure.suptitle(f"Ten actions that pay 0 or 1: mean and 95 % interval over {trials} trials")
    return figure


STUDY = Study(
    name="demo",
    title="Several policies on one stream",
    source="Stumpery's own",
    steps=100_000,
    trials=20,
    n_events=n_events(policies),
    run=run,
)
