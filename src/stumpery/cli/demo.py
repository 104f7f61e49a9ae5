"""Command `stumpery demo`: several policies on one stream."""

from stumpery.cli.parameters import Out, Seed, Steps, Threads, Trials
from stumpery.cli.study import study


def demo(steps: Steps = None, trials: Trials = None, seed: Seed = 0, threads: Threads = 2, out: Out = None) -> None:
    """Play several policies on one stream: a table, a picture and result.json under out/demo."""
    study("demo", steps, trials, seed, threads, out)
