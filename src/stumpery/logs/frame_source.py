"""A log that is a frame or a dict of columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stumpery.columns import Columns
from stumpery.frames import open_frame
from stumpery.logs.formats.naming import Naming, as_columns, checked_columns, checked_probabilities
from stumpery.logs.log import Log
from stumpery.logs.report import LogReport
from stumpery.logs.rows import RawRows
from stumpery.types import Action


class FrameSource:
    """Rows of a frame, or of a dict of columns.

    Args:
        frame: The frame.
        naming: Which columns hold what.
    """

    name = "frame"
    format = "frame"
    unit = "row"
    reward_range = None

    def __init__(self, frame: Any, naming: Naming) -> None:
        self._frame = as_columns(frame) if isinstance(frame, Mapping) else frame
        allowed = "a dict of columns, or a pandas, polars or pyarrow frame"
        is_ours = isinstance(self._frame, Columns)
        opened: Any = self._frame if is_ours else open_frame("frame", self._frame, allowed)
        self._naming = naming.checked(list(opened.names if is_ours else opened.columns))
        self.n_rows = len(opened)
        self.has_probabilities = naming.probability is not None
        self.actions: tuple[Action, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return self._naming.columns or ()

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Slices of the frame."""
        for start in range(0, self.n_rows, size):
            end = min(start + size, self.n_rows)
            yield self._naming.raw_rows(self._slice(start, end), np.arange(start, end), report)
            advance(end / self.n_rows)

    def _slice(self, start: int, end: int) -> Any:
        if isinstance(self._frame, Columns):
            return self._frame[start:end]
        return open_frame("frame", self._frame, "a frame")[start:end].to_native()


def from_frame(  # noqa: PLR0913 - a name for each column
    frame: Any,
    *,
    action: str,
    reward: str,
    probability: str | None = None,
    time: str | None = None,
    event_id: str | None = None,
    probabilities: Mapping[Action, str] | None = None,
    columns: Sequence[str] | None = None,
    actions: Sequence[Action] | None = None,
    on_error: str = "strict",
    no_feedback: str | float = "skip",
) -> Log:
    """Read a log from a frame of pandas, polars or pyarrow, or a dict of columns, by naming its columns.

    Args:
        frame: The frame; it is not copied.
        action: The column of actions.
        reward: The column of rewards; a missing value means no feedback.
        probability: The column of the actions' probabilities (propensities).
        time: The column of times: dates, seconds since 1970, or ISO texts.
        event_id: The column of identifiers, by which duplicates are found.
        probabilities: The columns of every action's probability, by action.
        columns: The columns of contexts; by default all others.
        actions: The actions; by default those of the log, sorted.
        on_error: "strict" raises at the first row with a problem; "lenient" counts it in `Log.report`.
        no_feedback: The reward of rows without one; "skip" leaves them out of learning.

    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, None]}
    >>> log = from_frame(frame, action="action", reward="reward")
    >>> [chunk.rewards.tolist() for chunk in log.chunks()]
    [[1.0, nan]]
    """
    naming = Naming(
        action=action,
        reward=reward,
        probability=probability,
        time=time,
        event_id=event_id,
        probabilities=checked_probabilities(probabilities),
        columns=checked_columns(columns),
    )
    return Log(FrameSource(frame, naming), on_error=on_error, actions=actions, no_feedback=no_feedback)
