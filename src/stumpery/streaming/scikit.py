"""Trees and forests as estimators of scikit-learn: `fit`, `partial_fit`, `predict`, `predict_proba`.

Rows are a frame of mixed columns (numbers, strings, categoricals; NaN, None and nulls are missing), which is read by
the names of its columns, or a matrix of numbers or of objects, which is read by their order.

This file is imported only where it is asked for, because it needs scikit-learn.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.system.extras import need

need("sklearn", "study")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

from stumpery.frames import open_frame  # noqa: E402
from stumpery.options import check_whole, listed, shown  # noqa: E402
from stumpery.streaming.forests import ForestClassifier, ForestRegressor  # noqa: E402
from stumpery.streaming.hoeffding_trees import HoeffdingTreeClassifier, HoeffdingTreeRegressor  # noqa: E402
from stumpery.types import Floats  # noqa: E402

LARGEST_SEED = 2**31 - 1


class _Streamed(BaseEstimator):  # type: ignore[misc]
    """Base of both estimators: validation and encoding of rows."""

    def __init__(
        self,
        *,
        n_models: int = 1,
        options: dict[str, Any] | None = None,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_models = n_models
        self.options = options
        self.shuffle = shuffle
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _seed(self) -> int:
        state = self.random_state
        if state is None:
            return 0
        if isinstance(state, np.random.RandomState):
            return int(state.randint(LARGEST_SEED))
        check_whole("random_state", state, 0, LARGEST_SEED)
        return int(state)

    def _new(self, tree: Any, forest: Any) -> Any:
        if not isinstance(self.options, Mapping | None):
            raise InvalidInput(f"options is {shown(self.options)}; it must be a dict of the model's options or None")
        kind = tree if self.n_models == 1 else forest
        options = {"seed": self._seed(), **(self.options or {})}
        unknown = sorted(options.keys() - kind.__dataclass_fields__.keys())
        if unknown:
            raise InvalidInput(f"options hold {listed(unknown)}, which {kind.__name__} does not have")
        return kind(**options) if self.n_models == 1 else kind(n_models=self.n_models, **options)

    def _checked(self, X: Any, *, reset: bool = False) -> Any:  # noqa: N803
        """Rows as the models take them."""
        if _is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise InvalidInput("X has 0 sample(s); at least 1 is required")
            if reset or hasattr(self, "feature_names_in_"):
                return X
            X = open_frame("X", X, "a frame").to_numpy()  # noqa: N806 - it was fitted to a matrix
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")  # noqa: N806
        return X.astype(np.float64) if X.dtype.kind in "biuf" else X

    def _labelled(self, X: Any, y: Any, *, reset: bool) -> Any:  # noqa: N803
        if not _is_frame(X):
            X, y = validate_data(self, X, y, reset=reset, dtype=None, ensure_all_finite="allow-nan")  # noqa: N806
            return X.astype(np.float64) if X.dtype.kind in "biuf" else X, y
        rows, y = self._checked(X, reset=reset), column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(rows, y)
        return rows, y

    def _shuffled(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Rows and labels in the order in which `fit` learns them."""
        if not isinstance(self.shuffle, bool | np.bool_):
            raise InvalidInput(f"shuffle is {shown(self.shuffle)}; it must be True or False")
        if not self.shuffle:
            return X, y
        order = np.random.default_rng(self._seed()).permutation(len(y))
        return (open_frame("X", X, "a frame")[order.tolist()] if _is_frame(X) else X[order]), np.asarray(y)[order]


def _is_frame(X: Any) -> bool:  # noqa: N803
    """Whether rows are a frame whose columns have names."""
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(X) and all(
        isinstance(name, str) for name in getattr(X, "column_names", None) or X.columns
    )


