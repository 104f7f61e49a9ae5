"""Base of streaming classifiers: river's verbs for Hoeffding trees and forests of classes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.labels.classes import Label, checked_classes, class_array, encode_classes
from stumpery.labels.weights import checked_weights
from stumpery.locks import concurrent
from stumpery.options import check_one_of
from stumpery.saving.saveable import Arrays, Options
from stumpery.streaming.explanation import ClassifierRenderer
from stumpery.streaming.model import LabelledRows, StreamModel
from stumpery.streaming.trees.split_search_kernels import GINI, INFORMATION_GAIN
from stumpery.streaming.trees.state_kernels import StreamState
from stumpery.types import Floats

PLAIN_LABELS = frozenset({str, int, float, bool})  # types of classes; others are converted
CRITERIA = {"info_gain": INFORMATION_GAIN, "gini": GINI}


@dataclass(kw_only=True, eq=False)
class StreamClassifier(StreamModel):
    """A streaming classifier: Hoeffding trees that learn classes, in the order of their arrival."""

    split_criterion: str = "info_gain"

    leaf_predictions: ClassVar[tuple[str, ...]] = ("mc", "recent", "nb", "nba", "adaptive")
    river_base: ClassVar[str] = "Classifier"
    _multiclass: ClassVar[bool] = True  # river asks for it

    def __post_init__(self) -> None:
        check_one_of("split_criterion", self.split_criterion, CRITERIA)
        self._classes: list[Label] = []
        self._codes: dict[Label, float] = {}
        super().__post_init__()

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes learned so far."""
        return tuple(self._classes)

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn the class of a row, as if it came `w` times."""
        known = self._codes.get(y) if type(y) in PLAIN_LABELS else None
        if known is not None and self._learn_row(x, known, w):
            return
        classes, codes = encode_classes([y], self._classes)
        weights = checked_weights(w, 1)
        encoder, row = self._encode([x])
        self._check_memory(encoder, len(classes))
        self._take_classes(classes)
        self._learn(LabelledRows(encoder, row, codes, weights))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        classes, checked = self._checked_classes(X, y, w)
        self._take_classes(classes)
        self._learn(checked)

    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""
        self._checked_classes(X, y, w)

    @concurrent
    def predict_proba_one(self, x: Any) -> dict[Label, float]:
        """The probability of each class learned so far."""
        probabilities = self._predict_row(x)
        if probabilities is None:
            probabilities = [0.0] * len(self._classes)
        elif not any(probabilities):
            probabilities = [1.0 / len(self._classes)] * len(self._classes)  # a leaf without events
        return dict(zip(self._classes, probabilities, strict=True))

    @concurrent
    def predict_one(self, x: Any) -> Label | None:
        """The most probable class, or None before the first label."""
        if not self._classes:
            return None
        probabilities = self._predict_row(x)
        return self._classes[0 if probabilities is None else probabilities.index(max(probabilities))]

    @concurrent
    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes`, (rows, classes)."""
        return self._probabilities(X)

    @concurrent
    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        probabilities = self._probabilities(X)
        if not self._classes:
            return np.full(len(probabilities), None, dtype=object)
        predictions: NDArray[Any] = class_array(self._classes)[probabilities.argmax(axis=1)]
        return predictions

    def test_then_learn(self, X: Any, y: Any, w: Any = None) -> Floats:  # noqa: N803
        """The probabilities of `classes` for every row just before it was learned, (rows, classes): one compiled loop.

        Classes have the probability 0 before they came, all of them in the first row.
        """
        classes, checked = self._checked_classes(X, y, w)
        outputs = np.zeros((len(checked.rows), len(classes)))
        self._take_classes(classes)
        self._learn(checked, outputs)
        return outputs

    def _probabilities(self, X: Any) -> Floats:  # noqa: N803
        probabilities = self._predict(X)
        if probabilities is None:
            return np.zeros((frames.n_rows(X, "X"), len(self._classes)))
        probabilities[probabilities.sum(axis=1) == 0.0] = 1.0 / len(self._classes)  # leaves without events
        return probabilities

    def _checked_classes(self, X: Any, y: Any, w: Any) -> tuple[list[Label], LabelledRows]:  # noqa: N803
        """The classes after these labels, and the rows that were checked; nothing changes yet."""
        classes, codes = encode_classes(y, self._classes)
        return classes, self._checked(X, codes, w, len(classes))

    def _take_classes(self, classes: list[Label]) -> None:
        if len(self._codes) != len(classes):
            self._classes = classes
            self._codes = {label: float(code) for code, label in enumerate(classes)}

    def _n_values(self) -> int:
        return len(self._classes)

    def _criterion(self) -> int:
        return CRITERIA[self.split_criterion]

    def _prediction_text(self, x: Any) -> str:
        probabilities = sorted(self.predict_proba_one(x).items(), key=lambda pair: -pair[1])[:3]
        return "prediction: " + ", ".join(f"{label!r} {probability:.1%}" for label, probability in probabilities)

    def _new_renderer(self, state: StreamState, schema: Schema) -> ClassifierRenderer:
        return ClassifierRenderer(state, schema, self._n_trees, self._classes)

    def _options(self) -> Options:
        return {**super()._options(), "_classes": list(self._classes)}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._classes = checked_classes(learned.pop("_classes"))
        super()._restore(arrays, learned)
