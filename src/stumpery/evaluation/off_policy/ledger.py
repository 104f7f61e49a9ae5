"""The ledger of an off-policy evaluation: for every policy all sums, sequences and tallies, in bounded memory."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from stumpery.evaluation.off_policy.candidates import LoggedRows
from stumpery.evaluation.off_policy.confidence.betting import BettingSequence
from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.evaluation.off_policy.confidence.sequences import DifferenceSequence, ValueSequence, bounded_terms
from stumpery.evaluation.off_policy.sums import BlockSums, JudgedEvents
from stumpery.evaluation.off_policy.tallies import WeightTally
from stumpery.types import Floats

MAX_FLOOR = 10.0  # of doubly robust terms in confidence sequences
MAX_PAIRED = 8  # policies of which every pair has a sequence; of more, those with the log's policy
MAX_CHECKPOINTS = 128
CHECK_ROWS = 512  # between two looks at confidence sequences


class Checkpoint(NamedTuple):
    """The confidence sequences of a value, scaled to 0..1, after some events."""

    n: int
    sequence: Interval
    betting: Interval


class PolicyLedger:
    """What is kept of one policy."""

    def __init__(self, n_actions: int, floor: float) -> None:
        self.sums = BlockSums()
        self.sequence = ValueSequence(floor)
        self.betting = BettingSequence(floor)
        self.tally = WeightTally(n_actions)
        self.checkpoints: list[Checkpoint] = []

    @property
    def scale(self) -> float:
        """How many events a row stands for on average."""
        return float(self.sums.totals[0] / self.sums.n_rows) if self.sums.n_rows else 1.0

    def watch(self, terms: Floats, complements: Floats, level: float, *, is_weighted: bool) -> None:
        """Add terms to the confidence sequences and note these at times; every second note goes when there are many.

        Where rows stand for several events nothing is bet: bets must be bounded, and such terms are not.
        """
        for part in _parts(len(terms)):
            self.sequence.add(terms[part], complements[part])
            if not is_weighted:
                self.betting.add(terms[part], complements[part])
            sequence, betting = self.sequence.interval(level, scale=self.scale), self.betting.interval(level)
            self.checkpoints.append(Checkpoint(self.sequence.n, sequence, betting))
        if len(self.checkpoints) > MAX_CHECKPOINTS:
            del self.checkpoints[:-1:2]


class Ledger:
    """All policies along a log, or along a slice of it; the first name is that of the log's own policy.

    What a policy was judged by is its probability of every action in each row, (rows, actions); for a replayed one
    which rows it accepts; for the log's own policy None.
    """

    def __init__(
        self,
        names: Sequence[str],
        reward_range: tuple[float, float],
        n_actions: int,
        least_probability: float | None,
        level: float,
    ) -> None:
        self.names, self.reward_range, self.level = list(names), reward_range, level
        self._n_actions, self._least = n_actions, least_probability
        self.n = 0
        self.floor = 0.0
        self.policies: dict[str, PolicyLedger] = {}
        self.differences: dict[tuple[str, str], DifferenceSequence] = {}

    @property
    def largest_weight(self) -> float:
        """The largest weight that an event can have; infinite where it is not known."""
        is_known = self._least is not None and all(each.scale == 1.0 for each in self.policies.values())
        return 1.0 / self._least if is_known and self._least else math.inf

    def empty(self) -> "Ledger":
        """A ledger of the same policies without events."""
        return Ledger(self.names, self.reward_range, self._n_actions, self._least, self.level)

    def add(self, rows: LoggedRows, predicted: Floats, judged: Mapping[str, Any]) -> None:
        """Add rows: what the reward model predicted, and what the policies were judged by."""
        if not self.n:
            self._begin(rows, judged)
        self.n += rows.n
        terms = {name: self._add(name, rows, predicted, each) for name, each in judged.items()}
        for (first, second), sequence in self.differences.items():
            for part in _parts(rows.n):
                sequence.add(_pair(terms[first], part), _pair(terms[second], part), self.level)

    def difference(self, first: str, second: str, level: float) -> tuple[Interval, int | None]:
        """The confidence sequence of one policy's value minus another's, in rewards, and when it was decided."""
        low, high = self.reward_range
        scale = self.policies[self.names[0]].scale
        if (first, second) in self.differences:
            sequence = self.differences[first, second]
            interval = sequence.interval(level, scale=scale)
            return Interval(*((high - low) * end for end in interval)), sequence.decided_at
        sequence = self.differences[second, first]
        interval = sequence.interval(level, scale=scale)
        return Interval(*(-(high - low) * end for end in interval[::-1])), sequence.decided_at

    def _begin(self, rows: LoggedRows, judged: Mapping[str, Any]) -> None:
        """Make what depends on the first rows: whether bounds on weights are known."""
        if self._least is not None:
            self.floor = min(MAX_FLOOR, 1.0 / self._least)
        elif rows.all_probabilities is not None:
            self.floor = MAX_FLOOR
        self.policies = {name: PolicyLedger(self._n_actions, self.floor) for name in self.names}
        paired = [name for name in self.names if not is_replayed(judged[name])]
        pairs = combinations(paired, 2) if len(paired) <= MAX_PAIRED else ((paired[0], name) for name in paired[1:])
        self.differences = {pair[::-1]: DifferenceSequence(self.floor) for pair in pairs}

    def _add(self, name: str, rows: LoggedRows, predicted: Floats, judged: Any) -> tuple[Floats, Floats]:
        """Add rows to one policy; returns its terms of confidence sequences, of the value and of 1 minus it."""
        ledger = self.policies[name]
        if judged is None or is_replayed(judged):
            kept = np.flatnonzero(np.ones(rows.n, np.bool_) if judged is None else judged)
            ones, rewards = np.ones(len(kept)), rows.rewards[kept]
            counts = None if rows.counts is None else rows.counts[kept]
            ledger.sums.add(JudgedEvents(ones, rewards, rewards, rewards, counts).terms())
            unit = self._unit(rewards)
            terms = unit, 1.0 - unit
            if counts is not None:
                terms = terms[0] * counts, terms[1] * counts
        else:
            own = np.arange(rows.n), rows.actions
            weights = judged[own] / rows.probabilities
            values = (judged * predicted).sum(axis=1)
            ledger.sums.add(JudgedEvents(weights, rows.rewards, predicted[own], values, rows.counts).terms())
            ledger.tally.add(rows, weights, judged)
            terms = self._sequence_terms(rows, weights, judged, self._unit(predicted))
        ledger.watch(*terms, self.level, is_weighted=rows.counts is not None)
        return terms

    def _sequence_terms(
        self, rows: LoggedRows, weights: Floats, judged: Floats, predicted: Floats
    ) -> tuple[Floats, Floats]:
        """Doubly robust terms where bounds on weights are known, else those of IPS."""
        limits = np.zeros_like(judged)
        if rows.counts is None and self.floor:
            bounds = self._least if rows.all_probabilities is None else np.nan_to_num(rows.all_probabilities)
            if bounds is not None:
                with np.errstate(divide="ignore", invalid="ignore"):
                    limits = np.where(judged > 0.0, self.floor * bounds / judged, 1.0)
        rewards = self._unit(rows.rewards)
        made = [
            bounded_terms(weights, rewards, rows.actions, predicted, judged, limits),
            bounded_terms(weights, 1.0 - rewards, rows.actions, 1.0 - predicted, judged, limits),
        ]
        if rows.counts is not None:
            made = [terms * rows.counts for terms in made]
        return made[0], made[1]

    def _unit(self, rewards: Floats) -> Floats:
        low, high = self.reward_range
        unit: Floats = (rewards - low) / (high - low)
        return unit


def _parts(n: int) -> list[slice]:
    """Slices of at most CHECK_ROWS rows."""
    return [slice(start, min(start + CHECK_ROWS, n)) for start in range(0, n, CHECK_ROWS)]


def _pair(terms: tuple[Floats, Floats], part: slice) -> tuple[Floats, Floats]:
    return terms[0][part], terms[1][part]


def is_replayed(judged: Any) -> bool:
    """Whether this says which rows a replayed policy accepts."""
    return judged is not None and judged.dtype == np.bool_
