"""Base of streaming regressors: river's verbs for Hoeffding trees and forests of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.labels.numbers import MAX_TARGET, checked_targets
from stumpery.labels.weights import checked_weights
from stumpery.locks import concurrent
from stumpery.streaming.explanation import RegressorRenderer
from stumpery.streaming.model import LabelledRows, StreamModel
from stumpery.streaming.trees.split_search_kernels import VARIANCE
from stumpery.streaming.trees.state_kernels import N_MOMENTS, StreamState
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class StreamRegressor(StreamModel):
    """A streaming regressor: Hoeffding trees that learn numbers, with variance reduction as split criterion."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn the number of a row, as if it came `w` times."""
        if type(y) in (float, int) and abs(y) <= MAX_TARGET and self._learn_row(x, y, w):
            return
        numbers, weights = checked_targets([y]), checked_weights(w, 1)
        encoder, row = self._encode([x])
        self._check_memory(encoder, N_MOMENTS)
        self._learn(LabelledRows(encoder, row, numbers, weights))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        self._learn(self._checked(X, checked_targets(y), w, N_MOMENTS))

    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""
        self._checked(X, checked_targets(y), w, N_MOMENTS)

    @concurrent
    def predict_one(self, x: Any) -> float:
        """The predicted number; 0 before the first event."""
        outputs = self._predict_row(x)
        return 0.0 if outputs is None else outputs[0]

    @concurrent
    def predict_many(self, X: Any) -> Floats:  # noqa: N803
        """The predicted number for each row."""
        return self._numbers(X)

    def _numbers(self, X: Any) -> Floats:  # noqa: N803
        outputs = self._predict(X)
        return np.zeros(frames.n_rows(X, "X")) if outputs is None else outputs[:, 0]

    def test_then_learn(self, X: Any, y: Any, w: Any = None) -> Floats:  # noqa: N803
        """The predicted number for every row just before it was learned: one compiled loop."""
        checked = self._checked(X, checked_targets(y), w, N_MOMENTS)
        outputs = np.zeros((len(checked.rows), 1))
        self._learn(checked, outputs)
        return outputs[:, 0]

    def _n_values(self) -> int:
        return N_MOMENTS

    def _criterion(self) -> int:
        return VARIANCE

    def _prediction_text(self, x: Any) -> str:
        return f"prediction: {self.predict_one(x):.4g}"

    def _new_renderer(self, state: StreamState, schema: Schema) -> RegressorRenderer:
        return RegressorRenderer(state, schema, self._n_trees)
