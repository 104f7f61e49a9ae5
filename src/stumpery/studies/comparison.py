"""The common kind of study: several policies over the same trials of a stream."""

from collections.abc import Callable, Mapping

from stumpery.evaluation.play import Progress
from stumpery.evaluation.regret import RegretResult, regret
from stumpery.policies import Policy
from stumpery.studies.study import Parts, Settings
from stumpery.types import Stream


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
