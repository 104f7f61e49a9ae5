"""Online boosting."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stumpery.ensembles.averaging import likeliest
from stumpery.ensembles.online_ensemble import OnlineEnsemble, takes_weights
from stumpery.random import new_generator, poisson
from stumpery.saving.saveable import Arrays

MAX_POISSON_MEAN = 100.0
MIN_MEMBER_ERROR = 1e-6  # the error of a member stays within this and 1 minus this


@dataclass(kw_only=True, eq=False)
class OnlineBoosting(OnlineEnsemble):
    """Online boosting: higher weights for events that earlier learners misclassified (Oza and Russell 2001).

    An event comes with the weight 1 to the first learner, which sees it Poisson(weight) times. Where it is right, the
    weight falls for those after it so that its rights and its wrongs come to count the same; where it is wrong, it
    rises. A learner votes with log((1 - error) / error); one that is wrong more often than not does not vote.

    Args:
        models: A classifier, ours or river's, or a list of classifiers; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the draws; the members get `seed`, `seed + 1`, and so on.

    >>> import stumpery as st
    >>> stump = st.HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc")
    >>> model = OnlineBoosting(models=stump, n_models=10, seed=7)
    >>> rows = [{"a": event * 7 % 10, "b": event * 5 % 11} for event in range(2000)]
    >>> labels = ["up" if row["a"] + row["b"] > 9 else "down" for row in rows]
    >>> model.learn_many(rows, labels)
    >>> stump.learn_many(rows, labels)
    >>> alone, boosted = (sum(map(str.__eq__, each.predict_many(rows), labels)) for each in (stump, model))
    >>> boosted > alone + 200
    True
    """

    takes_numbers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rng = new_generator(self.seed)
        self._right = np.zeros(len(self.members))
        self._wrong = np.zeros(len(self.members))

    def _learn_one(self, x: Any, label: Any) -> None:
        """Train the members one after the other, with the weight that those before leave."""
        weight = 1.0
        for index, member in enumerate(self.members):
            times = poisson(self._rng, min(weight, MAX_POISSON_MEAN))
            if takes_weights(member):  # also 0 times: it learns the names of categories and classes
                member.learn_one(x, label, float(times))
            else:
                for _ in range(times):
                    member.learn_one(x, label)
            sums = self._right if likeliest(member.predict_proba_one(x)) == label else self._wrong
            sums[index] += weight
            weight *= (self._right[index] + self._wrong[index]) / (2.0 * sums[index])

    @property
    def votes(self) -> list[float]:
        """The weight of each member's vote."""
        votes = []
        for right, wrong in zip(self._right.tolist(), self._wrong.tolist(), strict=True):
            error = min(max(wrong / max(right + wrong, 1e-12), MIN_MEMBER_ERROR), 1.0 - MIN_MEMBER_ERROR)
            votes.append(max(math.log((1.0 - error) / error), 0.0) if right + wrong else 0.0)
        return votes

    def _combined(self, outputs: Sequence[Any]) -> Any:
        ballots = [
            ({**dict.fromkeys(output, 0.0), likeliest(output): 1.0}, vote)
            for output, vote in zip(outputs, self.votes, strict=True)
            if output
        ]
        if not any(vote for _, vote in ballots):
            return self._mean([output for output in outputs if output])
        return self._mean([ballot for ballot, _ in ballots], [vote for _, vote in ballots])

    def _arrays(self) -> Arrays:
        return {"rng": self._rng, "right": self._right, "wrong": self._wrong}
