"""Replay: off-policy evaluation of a content selector on a log whose choices were drawn uniformly.

A log line says which candidate was shown and whether it was clicked. The selector picks among all candidates; where it
picks the one that was shown, the line counts and is learned from, else it is skipped. On a log of uniform choices the
lines that count are an unbiased sample of what the selector would have seen (Li et al. 2011).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from stumpery.clicks.content_selector import ContentSelector
from stumpery.errors import InvalidInput
from stumpery.evaluation.intervals import wilson_interval
from stumpery.evaluation.result import Result
from stumpery.frames import n_rows
from stumpery.labels.binary import checked_click
from stumpery.options import check_whole, shown


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult(Result):
    """Click rate of a selector replayed on a log, with Wilson's 95 % interval.

    Args:
        n_lines: Lines of the log.
        n_counted: Lines on which the selector's pick was the one shown; a mean over replays may be fractional.
        n_clicks: Clicks on the lines that count.
        log_rate: Clicks per line of the whole log, which is what a random pick earns, in 0..1.

    >>> ReplayResult(n_lines=1000, n_counted=100, n_clicks=2, log_rate=0.01).rate
    0.02
    """

    n_lines: int
    n_counted: float
    n_clicks: float
    log_rate: float

    @property
    def rate(self) -> float:
        """Clicks per line that counts."""
        return self.n_clicks / max(1, self.n_counted)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate.

        >>> [round(end, 4) for end in ReplayResult(1000, 100, 2, 0.01).interval]
        [0.0055, 0.07]
        """
        return wilson_interval(self.rate, max(1, self.n_counted))

    def columns(self) -> dict[str, Any]:
        """One row."""
        return {name: [value] for name, value in self.summary().items()}

    def summary(self) -> dict[str, Any]:
        """Counts, the rate, and its ratio to the log's rate with a 95 % interval."""
        low, high = self.interval
        base = max(self.log_rate, 1e-12)
        return {
            "lines": self.n_lines,
            "counted": self.n_counted,
            "clicks": self.n_clicks,
            "rate": self.rate,
            "ratio_to_random": self.rate / base,
            "low": low / base,
            "high": high / base,
        }


def replay(selector: ContentSelector, lines: Iterable[tuple[Any, int, int]]) -> ReplayResult:
    """Replay a log of (candidates, index that was shown at random, click) through a selector, which learns on the way.

    Policies with named actions, such as `RewardForest`, cannot be replayed here: a line's candidates are rows, not
    actions.

    Args:
        selector: A `ContentSelector`, whose model is a click predictor, such as `OneVersusAll`, `Stump` or
            `UnivariateTree`, or an ensemble of these, such as `Average` or `LogOdds`.
        lines: The log's lines; candidates as `ContentSelector.decide` takes them.

    >>> from stumpery.clicks import OneVersusAll
    >>> items = [{"item": "news"}, {"item": "film"}]
    >>> lines = [(items, line % 2, line % 2) for line in range(1000)]
    >>> replay(ContentSelector(model=OneVersusAll(prior=0.6, m=5.0)), lines).rate > 0.9
    True
    """
    if not isinstance(selector, ContentSelector):
        raise InvalidInput(
            f"selector is {shown(selector)}; it must be a ContentSelector, "
            "whose model is a click predictor or an ensemble of them"
        )
    n_lines = n_counted = n_clicks = n_log_clicks = 0
    for candidates, index, click in _checked_lines(lines):
        check_whole("the index that was shown", index, 0, max(0, n_rows(candidates, "candidates") - 1))
        decision = selector.decide(candidates)
        n_lines += 1
        n_log_clicks += click
        if decision.action == index:
            n_counted += 1
            n_clicks += click
            selector.learn(decision, click)
    return ReplayResult(n_lines, n_counted, n_clicks, n_log_clicks / max(1, n_lines))


def _checked_lines(lines: Any) -> Iterator[tuple[Any, Any, int]]:
    """The lines of a log, each with its click as 0 or 1; an InvalidInput says what else came."""
    if not isinstance(lines, Iterable):
        raise InvalidInput(f"lines is {shown(lines)}; it must be a list of (candidates, index, click)")
    for line in lines:
        if not isinstance(line, tuple | list) or len(line) != 3:
            raise InvalidInput(f"a line is {shown(line)}; it must be (candidates, index that was shown, click)")
        yield line[0], line[1], checked_click(line[2])
