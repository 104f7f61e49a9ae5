"""Policies that see a context as a vector: numbers standardised, names one-hot, a constant."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema, VectorEncoder
from stumpery.policies.contextual import NO_REWARDS, ContextualPolicy
from stumpery.policies.exploration import explorer_kernels as statistic_rows
from stumpery.policies.policy import Played
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Decision, Explanation, Floats
from stumpery.validation import MAX_EVENT_COUNT, check_learned, check_within


@dataclass(kw_only=True, eq=False)
class VectorPolicy(ContextualPolicy):
    """A policy whose weights for each action meet a vector.

    Numbers are standardised by the mean and spread of the rows learned from so far, at most 10 spreads from the mean;
    columns of zeros and ones stay as they are, a name sets one column of its own, a missing value counts as 0, and a
    constant 1 comes last.
    """

    _kernels: ClassVar[Any]  # the file with the policy's `run`

    def __post_init__(self) -> None:
        self._rule = self._new_rule()
        super().__post_init__()
        if self._encoder is None:
            self._allocate(0)

    # What a vector policy brings.

    @abstractmethod
    def _new_rule(self) -> Floats:
        """What the kernels are to know of the options."""

    @abstractmethod
    def _new_model(self, n_actions: int, size: int) -> Any:
        """A NamedTuple of new arrays, each with a row per action, for vectors of that size."""

    def _known(self) -> tuple[Floats, ...]:
        """What the kernel `run` takes after the columns' moments."""
        return tuple(self._model)

    def _reasons(self, row: Floats, action: int) -> str:
        """What speaks for an action, as the end of a sentence, or nothing."""
        return ""

    # What all vector policies share.

    def _run(self, rows: Floats, rewards: Floats, played: Played, available: NDArray[np.bool_], does: int) -> None:
        kept = (self._rng, self._rule, self._clock, self._arms, self._columns, *self._known())
        self._kernels.run(*kept, self._statistics, rows, rewards, *played, available, does)

    def _action_statistics_of(self, row: Floats) -> Floats:
        """Every action's score, uncertainty, value and probability for one encoded row."""
        self._run(row[None], NO_REWARDS, Played.blank(1), self._all, 0)
        return self._statistics.copy()

    @property
    def n_bytes(self) -> int:
        """The memory that the policy's arrays hold."""
        return super().n_bytes + int(sum(array.nbytes for array in self._model))

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's rewards, and for a decision's context its score, uncertainty, value and probability now."""
        said = f"After {int(self._clock[0])} rewards "
        statistics, reasons, chosen = None, "", 0
        if decision is not None:
            chosen, probability, context = self._opened(decision)
            said = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}. {said}"
            if self._encoder is not None:
                row = self._row(context)
                statistics, reasons = self._action_statistics_of(row), self._reasons(row, chosen)
        means = np.where(self._arms[:, moments.COUNT] > 0, self._arms[:, moments.MEAN], -np.inf)
        values = means if statistics is None else statistics[statistic_rows.VALUE]
        order = np.argsort(-values, kind="stable").tolist()
        said += self._standing(order[0], "leads", values)
        if len(order) > 1:
            said += f", {self._standing(order[1], 'follows', values)}"
        return Explanation(f"{said}{reasons}.", tuple(self._shown(index, statistics) for index in order))

    def _standing(self, index: int, verb: str, values: Floats) -> str:
        value = f"{self._reward(float(values[index])):.4g}" if values[index] > -np.inf else "no reward yet"
        return f"{self.actions[index]!r} {verb} with {value}"

    def _shown(self, index: int, statistics: Floats | None) -> dict[str, Any]:
        n, mean, _ = self._arms[index].tolist()
        shown = {
            "action": self.actions[index],
            "rewards": int(n),
            "mean": self._reward(mean) if n else math.nan,
        }
        if statistics is None:
            return shown
        score, uncertainty, value, probability = statistics[:, index].tolist()
        spread = uncertainty * (self._high - self._low)
        return {
            **shown,
            "score": self._reward(score),
            "uncertainty": spread,
            "value": self._reward(value),
            "probability": probability,
        }

    def _encoder_of(self, schema: Schema) -> VectorEncoder:
        return VectorEncoder(schema=schema, one_hot=True)

    def _allocate(self, width: int) -> None:
        self._clock = np.zeros(1)  # rewards seen
        self._arms = moments.new_moments(len(self.actions))
        self._columns = moments.new_moments(width)
        self._model = self._new_model(len(self.actions), width + 1)
        self._statistics = statistic_rows.new_action_statistics(len(self.actions))  # scratch of the kernels

    def _arrays(self) -> dict[str, NDArray[Any]]:
        kept = {"rng": self._rng, "clock": self._clock, "arms": self._arms, "columns": self._columns}
        return {**kept, **self._model._asdict()}

    def _grow(self) -> None:
        more = self._new_model(1, len(self._columns) + 1)
        self._model = type(more)(*map(np.concatenate, zip(self._model, more, strict=True)))
        self._arms = np.vstack([self._arms, moments.new_moments(1)])
        self._statistics = statistic_rows.new_action_statistics(len(self.actions))

    def _shrink(self, action: int) -> None:
        self._arms = np.delete(self._arms, action, axis=0)
        self._statistics = statistic_rows.new_action_statistics(len(self.actions))
        self._model = type(self._model)(*(np.delete(array, action, axis=0) for array in self._model))

    def _restored(self) -> None:
        super()._restored()
        moments.validate(self._arms)
        moments.validate(self._columns)
        check_within(self._arms[:, moments.MEAN], 0.0, 1.0, "the mean of rewards")
        check_within(self._clock, 0.0, MAX_EVENT_COUNT, "the number of rewards")
        for array in self._model:
            check_learned(array, "a weight")
