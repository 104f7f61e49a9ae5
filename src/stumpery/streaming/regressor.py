"""What all trees of numbers share: river's verbs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery import frames
from stumpery.labels.lists import listed_labels
from stumpery.labels.weights import checked_weights
from stumpery.models import concurrent
from stumpery.options import check_whole, shown
from stumpery.streaming.explanation import RegressorRenderer
from stumpery.streaming.model import StreamModel
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.leaf_predictors_kernels import N_MOMENTS
from stumpery.types import Floats

LARGEST = 1e15  # of a number to predict: the squares of all in a leaf must fit into 32 bits


@dataclass(kw_only=True, eq=False)
class StreamRegressor(StreamModel):
    """Trees that learn numbers; a split is weighed by the variance that it explains."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn the number of a row, as if it came `w` times."""
        numbers, weights = checked_numbers([y]), checked_weights(w, 1)
        rows, row = self._read([x])
        self._check_room(rows, N_MOMENTS)
        self._learn(rows, row, numbers, weights)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        self._learn(*self._checked(X, y, w))

    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""
        self._checked(X, y, w)

    @concurrent
    def predict_one(self, x: Any) -> float:
        """The number to expect; 0 before the first event."""
        return float(self._numbers([x])[0])

    @concurrent
    def predict_many(self, X: Any) -> Floats:  # noqa: N803
        """The number to expect for each row."""
        return self._numbers(X)

    def _numbers(self, X: Any) -> Floats:  # noqa: N803
        if self._model is None or self._encoder is None:
            return np.zeros(frames.n_rows(X, "X"))
        if isinstance(X, list) and len(X) == 1:
            return self._predicted(self._encoder.one(X[0]).reshape(1, -1), 1)[:, 0]
        return self._predicted(self._known_rows(X), 1)[:, 0]

    def test_then_learn(self, X: Any, y: Any, w: Any = None) -> Floats:  # noqa: N803
        """The number to expect for every row just before it was learned: one compiled loop."""
        known, rows, numbers, weights = self._checked(X, y, w)
        outputs = np.zeros((len(rows), 1))
        self._learn(known, rows, numbers, weights, outputs)
        return outputs[:, 0]

    def _checked(self, X: Any, y: Any, w: Any) -> tuple[Any, ...]:  # noqa: N803
        numbers, n = checked_numbers(y), frames.n_rows(X, "X")
        if n != len(numbers):
            raise ValueError(f"there are {n} rows and {len(numbers)} labels")
        weights = checked_weights(w, n)
        if n == 0:
            return self._encoder, np.zeros((0, 1)), numbers, weights
        known, rows = self._read(X)
        self._check_room(known, N_MOMENTS)
        return known, rows, numbers, weights

    def _n_values(self) -> int:
        return N_MOMENTS

    def _n_outputs(self) -> int:
        return 1

    def _criterion(self) -> int:
        return VARIANCE

    def _told(self, x: Any) -> str:
        return f"prediction: {self.predict_one(x):.4g}"

    def _words(self, tree: int = 0) -> RegressorRenderer:
        check_whole("tree", tree, 0, self._n_trees - 1)
        if self._model is None or self.schema is None:
            raise ValueError("nothing has been learned yet: there is no tree to show")
        return RegressorRenderer(self._model, self.schema, self._n_trees)


def checked_numbers(y: Any) -> Floats:
    """Finite numbers; anything else is refused."""
    values = listed_labels("y", y)
    for value in values:
        fits = isinstance(value, int | float | np.integer | np.floating | np.bool_)
        if not fits or not abs(value) <= LARGEST:
            raise ValueError(f"a label is {shown(value)}; it must be a number from {-LARGEST:g} to {LARGEST:g}")
    return np.array(values, dtype=np.float64)
