"""One versus rest: a binary model for each class, as one model of all classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stumpery.clicks.click_model import ClickModel
from stumpery.saving.validation import corrupt
from stumpery.types import Floats


class OneVersusRest:
    """One versus rest over click predictors; their probabilities are normalised."""

    def __init__(self, models: Sequence[ClickModel], classes: Sequence[Any]) -> None:
        self.models, self.classes = list(models), list(classes)

    @classmethod
    def trained(
        cls, recipe: ClickModel, rows: Any, labels: Sequence[Any], classes: Sequence[Any], seed: int
    ) -> "OneVersusRest":
        """Train a copy of the recipe for each class."""
        models = [recipe.clone(seed=seed) for _ in classes]
        for model, each in zip(models, classes, strict=True):
            model.learn_many(rows, [label == each for label in labels])
        return cls(models, classes)

    def predict_proba_many(self, rows: Any) -> Floats:
        """The probabilities of `classes`, (rows, classes)."""
        probabilities = np.stack([model.predict_proba_many(rows)[:, 1] for model in self.models], axis=1)
        probabilities[probabilities.sum(axis=1) == 0.0] = 1.0
        shares: Floats = probabilities / probabilities.sum(axis=1, keepdims=True)
        return shares


def ungrouped(members: Sequence[Any]) -> list[Any]:
    """Members as a flat list: those of one versus rest as the models that they consist of."""
    return [model for member in members for model in (member.models if isinstance(member, OneVersusRest) else [member])]


def grouped(models: Sequence[Any], classes: Sequence[Any]) -> list[Any]:
    """Members from the flat list of `ungrouped`; a ValueError says that a model of a class is missing."""
    members, rest = [], list(models)
    while rest:
        n = len(classes) if isinstance(rest[0], ClickModel) else 1
        of_member, rest = rest[:n], rest[n:]
        if n == 1 and not isinstance(of_member[0], ClickModel):
            members += of_member
        elif len(of_member) < max(n, 1) or not all(isinstance(model, ClickModel) for model in of_member):
            raise corrupt("its classes do not match those of its models")
        else:
            members.append(OneVersusRest(of_member, classes))
    return members
