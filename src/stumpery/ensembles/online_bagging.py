"""Online bagging, with an out-of-bag estimate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import score_kernels as kernels
from stumpery.ensembles.averaging import ClassProbabilities, likeliest
from stumpery.ensembles.online_ensemble import OnlineEnsemble, takes_weights
from stumpery.random import new_generator
from stumpery.saving.saveable import Arrays

ESTIMATE_EVENTS, ESTIMATE_SUM = range(2)  # events out of some bag, and those predicted right (or squared errors)


@dataclass(kw_only=True, eq=False)
class OnlineBagging(OnlineEnsemble):
    """Online bagging: learners that learn each event Poisson(1) times (Oza 2005).

    An event that a member draws 0 times is out of its bag: the mean of such members' predictions gives an estimate of
    the ensemble's accuracy (of its mean squared error for numbers) without a second pass.

    Args:
        models: A learner, ours or river's, or a list of learners; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the draws; the members get `seed`, `seed + 1`, and so on.

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
        n_events, total = self._estimate.tolist()
        return total / n_events if n_events else float("nan")

    def _learn_one(self, x: Any, label: Any) -> None:
        drawn = self._drawn(1)
        outputs = [
            self._test_then_learn_one(member, x, label, drawn[:, index]) for index, member in enumerate(self.members)
        ]
        self._update_estimate([output for output, times in zip(outputs, drawn[0], strict=True) if times == 0], label)

    def _learn_many(self, rows: Any, labels: list[Any]) -> None:
        """Learn rows that were checked, with our trees in compiled loops."""
        if not all(takes_weights(member) for member in self.members):
            super()._learn_many(rows, labels)
            return
        drawn = self._drawn(len(labels))
        outputs = [
            self._test_then_learn(member, rows, labels, drawn[:, index]) for index, member in enumerate(self.members)
        ]
        for row, label in enumerate(labels):
            self._update_estimate([outputs[member][row] for member in np.flatnonzero(drawn[row] == 0)], label)

    def _test_then_learn_one(self, member: Any, x: Any, label: Any, times: NDArray[np.int64]) -> Any:
        """A member's prediction of a row just before it learns the row."""
        if takes_weights(member):
            return self._test_then_learn(member, [x], [label], times)[0]
        output = member.predict_proba_one(x) if self.is_classifier else member.predict_one(x)
        for _ in range(int(times[0])):
            member.learn_one(x, label)
        return output

    def _test_then_learn(
        self, member: Any, rows: Any, labels: list[Any], times: NDArray[np.int64]
    ) -> list[ClassProbabilities] | list[float]:
        outputs: list[Any] = member.test_then_learn(rows, labels, times.astype(np.float64)).tolist()
        if not self.is_classifier:
            return outputs
        return [
            {label: share for label, share in zip(member.classes, shares, strict=True) if share > 0.0}
            for shares in outputs
        ]

    def _drawn(self, n: int) -> NDArray[np.int64]:
        """How often each member sees each of n events."""
        times = np.zeros((n, len(self.members)), np.int64)
        for row in times:
            kernels.draw_weights(row, self._rng, 1)
        return times

    def _update_estimate(self, outputs: Sequence[Any], label: Any) -> None:
        """Compare the mean of the members' predictions that are not empty with the label."""
        outputs = [output for output in outputs if output != {}]
        if not outputs:
            return
        mean = self._mean(outputs)
        self._estimate[ESTIMATE_EVENTS] += 1.0
        self._estimate[ESTIMATE_SUM] += float(likeliest(mean) == label) if self.is_classifier else (mean - label) ** 2

    def _combined(self, outputs: Sequence[Any]) -> Any:
        return self._mean(outputs)

    def _arrays(self) -> Arrays:
        return {"rng": self._rng, "estimate": self._estimate}
