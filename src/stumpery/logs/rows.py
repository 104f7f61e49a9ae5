"""Rows as a format's reader gives them, before they are checked and their actions are indexed."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from stumpery.columns import Values
from stumpery.logs.report import LogReport
from stumpery.types import Action, Floats, Integers


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of each row and their probabilities.

    Args:
        names: The actions that could be chosen, of each row; rows with the same candidates share the tuple.
        orders: The places of `names` along which the probabilities run, of each row; None for that of `names`.
        probabilities: A number for each place; None where the log has none, an empty list where a row has none.
        first: The number of the first place in `orders`.
    """

    names: Sequence[tuple[Action, ...]]
    orders: Sequence[Sequence[int]] | None
    probabilities: Sequence[Sequence[float]] | None
    first: int = 0


class LogFacts(NamedTuple):
    """What a first pass over a log finds out.

    Args:
        actions: the actions.
        rewards: the least and the greatest reward; None if there is none.
        n_rows: the number of rows.
    """

    actions: Set[Action]
    rewards: tuple[float, float] | None
    n_rows: int


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows of a log as columns; what is missing is None or NaN.

    Args:
        lines: The line of each row.
        actions: The logged actions.
        probabilities: Their probabilities.
        rewards: Their rewards.
        columns: The contexts by column.
        times: Seconds since 1970.
        event_ids: Identifiers.
        weights: How many events each row stands for.
        candidates: What could be chosen.
        action_features: From candidates to their features.
    """

    lines: Integers
    actions: Sequence[Action | None]
    probabilities: Floats
    rewards: Floats
    columns: Mapping[str, Values]
    times: Floats | None = None
    event_ids: Sequence[str | None] | None = None
    weights: Floats | None = None
    candidates: Candidates | None = None
    action_features: Sequence[Mapping[Any, Mapping[str, Any]]] | None = None


class LogSource(Protocol):
    """A file or frame that can be read again and again, in one format."""

    name: str  # for messages
    format: str
    unit: str  # what line numbers count: "line" or "row"
    has_probabilities: bool  # whether a row without probability has a problem

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""

    @property
    def actions(self) -> tuple[Action, ...] | None:
        """The actions, where the source declares them."""

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The least and the greatest reward, where the source declares them."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where it is known without reading them."""

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Read rows in order, about `size` at a time; `advance` takes the share of the source that has been read."""


@runtime_checkable
class QuickSource(Protocol):
    """A source that finds out its facts without reading whole rows."""

    def facts(self, advance: Callable[[int, float], None]) -> LogFacts | None:
        """The facts, None if whole rows are needed; `advance` takes new rows, and the share that has been read."""


@runtime_checkable
class SeveralSources(Protocol):
    """Several sources, one after the other."""

    @property
    def parts(self) -> Sequence[LogSource]:
        """The sources."""
