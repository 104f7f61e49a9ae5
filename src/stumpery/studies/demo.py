"""Demo: several contextual policies on one stream of mixed columns, with a table and a plot of their regret."""

from typing import TYPE_CHECKING

from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import RegretResult
from stumpery.policies import UCB, BanditForest, LinUCB, NeuralBandit, Policy, RandomPolicy, RewardForest
from stumpery.streams import TreeProblem
from stumpery.studies.comparison import compare, n_events
from stumpery.studies.study import Outcome, Parts, Settings, Study
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STREAM = TreeProblem(n_columns=10, n_names=3, depth=4, n_actions=5, missing=0.05)


def policies() -> dict[str, Policy]:
    """The policies that are compared."""
    actions = STREAM.actions
    return {
        "random": RandomPolicy(actions=actions),
        "UCB, no context": UCB(actions=actions),
        "bandit forest": BanditForest(actions=actions, n_trees=30, max_depth=3),
        "LinUCB": LinUCB(actions=actions),
        "neural bandit": NeuralBandit(actions=actions),
        "reward forest": RewardForest(actions=actions),
    }


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play every policy on the same events; each trial draws a new problem."""
    result = compare(policies(), STREAM, settings, parts, progress)
    return Outcome(result=result, table=result.final(), draw=lambda: draw(result, settings.trials))


def draw(result: RegretResult, trials: int) -> "Figure":
    """Plot cumulative regret on the left and average reward on the right."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot(left)
    result.plot(right, per_step=True)
    left.set(xscale="linear", xlim=(0, None), title="cumulative regret")
    right.set(title="average reward", xlim=(10, None), ylim=(0, 1))
    right.get_legend().remove()
    columns = f"{STREAM.n_columns - STREAM.n_names} numerical and {STREAM.n_names} categorical columns"
    figure.suptitle(f"Five actions, {columns}, missing values: mean and 95 % confidence interval over {trials} trials")
    return figure


STUDY = Study(
    name="demo",
    title="Regret and reward of six policies on a stream of mixed columns",
    source="Stumpery's own",
    steps=20_000,
    trials=5,
    n_events=n_events(policies),
    run=run,
)
