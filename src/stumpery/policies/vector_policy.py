"""Base of linear and neural policies: a context is a vector of standardised numbers and one-hot categories."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema, VectorEncoder
from stumpery.policies.contextual import NO_REWARDS
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.filling import FillingPolicy
from stumpery.policies.fixed_schema import FixedSchemaPolicy
from stumpery.policies.records import ChosenActions
from stumpery.saving.validation import MAX_EVENT_COUNT, check_learned, check_within
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Context, Decision, Explanation, Floats

ModelT = TypeVar("ModelT", bound="VectorModel")


class VectorModel(Protocol):
    """A NamedTuple of arrays, each with a row per action."""

    def __iter__(self) -> Iterator[Floats]:
        """The arrays."""

    def _asdict(self) -> dict[str, Floats]: ...


class VectorKernels(Protocol):
    """A module with the kernel of a vector policy."""

    run: Any  # a kernel; `mode_kernels` says what it does


@dataclass(kw_only=True, eq=False)
class VectorPolicy(FillingPolicy[VectorEncoder], FixedSchemaPolicy[VectorEncoder], Generic[ModelT]):
    """Contextual policy over vectors, with weights for each action.

    Numbers are standardised by the mean and the standard deviation of the rows learned so far, and clipped at 10
    deviations; columns of zeros and ones stay as they are, a category sets one column of its own, a missing value
    counts as 0, and a constant 1 comes last.

    A subclass names its `_kernels` and implements `_new_rule` and `_new_model`.
    """

    _kernels: ClassVar[VectorKernels]

    def __post_init__(self) -> None:
        self._rule = self._new_rule()
        super().__post_init__()
        if self._encoder is None:
            self._allocate(0)

    # Hooks that a subclass implements.

    @abstractmethod
    def _new_rule(self) -> Floats:
        """The options as the array that the kernel takes: an explorer's rule, or options of its own."""

    @abstractmethod
    def _new_model(self, n_actions: int, size: int) -> ModelT:
        """A NamedTuple of new arrays, each with a row per action, for vectors of this size."""

    # Hooks with a default.

    def _model_arrays(self) -> tuple[Floats, ...]:
        """Arguments of the kernel `run` after the columns' moments."""
        return tuple(self._model)

    def _reasons(self, row: Floats, action: int) -> str:
        """The reasons for an action, as the end of a sentence."""
        return ""

    # What vector policies share.

    def _run(
        self, rows: Floats, rewards: Floats, chosen: ChosenActions, available: NDArray[np.bool_], mode: int
    ) -> None:
        state = (self._rng, self._rule, self._clock, self._arms, self._columns, *self._model_arrays())
        self._kernels.run(*state, self._statistics, rows, rewards, *chosen, available, mode)

    def _statistics_of(self, row: Floats, available: NDArray[np.bool_] | None = None) -> Floats:
        """Every action's score, uncertainty, value and probability for one encoded row."""
        self._run(row[None], NO_REWARDS, ChosenActions.empty(1), self._all if available is None else available, 0)
        return self._statistics.copy()

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's rewards so far, and for a decision its score, uncertainty, value and probability now."""
        said = f"After {int(self._clock[0])} rewards "
        statistics, reasons, chosen = None, "", 0
        if decision is not None:
            chosen, probability, context = self._checked_decision(decision)
            said = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}. {said}"
            if self._encoder is not None:
                row = self._row(context)
                statistics, reasons = self._statistics_of(row), self._reasons(row, chosen)
        means = np.where(self._arms[:, moments.COUNT] > 0, self._arms[:, moments.MEAN], -np.inf)
        values = means if statistics is None else statistics[rules.ACTION_VALUE]
        order = np.argsort(-values, kind="stable").tolist()
        said += self._standing(order[0], "leads", values)
        if len(order) > 1:
            said += f", {self._standing(order[1], 'follows', values)}"
        return Explanation(f"{said}{reasons}.", tuple(self._explained(index, statistics) for index in order))

    def _standing(self, index: int, verb: str, values: Floats) -> str:
        value = f"{self._reward(float(values[index])):.4g}" if values[index] > -np.inf else "no reward yet"
        return f"{self.actions[index]!r} {verb} with {value}"

    def _explained(self, index: int, statistics: Floats | None) -> dict[str, Any]:
        """The row of an action in an explanation."""
        n, mean, _ = self._arms[index].tolist()
        row = {
            "action": self.actions[index],
            "n": int(n),
            "mean": self._reward(mean) if n else math.nan,
        }
        if statistics is None:
            return row
        score, uncertainty, value, probability = statistics[:, index].tolist()
        return {
            **row,
            "score": self._reward(score),
            "uncertainty": uncertainty * (self._high - self._low),
            "value": self._reward(value),
            "probability": probability,
        }

    def _new_encoder(self, schema: Schema) -> VectorEncoder:
        return VectorEncoder(schema=schema, one_hot=True)

    def _allocate(self, width: int) -> None:
        self._clock = np.zeros(1)  # rewards learned
        self._arms = moments.new_moments(len(self.actions))
        self._columns = moments.new_moments(width)
        self._model = self._new_model(len(self.actions), width + 1)
        self._statistics = rules.new_action_statistics(len(self.actions))  # overwritten by each row

    def _arrays(self) -> dict[str, NDArray[Any]]:
        shared = {"rng": self._rng, "clock": self._clock, "arms": self._arms, "columns": self._columns}
        return {**shared, **self._model._asdict()}

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        scores: Floats = self._statistics[rules.ACTION_SCORE]
        return scores

    def _grow(self, n: int) -> None:
        more = self._new_model(n, len(self._columns) + 1)
        self._model = type(more)(*map(np.concatenate, zip(self._model, more, strict=True)))
        self._arms = np.vstack([self._arms, moments.new_moments(n)])
        self._statistics = rules.new_action_statistics(len(self.actions))

    def _shrink(self, keep: Sequence[int]) -> None:
        self._arms = self._arms[keep]
        self._statistics = rules.new_action_statistics(len(self.actions))
        self._model = type(self._model)(*(array[keep] for array in self._model))

    def _validate_state(self) -> None:
        super()._validate_state()
        moments.validate(self._arms)
        moments.validate(self._columns)
        check_within(self._arms[:, moments.MEAN], 0.0, 1.0, "the mean of rewards")
        check_within(self._clock, 0.0, MAX_EVENT_COUNT, "the number of rewards")
        for array in self._model:
            check_learned(array, "a weight")
