"""Different learners that vote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stumpery.ensembles.learners import LearnerEnsemble, averaged, checked_label, likeliest
from stumpery.options import check_one_of


@dataclass(kw_only=True, eq=False)
class Voting(LearnerEnsemble):
    """The mean of what learners say ("soft"), or a vote each for its likeliest class ("hard").

    >>> import stumpery as st
    >>> model = Voting(models=[st.HoeffdingTreeClassifier(), st.ForestClassifier(n_models=3)])
    >>> rows = [{"hour": event % 24} for event in range(500)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12})
    'work'
    """

    voting: str = "soft"

    def __post_init__(self) -> None:
        check_one_of("voting", self.voting, ("soft", "hard"))
        super().__post_init__()

    def learn_one(self, x: Any, y: Any) -> None:
        """Let every member learn a row."""
        label = checked_label(y, is_classifier=self.is_classifier)
        for member in self.members:
            member.learn_one(x, label)

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803
        """Learn from many rows: equals the loop of `learn_one`."""
        labels = [checked_label(label, is_classifier=self.is_classifier) for label in self._labels(X, y)]
        if not all(hasattr(member, "test_then_learn") for member in self.members):
            super().learn_many(X, labels)
            return
        for member in self.members:
            member.learn_many(X, labels)

    def _combined(self, outputs: Sequence[Any]) -> Any:
        if self.voting == "soft" or not self.is_classifier:
            return averaged(outputs)
        return averaged([{likeliest(output): 1.0} for output in outputs if output])
