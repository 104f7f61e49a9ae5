"""Voting of learners."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stumpery.ensembles.averaging import likeliest
from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_one_of, shown

MAX_WEIGHT = 1e9


@dataclass(kw_only=True, eq=False)
class Voting(OnlineEnsemble):
    """Voting of learners: the mean of their predictions, or a majority vote of classes.

    Args:
        models: Learners, ours or river's; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the members, which get `seed`, `seed + 1`, and so on.
        voting: "soft" averages probabilities, "hard" counts a vote of each member for its likeliest class; numbers are
            averaged either way. "soft" is the default because it uses how sure the members are.
        weights: How much each member counts, above 0; None counts all alike. `ExponentialWeights` learns the weights.

    >>> import stumpery as st
    >>> model = Voting(models=[st.HoeffdingTreeClassifier(), st.ForestClassifier(n_models=3)])
    >>> rows = [{"hour": event % 24} for event in range(500)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12})
    'work'
    """

    voting: str = "soft"
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_one_of("voting", self.voting, ("soft", "hard"))
        super().__post_init__()
        if self.weights is not None:
            self._set_option("weights", checked_weights(self.weights, len(self.members)))

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
            return self._mean(outputs, self.weights)
        votes: list[Any] = [{likeliest(output): 1.0} if output else {} for output in outputs]
        return self._mean(votes, self.weights)


def checked_weights(weights: Any, n_members: int) -> list[float]:
    """The weights of members as numbers above 0, one for each."""
    is_list = hasattr(weights, "__len__") and hasattr(weights, "__getitem__")  # a set has no order
    if isinstance(weights, str | dict) or not is_list or len(weights) != n_members:
        raise InvalidInput(f"weights is {shown(weights)}; it must have a number for each of the {n_members} members")
    for weight in weights:
        check_number("a weight", weight, 0, MAX_WEIGHT, above=True)
    return [float(weight) for weight in weights]
