"""Content selection: a policy over candidates, which learns from clicks on the chosen one alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.clicks import score_kernels as kernels
from stumpery.clicks.click_model import ClickModel
from stumpery.errors import CorruptFile, InvalidInput
from stumpery.frames import as_row, n_rows, own_row, rows
from stumpery.labels.binary import checked_click
from stumpery.models import Model
from stumpery.options import check_number, check_whole, shown
from stumpery.random import new_generator
from stumpery.saving.saveable import Arrays, Options, Saveable, class_named
from stumpery.saving.validation import check_random_state
from stumpery.types import Decision, Explanation, Floats

N_SHOWN, N_NAMED = 10, 3  # columns in an explanation's table, and in its sentence


@dataclass(kw_only=True, eq=False)
class ContentSelector(Model):
    """Content selection: a bandit policy that chooses the candidate with the highest click score and learns its click.

    A candidate is a row of mixed columns: features of the visitor, of the item and of both. A round has any number of
    candidates. The decision's action is the index of the chosen candidate, its context is the candidate itself, and its
    probability is exact: ties are broken at random.

    Args:
        model: the click model that scores candidates, a predictor or an ensemble; it is trained in place.
        epsilon: the probability of choosing a candidate uniformly at random, from 0 to 1.
        seed: of the choices, from 0 to 2^63 - 1.

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
            raise InvalidInput(f"model is {shown(self.model)}; it must be a click predictor or an ensemble of them")
        check_number("epsilon", self.epsilon, 0, 1)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        self.epsilon = float(self.epsilon)
        self._rng = new_generator(self.seed)

    def decide(self, candidates: Any) -> Decision:
        """Choose one of the candidates: a list of dicts, a matrix or a frame."""
        n = _checked_candidates(candidates)
        index, probability = kernels.choose(self.model.score_many(candidates), self._rng, self.epsilon)
        context = candidates[index] if isinstance(candidates, Sequence | np.ndarray) else _row(candidates, index, n)
        return Decision(index, probability, own_row(context))

    def learn(self, decision: Decision, click: Any) -> None:
        """Learn whether the chosen candidate was clicked: now, later, out of order, or from a log."""
        self.model.learn_one(_checked_decision(decision).context, click)

    def explain(self, decision: Decision, candidates: Any = None) -> Explanation:
        """The columns' contributions to the score of a choice, less the average of `candidates` if they are given."""
        decision = _checked_decision(decision)
        own = self.model.contributions(decision.context)
        if not own:
            return Explanation("nothing was learned yet: all candidates have the same score", ())
        others = [self.model.contributions(row) for row in rows(candidates)] if candidates is not None else []
        average = {name: float(np.mean([other[name] for other in others])) if others else 0.0 for name in own}
        contributions = sorted(((value - average[name], name) for name, value in own.items()), key=lambda c: -abs(c[0]))
        largest = [name for contribution, name in contributions if contribution > 0][:N_NAMED]
        score = float(self.model.score_many([decision.context])[0])
        compared = "the other candidates" if others else "the average row"
        summary = f"candidate {decision.action} scores {score:.4g}; compared with {compared}, it gains most from "
        table = tuple(
            {"column": name, "value": _value(decision.context, name, self.model), "contribution": contribution}
            for contribution, name in contributions[:N_SHOWN]
        )
        return Explanation(summary + (", ".join(largest) or "no column"), table)

    def pick_row(self, matrix: Floats) -> int:
        """Choose one of several encoded rows, as `decide` does with candidates; return its index."""
        return kernels.choose(self.model.score_rows(matrix), self._rng, self.epsilon)[0]

    def learn_row(self, row: Floats, click: int) -> None:
        """Learn whether an encoded row was clicked, as `learn` does with a decision."""
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
        raise InvalidInput("candidates is empty; at least one is needed")
    return n


def _checked_decision(decision: Any) -> Decision:
    try:
        action, probability, context = decision
    except (TypeError, ValueError):
        form = "Decision(action, probability, context)"
        raise InvalidInput(f"decision is {shown(decision)}; it must be a {form}") from None
    context = as_row(context)
    if not isinstance(context, Mapping | np.ndarray):
        raise InvalidInput(f"the decision's context is {shown(context)}; it must be the chosen candidate")
    return Decision(action, probability, context)


def _row(candidates: Any, index: int, n: int) -> Any:
    return next(row for number, row in zip(range(n), rows(candidates), strict=True) if number == index)


def _value(context: Any, name: str, model: ClickModel) -> Any:
    if isinstance(context, Mapping):
        return context.get(name)
    names = model.schema.names if model.schema is not None else ()
    return context[names.index(name)]
