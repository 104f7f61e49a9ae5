"""Training of several seeds at once, as one vectorised program."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.locks import all_exclusive
from stumpery.options import shown
from stumpery.reinforcement.dqn_tree import DQNTree
from stumpery.reinforcement.training.agent import CHUNK_ROWS, TrainingLog, span_capacity, write_log
from stumpery.system.extras import need
from stumpery.types import Floats, Integers


def learn_together(models: Sequence[DQNTree], X: Any, y: Any) -> list[TrainingLog]:  # noqa: N803 - as river names it
    """Train untrained `DQNTree` models that differ in their seeds alone on the same rows, by one vectorised program.

    Made for a GPU, where many seeds take little longer than one. Each model learns as it would alone, up to rounding,
    unless names or classes exceed the capacity set at the end of the warm-up. After an interrupt the models have
    learned the warm-up only. Returns a log for each model.

    Args:
        models: The models, which learn in place.
        X: Rows as a list of dicts, a frame or an array.
        y: The class of each row.

    >>> models = [DQNTree(warm_up=20, batch_size=8, memory=50, seed=seed) for seed in range(2)]
    >>> logs = learn_together(models, [{"x": row % 2} for row in range(40)], ["a", "b"] * 20)
    >>> logs[1].probabilities.shape
    (40, 2)
    """
    _check(models)
    with all_exclusive(models):
        _check_same_options(models)
        encoder, rows, classes, labels = models[0]._encode(X, y)
        logs = [TrainingLog.of(len(rows), len(classes)) for _ in models]
        if encoder is None or not len(rows):
            return logs
        try:
            for model, log in zip(models, logs, strict=True):
                model._extend(encoder, classes)
                done = model._collect_warm_up(rows, labels, log)
            rest = slice(done, None)
            _train(models, encoder.is_categorical, rows[rest], labels[rest], [log.part(rest) for log in logs])
        finally:
            for model in models:
                model._drop_unlearned_classes()
    return logs


def _train(
    models: Sequence[DQNTree],
    is_categorical: NDArray[np.bool_],
    rows: Floats,
    labels: Integers,
    logs: list[TrainingLog],
) -> None:
    """Train on the rows after the warm-up."""
    agents = [model._agent for model in models if model._agent is not None]
    if not agents:
        return

    jax = need("jax", "deep")
    from stumpery.reinforcement.training import dqn

    first = agents[0]  # all see the same rows, so one discretisation serves all
    n_spans = span_capacity(len(first.cells.extended(rows, is_categorical).spans))
    n_classes = int(max(labels, default=0)) + 1
    for agent in agents:
        weights = agent.state.weights
        agent.grow(max(n_spans, len(weights.into)), max(n_classes, weights.reports.shape[1]))
    states = jax.tree.map(lambda *arrays: np.stack(arrays), *(agent.state for agent in agents))
    for done in range(0, len(rows), CHUNK_ROWS):
        part = slice(done, done + CHUNK_ROWS)
        n, n_known = len(labels[part]), int(states.n_classes[0])
        chunk = first.chunk(rows[part], labels[part], is_categorical)
        options, settings = models[0]._dqn_options(), models[0]._dqn_settings()
        states, results = dqn.run_seeds(states, first.spans, options, chunk, np.int32(n), settings)
        for index, (model, log) in enumerate(zip(models, logs, strict=True)):
            result = type(results)(*(array[index] for array in results))
            write_log(result, labels[part], n_known, log.part(part), model._class_probabilities)
    for index, agent in enumerate(agents):
        agent.state = jax.tree.map(lambda array, index=index: array[index], states)
        agent.cells, agent.missed = first.cells, first.missed.copy()


def _check(models: Any) -> None:
    if not isinstance(models, Sequence) or not models or not all(isinstance(model, DQNTree) for model in models):
        raise InvalidInput(f"models is {shown(models)}; it must be a list of one or more DQNTree")


def _check_same_options(models: Sequence[DQNTree]) -> None:
    options = {repr(replace(model, seed=0)) for model in models}
    if len(options) > 1 or any(model.classes for model in models) or len({id(model) for model in models}) < len(models):
        raise InvalidInput("models must be untrained, different objects, and have the same options but for their seeds")
