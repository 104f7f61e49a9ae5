"""Pick one of several candidates, and learn from the click on that one alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stumpery import files
from stumpery.clicks import content_selector_kernels as kernels
from stumpery.clicks.click_model import ClickModel
from stumpery.frames import as_row, n_rows, own_row, rows
from stumpery.labels.binary import checked_click
from stumpery.models import snapshot_of
from stumpery.options import check_number, check_whole, shown
from stumpery.random import new_generator
from stumpery.reseeding import SeededClone
from stumpery.types import Decision, Explanation, Floats, State
from stumpery.validation import check_random_state

N_SHOWN = 10  # columns in an explanation


@dataclass(kw_only=True, eq=False)
class ContentSelector(SeededClone):
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

    def fresh(self, seed: int) -> Self:
        """A new selector of the same recipe that has learned nothing, with another seed."""
        return type(self)(model=self.model.fresh(seed), epsilon=self.epsilon, seed=seed)

    @property
    def n_bytes(self) -> int:
        """The memory that the selector's arrays hold."""
        return self.model.n_bytes + self._rng.nbytes

    def state(self) -> State:
        """The recipe and the arrays."""
        options, arrays = snapshot_of(self.model)
        mine = {"epsilon": self.epsilon, "seed": int(self.seed), "kind": type(self.model).__name__, "model": options}
        return State(mine, {**{f"model.{name}": array for name, array in arrays.items()}, "rng": self._rng})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options = dict(state.options)
        kind = files.class_named(options.pop("kind"))
        if not issubclass(kind, ClickModel):
            raise ValueError("its model is no click model")
        arrays = {name.removeprefix("model."): array for name, array in state.arrays.items() if name != "rng"}
        selector = cls(model=kind.from_state(State(options.pop("model"), arrays)), **options)
        files.restore({"rng": selector._rng}, {"rng": state.arrays["rng"]})
        check_random_state(selector._rng)
        return selector


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
