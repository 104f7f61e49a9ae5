"""LightGBM as a contextual bandit: one model of the reward over columns and action, refitted now and then."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from stumpery.encoding import Schema, VectorEncoder
from stumpery.policies.records import ChosenActions
from stumpery.types import Action, Floats

FIRST_FIT = 50  # events, of actions drawn uniformly
GROWTH = 1.3  # of the events from one fit to the next
GAMMA = 10.0  # inverse-gap weighting: an action falls back by GAMMA * sqrt(t) times its gap
N_FIRST_ROWS = 1000  # whose names are known
OPTIONS = {"objective": "l2", "num_leaves": 15, "min_data_in_leaf": 10, "learning_rate": 0.1, "verbose": -1}
N_ROUNDS = 60


class RefittedTrees:
    """Gradient boosting over contexts and actions, fitted to all events so far, with inverse-gap weighting.

    Categories are codes, actions a categorical column. Between two fits the model stays.
    """

    def __init__(self, *, actions: Sequence[Action], seed: int) -> None:
        self._lightgbm = import_module("lightgbm")
        self._n_actions = len(actions)
        self._seed = seed % 2**31
        self._rng = np.random.default_rng(seed)
        self._encoder: VectorEncoder | None = None
        self._rows: list[Floats] = []
        self._rewards: list[Floats] = []
        self._n_events, self._next_fit = 0, FIRST_FIT
        self._model: Any = None

    @property
    def n_bytes(self) -> int:
        """The rows that it has."""
        return sum(rows.nbytes for rows in self._rows)

    def play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        """Decide and learn, from one fit to the next; the rewards of all actions are known."""
        if self._encoder is None:
            self._encoder = VectorEncoder(schema=Schema.infer(contexts[:N_FIRST_ROWS]), one_hot=False)
        rows = np.asarray(self._encoder.encode_many(contexts), dtype=np.float64)
        played = ChosenActions.empty(len(rewards))
        start = 0
        while start < len(rows):
            end = min(len(rows), start + self._next_fit - self._n_events)
            part = slice(start, end)
            actions, probabilities = self._decide(rows[part])
            played.actions[part], played.probabilities[part] = actions, probabilities
            self._rows.append(np.column_stack([rows[part], actions]))
            self._rewards.append(rewards[part][np.arange(end - start), actions])
            self._n_events += end - start
            start = end
            if self._n_events == self._next_fit:
                self._fit()
        return played

    def _fit(self) -> None:
        data = self._lightgbm.Dataset(
            np.concatenate(self._rows),
            np.concatenate(self._rewards),
            categorical_feature=[self._rows[0].shape[1] - 1],
            params={"verbose": -1},
        )
        options = {**OPTIONS, "seed": self._seed, "num_threads": 1, "deterministic": True}
        self._model = self._lightgbm.train(options, data, N_ROUNDS)
        self._next_fit = int(GROWTH * self._next_fit) + 1

    def _decide(self, rows: Floats) -> tuple[Any, Floats]:
        """Drawn actions of some rows, and their probabilities."""
        n = len(rows)
        probabilities = np.full((n, self._n_actions), 1.0 / self._n_actions)
        if self._model is not None:
            each = np.column_stack([np.repeat(rows, self._n_actions, axis=0), np.tile(np.arange(self._n_actions), n)])
            scores = self._model.predict(each, num_threads=1).reshape(n, self._n_actions)
            gaps = scores.max(axis=1, keepdims=True) - scores
            times = np.arange(self._n_events, self._n_events + n)[:, np.newaxis]
            probabilities = 1.0 / (self._n_actions + GAMMA * np.sqrt(times) * gaps)
            best = scores.argmax(axis=1)
            probabilities[np.arange(n), best] = 0.0
            probabilities[np.arange(n), best] = 1.0 - probabilities.sum(axis=1)
        bounds = probabilities.cumsum(axis=1)
        actions = (self._rng.random((n, 1)) * bounds[:, -1:] > bounds).sum(axis=1).clip(max=self._n_actions - 1)
        return actions, probabilities[np.arange(n), actions]
