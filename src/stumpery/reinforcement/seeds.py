"""Several seeds at once: one stream, one vectorised program."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.locks import all_exclusive
from stumpery.options import shown
from stumpery.reinforcement.dqn_tree import DQNTree
from stumpery.reinforcement.training.agent import CHUNK_ROWS, TrainingLog, room, watch
from stumpery.system.extras import need
from stumpery.types import Floats, Integers


def learn_together(models: Sequence[DQNTree], X: Any, y: Any) -> list[TrainingLog]:  # noqa: N803 - as river names it
    """Let untrained models of one recipe, but for their seeds, learn the same rows by one program.

    Made for a GPU, where many seeds take little longer than one. Each learns as it would alone, up to rounding,
    where no name or class comes for which the warm-up left no room. Interrupted, they have learned the warm-up alone.

    >>> models = [DQNTree(warm_up=20, batch_size=8, memory=50, seed=seed) for seed in range(2)]
    >>> watched = learn_together(models, [{"x": place % 2} for place in range(40)], ["a", "b"] * 20)
    >>> watched[1].probabilities.shape
    (40, 2)
    """
    _check(models)
    with all_exclusive(models):
        _check_recipes(models)
        known, rows, classes, labels = models[0]._checked(X, y)
        watched = [TrainingLog.of(len(rows), len(classes)) for _ in models]
        if known is None or not len(rows):
            return watched
        try:
            for model, own in zip(models, watched, strict=True):
                model._take(known, classes)
                done = model._wait(rows, labels, own)
            _go_on(
                models,
                known.is_categorical,
                rows[done:],
                labels[done:],
                [own.part(slice(done, None)) for own in watched],
            )
        finally:
            for model in models:
                model._drop_unlearned()
    return watched


def _go_on(
    models: Sequence[DQNTree],
    is_categorical: NDArray[np.bool_],
    rows: Floats,
    labels: Integers,
    watched: list[TrainingLog],
) -> None:
    """Learn what comes after the warm-up."""
    trainees = [model._trainee for model in models if model._trainee is not None]
    if not trainees:
        return

    jax = need("jax", "deep")
    from stumpery.reinforcement.training import dqn

    first = trainees[0]  # the rows are the same for all, so what its cells learn is what all learn
    n_spans = room(len(first.cells.knowing(rows, is_categorical).spans))
    n_classes = int(max(labels, default=0)) + 1
    for trainee in trainees:
        weights = trainee.learner.weights
        trainee.grow(max(n_spans, len(weights.into)), max(n_classes, weights.reports.shape[1]))
    learners = jax.tree.map(lambda *each: np.stack(each), *(trainee.learner for trainee in trainees))
    for done in range(0, len(rows), CHUNK_ROWS):
        part = slice(done, done + CHUNK_ROWS)
        n, n_came = len(labels[part]), int(learners.n_classes[0])
        stretch = first.stretch(rows[part], labels[part], is_categorical)
        rule, kind = models[0]._rule(), models[0]._kind()
        learners, found = dqn.run_seeds(learners, first.spans, rule, stretch, np.int32(n), kind)
        for place, (model, own) in enumerate(zip(models, watched, strict=True)):
            one = type(found)(*(array[place] for array in found))
            watch(one, labels[part], n_came, own.part(part), model._probabilities)
    for place, trainee in enumerate(trainees):
        trainee.learner = jax.tree.map(lambda array, at=place: array[at], learners)
        trainee.cells, trainee.missed = first.cells, first.missed.copy()


def _check(models: Any) -> None:
    if not isinstance(models, Sequence) or not models or not all(isinstance(model, DQNTree) for model in models):
        raise ValueError(f"models is {shown(models)}; it must be a list of one or more DQNTree")


def _check_recipes(models: Sequence[DQNTree]) -> None:
    recipes = {repr(replace(model, seed=0)) for model in models}
    if len(recipes) > 1 or any(model.classes for model in models) or len({id(model) for model in models}) < len(models):
        raise ValueError("models differ in more than their seeds, or have learned; they must be new and of one recipe")
