"""Bagging on a stream, with an estimate from the events that a member did not see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks.ensembles import combining_kernels as kernels
from stumpery.ensembles.member_states import likeliest
from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.random import new_generator

ESTIMATE_EVENTS, ESTIMATE_SUM = range(
    2
)  # of the estimate: events out of some bag, and those it was right about (or squared errors)


@dataclass(kw_only=True, eq=False)
class OnlineBagging(OnlineEnsemble):
    """Learners that see each event Poisson(1) times (Oza 2005).

    An event that a member draws 0 times is out of its bag: the mean of such members' predictions gives an estimate of
    the ensemble's accuracy (of its mean squared error for numbers) without a second pass.

    >>> import stumpery as st
    >>> model = OnlineBagging(models=st.HoeffdingTreeClassifier(), n_models=5, seed=7)
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
        return (
            float(self._estimate[ESTIMATE_SUM] / self._estimate[ESTIMATE_EVENTS])
            if self._estimate[ESTIMATE_EVENTS]
            else float("nan")
        )

    def _learn_one(self, x: Any, label: Any) -> None:
        drawn = self._drawn(1)
        outputs = [self._tested_one(member, x, label, drawn[:, place]) for place, member in enumerate(self.members)]
        self._note([output for output, times in zip(outputs, drawn[0], strict=True) if times == 0], label)

    def _learn_many(self, rows: Any, labels: list[Any]) -> None:
        """Trees of ours go along the rows in compiled loops."""
        if not all(hasattr(member, "test_then_learn") for member in self.members):
            super()._learn_many(rows, labels)
            return
        drawn = self._drawn(len(labels))
        found = [self._tested(member, rows, labels, drawn[:, place]) for place, member in enumerate(self.members)]
        for place, label in enumerate(labels):
            self._note([found[member][place] for member in np.flatnonzero(drawn[place] == 0)], label)

    def _tested_one(self, member: Any, x: Any, label: Any, times: NDArray[np.int64]) -> Any:
        """What a member says of a row before it learns it."""
        if hasattr(member, "test_then_learn"):
            return self._tested(member, [x], [label], times)[0]
        output = member.predict_proba_one(x) if self.is_classifier else member.predict_one(x)
        for _ in range(int(times[0])):
            member.learn_one(x, label)
        return output

    def _tested(self, member: Any, rows: Any, labels: list[Any], times: NDArray[np.int64]) -> list[Any]:
        found = member.test_then_learn(rows, labels, times.astype(np.float64))
        if not self.is_classifier:
            numbers: list[Any] = found.tolist()
            return numbers
        return [
            {
                label: probability
                for label, probability in zip(member.classes, probabilities, strict=True)
                if probability > 0.0
            }
            for probabilities in found.tolist()
        ]

    def _drawn(self, n: int) -> NDArray[np.int64]:
        """How often each member sees each of n events."""
        times = np.zeros((n, len(self.members)), np.int64)
        for row in times:
            kernels.draw_weights(row, self._rng, 1)
        return times

    def _note(self, outputs: Sequence[Any], label: Any) -> None:
        outputs = [output for output in outputs if output != {}]
        if not outputs:
            return
        guess = self._mean(outputs)
        self._estimate[ESTIMATE_EVENTS] += 1.0
        self._estimate[ESTIMATE_SUM] += float(likeliest(guess) == label) if self.is_classifier else (guess - label) ** 2

    def _combined(self, outputs: Sequence[Any]) -> Any:
        return self._mean(outputs)

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        return {"rng": self._rng, "estimate": self._estimate}
