"""Online stacking."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.ensembles.softmax_regression import SoftmaxRegression
from stumpery.saving.saveable import Arrays, Options
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class OnlineStacking(OnlineEnsemble):
    """Online stacking: a logistic regression over the members' probabilities from before they learned the event.

    The source is stacked generalisation (Wolpert 1992), with AdaGrad steps (Duchi et al. 2011) for the regression.

    Args:
        models: Learners, ours or river's; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the members, which get `seed`, `seed + 1`, and so on.

    >>> import stumpery as st
    >>> model = OnlineStacking(models=[st.HoeffdingTreeClassifier(), st.HoeffdingTreeClassifier(max_depth=0)])
    >>> rows = [{"hour": event % 24} for event in range(500)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12})
    'work'
    """

    takes_numbers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._meta = SoftmaxRegression()

    def _learn_one(self, x: Any, label: Any) -> None:
        """Train the regression on the members' predictions, and the members on the row."""
        outputs = self._member_outputs(x)
        for member in self.members:
            member.learn_one(x, label)
        if label not in self._meta.classes:
            self._meta.classes.append(label)
        self._meta.learn(self._inputs(outputs), label)

    def _inputs(self, outputs: Sequence[Any]) -> Floats:
        """A column for each class and member, by classes so that new ones come last, and a constant first."""
        probabilities = [output.get(label, 0.0) for label in self._meta.classes for output in outputs]
        return np.array([1.0, *probabilities])

    def _combined(self, outputs: Sequence[Any]) -> Any:
        if not self._meta.classes:
            return {}  # nothing was learned yet
        probabilities = self._meta.probabilities(self._inputs(outputs)).tolist()
        return dict(zip(self._meta.classes, probabilities, strict=True))

    def _options(self) -> Options:
        return {**super()._options(), "_classes": list(self._meta.classes)}

    def _arrays(self) -> Arrays:
        return self._meta.arrays()

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        classes = list(learned["_classes"])
        self._meta = SoftmaxRegression(classes=classes)
        if classes:
            self._meta.probabilities(np.zeros(1 + len(classes) * len(learned["_members"])))
        super()._restore(arrays, learned)