class StreamClassifierEstimator(ClassifierMixin, _Streamed):  # type: ignore[misc]
    """scikit-learn classifier: a Hoeffding tree, or with `n_models` above 1 a forest.

    Args:
        n_models: Number of trees, 1 or more.
        options: Options of `HoeffdingTreeClassifier` or `ForestClassifier` by name; None for their defaults.
        shuffle: Whether `fit` learns the rows in random order, as tables are often sorted by their labels, which a
            stream would take for drift. `partial_fit` always keeps the order.
        random_state: Seed, as scikit-learn takes it: a whole number, a RandomState, or None for 0.

    >>> rows = np.random.default_rng(0).random((300, 2))
    >>> model = StreamClassifierEstimator().fit(rows, rows[:, 0] > 0.5)
    >>> bool(model.score(rows, rows[:, 0] > 0.5) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from all rows, and forget what was learned before."""
        X, y = self._labelled(X, y, reset=True)  # noqa: N806
        check_classification_targets(y)
        self._learn(self._new(HoeffdingTreeClassifier, ForestClassifier), np.unique(y), *self._shuffled(X, y))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # noqa: N803
        """Learn from more rows; the first call may name all classes."""
        is_first = not hasattr(self, "model_")
        X, y = self._labelled(X, y, reset=is_first)  # noqa: N806
        check_classification_targets(y)
        model = self._new(HoeffdingTreeClassifier, ForestClassifier) if is_first else self.model_
        self._learn(model, self._extended(np.unique(y), classes if is_first else self.classes_, is_first), X, y)
        return self

    def _extended(self, labels: NDArray[Any], known: Any, is_closed: bool) -> NDArray[Any]:
        """The known classes and those of `labels`, which must be among them if they were named beforehand."""
        if known is None:
            return labels
        classes = np.unique(known)
        is_text = classes.dtype.kind in "US"
        unknown = set(labels.tolist()) - set(classes.tolist()) if is_closed else ()
        if unknown or (labels.dtype.kind in "US") != is_text:
            raise InvalidInput(f"y holds {listed(labels.tolist())}; classes are {listed(classes.tolist())}")
        return np.union1d(classes, labels)

    def _learn(self, model: Any, classes: NDArray[Any], rows: Any, y: Any) -> None:
        """Learn rows; on an error nothing changes."""
        model.learn_many(rows, y)
        self.model_, self.classes_ = model, classes

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes_`, (rows, classes)."""
        check_is_fitted(self)
        of_known_classes = self.model_.predict_proba_many(self._checked(X))
        probabilities = np.zeros((len(of_known_classes), len(self.classes_)))
        probabilities[:, np.searchsorted(self.classes_, np.array(self.model_.classes))] = of_known_classes
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each row."""
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


class StreamRegressorEstimator(RegressorMixin, _Streamed):  # type: ignore[misc]
    """scikit-learn regressor: a Hoeffding tree, or with `n_models` above 1 a forest.

    Args:
        n_models: Number of trees, 1 or more.
        options: Options of `HoeffdingTreeRegressor` or `ForestRegressor` by name; None for their defaults.
        shuffle: Whether `fit` learns the rows in random order, as tables are often sorted by their labels, which a
            stream would take for drift. `partial_fit` always keeps the order.
        random_state: Seed, as scikit-learn takes it: a whole number, a RandomState, or None for 0.

    >>> rows = np.random.default_rng(0).random((500, 2))
    >>> model = StreamRegressorEstimator().fit(rows, rows[:, 0])
    >>> bool(model.score(rows, rows[:, 0]) > 0.8)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from all rows, and forget what was learned before."""
        X, y = self._shuffled(*self._labelled(X, y, reset=True))  # noqa: N806
        model = self._new(HoeffdingTreeRegressor, ForestRegressor)
        model.learn_many(X, np.asarray(y, dtype=np.float64))
        self.model_ = model
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from more rows."""
        is_first = not hasattr(self, "model_")
        X, y = self._labelled(X, y, reset=is_first)  # noqa: N806
        model = self._new(HoeffdingTreeRegressor, ForestRegressor) if is_first else self.model_
        model.learn_many(X, np.asarray(y, dtype=np.float64))
        self.model_ = model
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The predicted number of each row."""
        check_is_fitted(self)
        predictions: Floats = self.model_.predict_many(self._checked(X))
        return predictions
