"""Regret against the paper's reference: a random forest trained on all classes without noise.

Its reward on the noisy stream is that of its trees' majority vote. It was trained on the rows that it predicts there;
the table also shows its out-of-bag reward.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from stumpery.evaluation.events import BATCH_SIZE, Progress, first_events
from stumpery.evaluation.regret import RegretResult, log_grid, trial_seeds
from stumpery.policies import Policy
from stumpery.streams import ClassificationBandit
from stumpery.studies.comparison import compare
from stumpery.studies.study import Parts, Settings, load_or_run
from stumpery.system.extras import need
from stumpery.types import Floats, Integers

N_TREES = 100
MIN_ROWS = 2_000  # training rows at least; a longer run trains on as many as it has steps, or all
MAX_UNSEEN = 50_000  # rows of the out-of-bag estimate


class ReferenceComparison(NamedTuple):
    """Regrets against the reference forest, and a table with its own rewards."""

    result: RegretResult
    table: list[dict[str, Any]]


class ReferenceForest:
    """A random forest of unlimited depth that predicts by majority vote."""

    def __init__(self, contexts: Any, codes: Integers, settings: Settings) -> None:
        ensemble = need("sklearn.ensemble", "study")
        forest = ensemble.RandomForestClassifier(N_TREES, random_state=settings.seed, n_jobs=settings.threads)
        forest.fit(contexts, codes)
        self._threads = settings.threads
        self._n_actions = int(codes.max()) + 1
        classes = forest.classes_.astype(np.int64)
        self._trees = [(tree.tree_, classes[tree.tree_.value[:, 0].argmax(axis=1)]) for tree in forest.estimators_]
        self._bags = forest.estimators_samples_

    def vote(self, contexts: Any) -> Integers:
        """The majority's action for each row."""
        return self._votes(contexts, [None] * len(self._trees))

    def vote_unseen(self, contexts: Any) -> Integers:
        """The out-of-bag majority vote for the first training rows."""
        unseen = [np.setdiff1d(np.arange(len(contexts)), bag) for bag in self._bags]
        return self._votes(contexts, unseen)

    def _votes(self, contexts: Any, selected: list[Any]) -> Integers:
        rows = np.ascontiguousarray(contexts, dtype=np.float32)
        votes = np.zeros((len(rows), self._n_actions), dtype=np.int64)

        def ballots(index: int) -> tuple[Any, Integers]:
            tree, labels = self._trees[index]
            voters = np.arange(len(rows)) if selected[index] is None else selected[index]
            return voters, labels[tree.apply(rows[voters])]

        with ThreadPoolExecutor(self._threads) as pool:
            for voters, ballot in pool.map(ballots, range(len(self._trees))):
                votes[voters, ballot] += 1
        majority: Integers = votes.argmax(axis=1)
        return majority


def compare_with_reference(
    policies: Mapping[str, Policy],
    stream: ClassificationBandit,
    settings: Settings,
    parts: Parts,
    progress: Progress,
) -> ReferenceComparison:
    """Play all, and count regret against the reference forest on the same events."""
    gains, row = _reference(stream, settings, parts, progress)
    played = compare(policies, stream, settings, parts, progress)
    result = replace(played, regrets={name: gains - curves for name, curves in played.rewards.items()})
    return ReferenceComparison(result, [*result.final(), *row])


def _reference(
    stream: ClassificationBandit, settings: Settings, parts: Parts, progress: Progress
) -> tuple[Floats, list[dict[str, Any]]]:
    """The cumulative rewards of the reference, (trials, checkpoints), and its rows of the table."""
    n_rows = min(len(stream.contexts), max(settings.steps, MIN_ROWS))
    of_what = f"of a reference of {n_rows} rows on {stream!r}"
    trained = cache(lambda: _trained(stream, n_rows, settings))  # only if a part is missing
    gains = np.empty((settings.trials, len(log_grid(settings.steps))))
    for trial in range(settings.trials):
        make = partial(_gains, trained, stream, settings, trial, progress)
        gains[trial] = load_or_run(parts, f"trial {trial} {of_what}", settings.steps, progress, make)
    unseen = load_or_run(parts, f"average out of bag {of_what}", 0, progress, lambda: trained()[1])
    seen = float(gains[:, -1].mean()) / settings.steps
    blank = {"regret": None, "plus_minus": None, "events_per_s": None}
    return gains, [
        {"policy": f"reference of {n_rows:,} rows", "average_reward": seen, **blank},
        {"policy": "reference, out of bag", "average_reward": unseen, **blank},
    ]


def _trained(stream: ClassificationBandit, n_rows: int, settings: Settings) -> tuple[ReferenceForest, float]:
    """A forest trained on rows without noise, and its out-of-bag average reward on noisy rows."""
    rng = np.random.default_rng(settings.seed)
    rows = rng.permutation(len(stream.contexts))[:n_rows]
    code_of = {action: code for code, action in enumerate(stream.actions)}
    labels = list(stream.labels)
    codes = np.array([code_of[labels[row]] for row in rows.tolist()])
    contexts = stream.contexts[rows]
    forest = ReferenceForest(contexts, codes, settings)
    sample = contexts[:MAX_UNSEEN]
    noisy = sample ^ (rng.random(sample.shape) < stream.flip).astype(sample.dtype)
    return forest, float((forest.vote_unseen(noisy) == codes[:MAX_UNSEEN]).mean())


def _gains(
    trained: Callable[[], tuple[ReferenceForest, float]],
    stream: ClassificationBandit,
    settings: Settings,
    trial: int,
    progress: Progress,
) -> list[float]:
    """The cumulative reward of the majority vote at each checkpoint of a trial."""
    forest, _ = trained()
    events_seed, _ = trial_seeds(settings.seed, trial)
    rewards = []
    for batch in first_events(stream.batches(seed=events_seed, size=BATCH_SIZE), settings.steps):
        votes = forest.vote(batch.contexts)
        rewards.append(batch.rewards[np.arange(len(votes)), votes])
        progress(len(votes))
    gains: list[float] = np.cumsum(np.concatenate(rewards))[log_grid(settings.steps) - 1].tolist()
    return gains
