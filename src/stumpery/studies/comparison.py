"""Comparison of several policies on the same trials of a stream, as most studies need it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import RegretResult, regret
from stumpery.policies import Policy
from stumpery.studies.study import Parts, Settings
from stumpery.system.extras import need
from stumpery.types import Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compare(
    policies: Mapping[str, Policy], stream: Stream, settings: Settings, parts: Parts, progress: Progress
) -> RegretResult:
    """The regrets of all policies; finished trials are stored in `parts`."""
    return regret(
        policies,
        stream,
        steps=settings.steps,
        trials=settings.trials,
        seed=settings.seed,
        executor=settings.where,
        progress=progress,
        kept=parts,
    )


def n_events(policies: Callable[[], Mapping[str, Policy]]) -> Callable[[Settings], int]:
    """The number of events that a comparison of these policies plays."""
    return lambda settings: len(policies()) * settings.steps * settings.trials


def group(result: RegretResult, prefix: str) -> RegretResult:
    """The policies whose names begin with `prefix`, without it."""
    parts = (result.rewards, result.regrets, result.seconds)
    selected = ({name.removeprefix(prefix): part[name] for name in part if name.startswith(prefix)} for part in parts)
    return RegretResult(result.checkpoints, *selected)


def draw_regrets(groups: Mapping[str, RegretResult], title: str, *, share: bool = False) -> "Figure":
    """Plot cumulative regret on linear axes, a panel for each group; with `share` the panels have one y axis."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=share, squeeze=False)[0]
    for panel, (name, result) in zip(panels, groups.items(), strict=True):
        result.plot(panel)
        panel.set(xscale="linear", xlim=(0, None), title=name)
    for panel in panels[1:]:
        panel.set_ylabel("")
    figure.suptitle(title)
    return figure
