"""Base of streaming regressors: river's verbs for Hoeffding trees and forests of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery import frames
from stumpery.labels.numbers import checked_targets
from stumpery.labels.weights import checked_weights
from stumpery.models import concurrent
from stumpery.options import check_whole
from stumpery.streaming.explanation import RegressorRenderer
from stumpery.streaming.model import StreamModel
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.state_kernels import N_MOMENTS
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class StreamRegressor(StreamModel):
    """A streaming regressor: Hoeffding trees that learn numbers, with variance reduction as split criterion."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn the number of a row, as if it came `w` times."""
        numbers, weights = checked_targets([y]), checked_weights(w, 1)
        encoder, row = self._encode([x])
        self._check_memory(encoder, N_MOMENTS)
        self._learn(encoder, row, numbers, weights)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        self._learn(*self._checked(X, y, w))

    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""
        self._checked(X, y, w)

    @concurrent
    def predict_one(self, x: Any) -> float:
        """The predicted number; 0 before the first event."""
        return float(self._numbers([x])[0])

    @concurrent
    def predict_many(self, X: Any) -> Floats:  # noqa: N803
        """The predicted number for each row."""
        return self._numbers(X)

    def _numbers(self, X: Any) -> Floats:  # noqa: N803
        outputs = self._predict(X)
        return np.zeros(frames.n_rows(X, "X")) if outputs is None else outputs[:, 0]

    def test_then_learn(self, X: Any, y: Any, w: Any = None) -> Floats:  # noqa: N803
        """The predicted number for every row just before it was learned: one compiled loop."""
        encoder, rows, numbers, weights = self._checked(X, y, w)
        outputs = np.zeros((len(rows), 1))
        self._learn(encoder, rows, numbers, weights, outputs)
        return outputs[:, 0]

    def _checked(self, X: Any, y: Any, w: Any) -> tuple[Any, ...]:  # noqa: N803
        numbers, n = checked_targets(y), frames.n_rows(X, "X")
        if n != len(numbers):
            raise ValueError(f"there are {n} rows and {len(numbers)} labels")
        weights = checked_weights(w, n)
        if n == 0:
            return self._encoder, np.zeros((0, 1)), numbers, weights
        encoder, rows = self._encode(X)
        self._check_memory(encoder, N_MOMENTS)
        return encoder, rows, numbers, weights

    def _n_values(self) -> int:
        return N_MOMENTS

    def _n_outputs(self) -> int:
        return 1

    def _criterion(self) -> int:
        return VARIANCE

    def _prediction_text(self, x: Any) -> str:
        return f"prediction: {self.predict_one(x):.4g}"

    def _renderer(self, tree: int = 0) -> RegressorRenderer:
        check_whole("tree", tree, 0, self._n_trees - 1)
        if self._arena is None or self.schema is None:
            raise ValueError("nothing has been learned yet: there is no tree to show")
        return RegressorRenderer(self._arena.state, self.schema, self._n_trees)
