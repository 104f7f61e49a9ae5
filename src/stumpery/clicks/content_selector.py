"""Pick one of several candidates, and learn from the click on that one alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.clicks import content_selector_kernels as kernels
from stumpery.clicks.click_model import ClickModel
from stumpery.errors import CorruptFile
from stumpery.frames import as_row, n_rows, own_row, rows
from stumpery.labels.binary import checked_click
from stumpery.models import Model
from stumpery.options import check_number, check_whole, shown
from stumpery.random import new_generator
from stumpery.saveable import Arrays, Options, Saveable, class_named
from stumpery.types import Decision, Explanation, Floats
from stumpery.validation import check_random_state

N_SHOWN = 10  # columns in an explanation


@dataclass(kw_only=True, eq=False)
class ContentSelector(Model):
    """Pick the candidate that is likeliest to be clicked; learn whether it was.

    A candidate is a row of mixed columns: what is known of the visitor, of the item and of both. A round has any number
    of them. The decision's action is the place of the picked candidate, its context is the candidate itself, and its
    probability the true probability of this pick: ties are drawn, and a share `epsilon` of rounds picks any candidate.
    `model` is any click predictor or combination; it is trained in place.

    >>> from stumpery.clicks import Average
    >>> from stumpery.clicks import HashedStump, Stump
    >>> selector = ContentSelector(model=Average(predictors=[Stump(), HashedStump()]), seed=7)
    >>> for round in range(300):
    ...     shown = [{"age": age, "item": item} for age, item in zip(range(20, 80, 20), ("news", "film", "game"))]
    ...     decision = selector.decide(shown)
    ...     selector.learn(decision, click=decision.context["item"] == "film")
    >>> selector.decide(shown).context["item"]
    'film'
    """

    model: ClickModel
    epsilon: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.model, ClickModel):
            raise ValueError(f"model is {shown(self.model)}; it must be a click predictor or a combination of them")
        check_number("epsilon", self.epsilon, 0, 1)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        self.epsilon = float(self.epsilon)
        self._rng = new_generator(self.seed)

    def decide(self, candidates: Any) -> Decision:
        """Pick one of a list of dicts, a matrix or a frame of candidates."""
        n = _checked_candidates(candidates)
        place, probability = kernels.pick(self.model.score_many(candidates), self._rng, self.epsilon)
        context = candidates[place] if isinstance(candidates, Sequence | np.ndarray) else _row(candidates, place, n)
        return Decision(place, probability, own_row(context))

    def learn(self, decision: Decision, click: Any) -> None:
        """Take what became of one pick: now, late, out of order, or from a log."""
        self.model.learn_one(_checked_decision(decision).context, click)

    def explain(self, decision: Decision, candidates: Any = None) -> Explanation:
        """Which columns lift the picked candidate, above the average or, if given, above the mean of `candidates`."""
        decision = _checked_decision(decision)
        mine = self.model.contributions(decision.context)
        if not mine:
            return Explanation("nothing was learned yet: every candidate is as good as any other", ())
        others = [self.model.contributions(row) for row in rows(candidates)] if candidates is not None else []
        beside = {name: float(np.mean([other[name] for other in others])) if others else 0.0 for name in mine}
        lifts = sorted(((share - beside[name], name) for name, share in mine.items()), key=lambda lift: -abs(lift[0]))
        named = [name for lift, name in lifts if lift > 0][:3]
        score = float(self.model.score_many([decision.context])[0])
        against = "the other candidates" if others else "the average row"
        summary = f"candidate {decision.action} scores {score:.4g}; beside {against} it is lifted most by "
        table = tuple(
            {"column": name, "value": _value(decision.context, name, self.model), "lift": lift}
            for lift, name in lifts[:N_SHOWN]
        )
        return Explanation(summary + (", ".join(named) or "no column"), table)

    def pick_row(self, matrix: Floats) -> int:
        """Pick one of several encoded rows: what `decide` does once its candidates are read."""
        return kernels.pick(self.model.score_rows(matrix), self._rng, self.epsilon)[0]

    def learn_row(self, row: Floats, click: int) -> None:
        """Take what became of a picked row: what `learn` does once its candidate is read."""
        self.model.learn_row(row, checked_click(click))

    def _options(self) -> Options:
        return {**super()._options(), "seed": int(self.seed), "kind": type(self.model).__name__}

    def _members(self) -> Mapping[str, Any]:
        return {"model": self.model}

    @classmethod
    def _member_kinds(cls, options: Options) -> Mapping[str, type[Saveable]]:
        kind = class_named(options.pop("kind"))
        if not issubclass(kind, ClickModel):
            raise CorruptFile("its model is no click model")
        return {"model": kind}

    def _arrays(self) -> Arrays:
        return {"rng": self._rng}

    def _validate_state(self) -> None:
        check_random_state(self._rng)


def _checked_candidates(candidates: Any) -> int:
    n = n_rows(candidates, "candidates")
    if n == 0:
        raise ValueError("candidates is empty; at least one is needed to pick from")
    return n


def _checked_decision(decision: Any) -> Decision:
    try:
        action, probability, context = decision
    except (TypeError, ValueError):
        form = "Decision(action, probability, context)"
        raise ValueError(f"decision is {shown(decision)}; it must be a {form}") from None
    context = as_row(context)
    if not isinstance(context, Mapping | np.ndarray):
        raise ValueError(f"the decision's context is {shown(context)}; it must be the candidate that was picked")
    return Decision(action, probability, context)


def _row(candidates: Any, place: int, n: int) -> Any:
    return next(row for index, row in zip(range(n), rows(candidates), strict=True) if index == place)


def _value(context: Any, name: str, model: ClickModel) -> Any:
    if isinstance(context, Mapping):
        return context.get(name)
    names = model.schema.names if model.schema is not None else ()
    return context[names.index(name)]
