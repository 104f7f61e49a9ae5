"""Adapter of a learner with river's verbs as the classifier of a selector: its columns and classes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.selection.classifiers import Learner
from stumpery.types import Action


class LoadedLearner(NamedTuple):
    """A learner from a file, which keeps its columns: older versions declared those of one round only."""

    learner: Learner


class SelectedLearner:
    """A learner as a classifier of rows with some of the features.

    The columns of all features are declared to a learner with `declare_columns` (ours have it) before the first row,
    named by strings; features that were not selected are missing in its rows. A binary learner gets True and False for
    two classes.
    """

    def __init__(
        self, learner: Learner, names: Sequence[Action], classes: tuple[Any, ...], *, is_loaded: bool = False
    ) -> None:
        self._learner = learner
        self._columns: Mapping[Action, Any] = dict(zip(names, names, strict=True))
        is_binary = getattr(learner, "_multiclass", True) is False and len(classes) == 2
        self._classes = classes if is_binary and set(classes) != {0, 1} else ()
        declare = getattr(learner, "declare_columns", None)
        if declare is not None:
            self._columns = _column_names(names)
            if not is_loaded:
                declare(list(self._columns.values()))

    def predict_one(self, values: dict[Action, Any]) -> Any:
        """Predict the class of an event from its selected features."""
        predicted = self._learner.predict_one(self._row(values))
        return self._classes[int(predicted)] if self._classes and predicted is not None else predicted

    def learn_one(self, values: dict[Action, Any], y: Any) -> None:
        """Learn the class of an event from its selected features."""
        self._learner.learn_one(self._row(values), y == self._classes[1] if self._classes else y)

    def _row(self, values: dict[Action, Any]) -> dict[Any, Any]:
        return {self._columns[name]: value for name, value in values.items()}


def _column_names(names: Sequence[Action]) -> dict[Action, str]:
    """The names of features as column names, which are strings."""
    texts: dict[str, Action] = {}
    for name in names:
        other = texts.setdefault(str(name), name)
        if other is not name:
            raise InvalidInput(f"features hold {shown(other)} and {shown(name)}, which would be one column; rename one")
    return {name: text for text, name in texts.items()}
