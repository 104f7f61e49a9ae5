"""The common kind of study: several policies over the same trials of a stream."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stumpery.evaluation.play import Progress
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
    """Play them all, as the settings say, keeping finished trials in `parts`."""
    return regret(
        policies,
        stream,
        steps=settings.steps,
        trials=settings.trials,
        seed=settings.seed,
        threads=settings.threads,
        progress=progress,
        kept=parts,
    )


def n_events(policies: Callable[[], Mapping[str, Policy]]) -> Callable[[Settings], int]:
    """How many events a comparison of these plays."""
    return lambda settings: len(policies()) * settings.steps * settings.trials


def group(result: RegretResult, prefix: str) -> RegretResult:
    """The policies whose names begin so, without that beginning."""
    parts = (result.rewards, result.regrets, result.seconds)
    chosen = ({name.removeprefix(prefix): part[name] for name in part if name.startswith(prefix)} for part in parts)
    return RegretResult(result.checkpoints, *chosen)


def draw_regrets(groups: Mapping[str, RegretResult], title: str, *, share: bool = False) -> "Figure":
    """A panel of accumulated regrets for each group, on even axes as in the paper, alike where they `share` one."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=share, squeeze=False)[0]
    for panel, (name, result) in zip(panels, groups.items(), strict=True):
        result.plot(panel)
        panel.set(xscale="linear", xlim=(0, None), title=name)
    for panel in panels[1:]:
        panel.set_ylabel("")
    figure.suptitle(title)
    return figure
