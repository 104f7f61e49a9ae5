"""A learner with river's verbs in a selector's place of the classifier: what it is told of columns and classes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stumpery.options import shown
from stumpery.selection.classifiers import Learner
from stumpery.types import Action


class LoadedLearner(NamedTuple):
    """A learner from a file, which keeps the columns that it has: older versions gave it those of one round alone."""

    learner: Learner


class SelectedLearner:
    """A learner that sees some features of each event.

    One that has `declare_columns`, as ours have, is told all columns before the first row, for which features are named
    by strings; its rows lack the columns that were not looked at. A binary one gets True and False for two classes.
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
            self._columns = _text_of(names)
            if not is_loaded:
                declare(list(self._columns.values()))

    def predict_one(self, values: dict[Action, Any]) -> Any:
        """The class of an event, from what was looked at."""
        guess = self._learner.predict_one(self._row(values))
        return self._classes[int(guess)] if self._classes and guess is not None else guess

    def learn_one(self, values: dict[Action, Any], y: Any) -> None:
        """Learn the class of an event, from what was looked at."""
        self._learner.learn_one(self._row(values), y == self._classes[1] if self._classes else y)

    def _row(self, values: dict[Action, Any]) -> dict[Any, Any]:
        return {self._columns[name]: value for name, value in values.items()}


def _text_of(names: Sequence[Action]) -> dict[Action, str]:
    """Features' names as text, as columns are named."""
    texts: dict[str, Action] = {}
    for name in names:
        other = texts.setdefault(str(name), name)
        if other is not name:
            raise ValueError(f"features hold {shown(other)} and {shown(name)}, which would be one column; rename one")
    return {name: text for text, name in texts.items()}
