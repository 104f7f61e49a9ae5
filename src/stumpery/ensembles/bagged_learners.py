"""Bagging on a stream, with an estimate from the events that a member did not see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.ensembles import combining_kernels as kernels
from stumpery.ensembles.learners import LearnerEnsemble, averaged, checked_label, likeliest
from stumpery.random import new_generator

N_TOLD, RIGHT = range(2)  # of the estimate: events out of some bag, and those it was right about (or squared errors)


@dataclass(kw_only=True, eq=False)
class BaggedLearners(LearnerEnsemble):
    """Learners that see each event Poisson(1) times (Oza 2005): what `OnlineBagging(models=...)` makes.

    An event that a member draws 0 times is out of its bag: the mean of such members' predictions gives an estimate of
    the ensemble's accuracy (of its mean squared error for numbers) without a second pass.

    >>> import stumpery as st
    >>> model = st.OnlineBagging(models=st.HoeffdingTreeClassifier(), n_models=5, seed=7)
    >>> rows = [{"hour": event % 24} for event in range(1000)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12}), model.out_of_bag > 0.8
    ('work', True)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rng = new_generator(self.seed)
        self._estimate = np.zeros(2)

    @property
    def out_of_bag(self) -> float:
        """The accuracy, or the mean squared error, on events out of the bag; NaN before the first."""
        return float(self._estimate[RIGHT] / self._estimate[N_TOLD]) if self._estimate[N_TOLD] else float("nan")

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row."""
        label = checked_label(y, is_classifier=self.is_classifier)
        outputs = [self._output(member, x) for member in self.members]
        drawn = self._drawn(1)[0]
        for member, times in zip(self.members, drawn.tolist(), strict=True):
            for _ in range(times if not hasattr(member, "test_then_learn") else min(times, 1)):
                member.learn_one(x, label, **({"w": float(times)} if hasattr(member, "test_then_learn") else {}))
        self._note([output for output, times in zip(outputs, drawn, strict=True) if times == 0], label)

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803
        """Learn from many rows: equals the loop of `learn_one`; members of ours go along them in compiled loops."""
        if not all(hasattr(member, "test_then_learn") for member in self.members):
            super().learn_many(X, y)
            return
        labels = [checked_label(label, is_classifier=self.is_classifier) for label in self._labels(X, y)]
        if not labels:
            return
        before = self._rng.copy()
        drawn = self._drawn(len(labels))
        try:
            found = [self._tested(member, X, labels, drawn[:, place]) for place, member in enumerate(self.members)]
        except ValueError:
            self._rng[:] = before
            raise
        for place, label in enumerate(labels):
            self._note([found[member][place] for member in np.flatnonzero(drawn[place] == 0)], label)

    def _tested(self, member: Any, rows: Any, labels: list[Any], times: NDArray[np.int64]) -> list[Any]:
        found = member.test_then_learn(rows, labels, times.astype(np.float64))
        if not self.is_classifier:
            numbers: list[Any] = found.tolist()
            return numbers
        return [
            {label: chance for label, chance in zip(member.classes, chances, strict=True) if chance > 0.0}
            for chances in found.tolist()
        ]

    def _drawn(self, n: int) -> NDArray[np.int64]:
        """How often each member sees each of n events."""
        times = np.zeros((n, len(self.members)), np.int64)
        for row in times:
            kernels.draw_weights(row, self._rng, 1)
        return times

    def _output(self, member: Any, x: Any) -> Any:
        return member.predict_proba_one(x) if self.is_classifier else member.predict_one(x)

    def _note(self, outputs: Sequence[Any], label: Any) -> None:
        outputs = [output for output in outputs if output != {}]
        if not outputs:
            return
        guess = averaged(outputs)
        self._estimate[N_TOLD] += 1.0
        self._estimate[RIGHT] += float(likeliest(guess) == label) if self.is_classifier else (guess - label) ** 2

    def _combined(self, outputs: Sequence[Any]) -> Any:
        return averaged(outputs)

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        return {"rng": self._rng, "estimate": self._estimate}
