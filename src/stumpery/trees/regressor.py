"""What all trees of numbers share: river's verbs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.options import check_whole, shown
from stumpery.trees.classes import listed
from stumpery.trees.gains_kernels import VARIANCE
from stumpery.trees.hoeffding_kernels import LEARNS, PREDICTS
from stumpery.trees.leaves_kernels import N_MOMENTS
from stumpery.trees.stream_model import StreamModel, checked_weights
from stumpery.trees.stream_words import NumberWords
from stumpery.types import Floats

LARGEST = 1e18  # of a number to predict: its square must fit


@dataclass(kw_only=True, eq=False)
class StreamRegressor(StreamModel):
    """Trees that learn numbers; a split is weighed by the variance that it explains."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn the number of a row, as if it came `w` times."""
        numbers, weights = checked_numbers([y]), checked_weights(w, 1)
        self._learn(*self._read_one(x), numbers, weights)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        self._learn(*self._checked(X, y, w))

    def predict_one(self, x: Any) -> float:
        """The number to expect; 0 before the first event."""
        return float(self.predict_many([x])[0])

    def predict_many(self, X: Any) -> Floats:  # noqa: N803
        """The number to expect for each row."""
        if self._model is None or self._rows is None:
            return np.zeros(frames.n_rows(X, "X"))
        if isinstance(X, list) and len(X) == 1:
            return self._predicted(self._rows.one(X[0]).reshape(1, -1), 1)[:, 0]
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
            return self._rows, np.zeros((0, 1), np.float32), numbers, weights
        return *self._read(X), numbers, weights

    def _learn(
        self,
        known: Any,
        rows: NDArray[np.float32],
        numbers: Floats,
        weights: Floats,
        outputs: Floats | None = None,
    ) -> None:
        if not len(rows):
            return
        before = self._rows, self.schema
        try:
            self._take(known)
            self._allocate()
        except ValueError:
            self._rows = before[0]
            self.__dict__["schema"] = before[1]
            raise
        if outputs is None:
            self._go(rows, numbers, weights, np.zeros((1, 1)), LEARNS)
        else:
            self._go(rows, numbers, weights, outputs, LEARNS | PREDICTS)

    def _n_values(self) -> int:
        return N_MOMENTS

    def _criterion(self) -> int:
        return VARIANCE

    def _told(self, x: Any) -> str:
        return f"prediction: {self.predict_one(x):.4g}"

    def _words(self, tree: int = 0) -> NumberWords:
        check_whole("tree", tree, 0, self._n_trees - 1)
        if self._model is None or self.schema is None:
            raise ValueError("nothing has been learned yet: there is no tree to show")
        return NumberWords(self._model, self.schema, self._n_trees)


def checked_numbers(y: Any) -> Floats:
    """Finite numbers; anything else is refused."""
    values = listed("y", y)
    for value in values:
        fits = isinstance(value, int | float | np.integer | np.floating | np.bool_)
        if not fits or not math.isfinite(value) or abs(value) > LARGEST:
            raise ValueError(f"a label is {shown(value)}; it must be a number from {-LARGEST:g} to {LARGEST:g}")
    return np.array(values, dtype=np.float64)
