"""Voting of learners."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stumpery.ensembles.averaging import likeliest
from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.options import check_one_of


@dataclass(kw_only=True, eq=False)
class Voting(OnlineEnsemble):
    """Voting of learners: the mean of their predictions, or a majority vote of classes.

    Args:
        models: Learners, ours or river's; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the members, which get `seed`, `seed + 1`, and so on.
        voting: "soft" averages probabilities, "hard" counts a vote of each member for its likeliest class; numbers are
            averaged either way. "soft" is the default because it uses how sure the members are.

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

    def _learn_one(self, x: Any, label: Any) -> None:
        for member in self.members:
            member.learn_one(x, label)

    def _learn_many(self, rows: Any, labels: list[Any]) -> None:
        """Train members of ours with one call each."""
        if not all(hasattr(member, "check_many") for member in self.members):
            super()._learn_many(rows, labels)
            return
        for member in self.members:
            member.learn_many(rows, labels)

    def _combined(self, outputs: Sequence[Any]) -> Any:
        if self.voting == "soft" or not self.is_classifier:
            return self._mean(outputs)
        return self._mean([{likeliest(output): 1.0} for output in outputs if output])
