"""Replay: what a selector would have earned, from a log whose choices were drawn at random.

A log line says which candidate was shown and whether it was clicked. The selector picks among all candidates; where it
picks the one that was shown, the line counts and is learned from, else it is left out. On a log of uniform choices the
lines that count are a fair sample of what the selector would have seen (Li et al. 2011).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stumpery.clicks.content_selector import ContentSelector
from stumpery.evaluation.result import Result
from stumpery.frames import n_rows
from stumpery.labels.binary import checked_click
from stumpery.options import check_whole, shown

Z = 1.96  # of a 95 % interval


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult(Result):
    """How many lines counted, and their clicks."""

    n_lines: int
    n_counted: float  # a mean over replays may be no whole number
    n_clicks: float
    log_rate: float  # clicks a line of the whole log, which is what a random pick earns

    @property
    def rate(self) -> float:
        """Clicks a line that counted."""
        return self.n_clicks / max(1, self.n_counted)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate.

        >>> [round(end, 4) for end in ReplayResult(1000, 100, 2, 0.01).interval]
        [0.0055, 0.07]
        """
        n, p = max(1, self.n_counted), self.rate
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        reach = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def columns(self) -> dict[str, Any]:
        """One row."""
        return {name: [value] for name, value in self.summary().items()}

    def summary(self) -> dict[str, Any]:
        """Counts, and the rate beside the log's with its interval."""
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
    """Replay lines of (candidates, place that was shown at random, click); candidates as `decide` takes them.

    The selector is a `ContentSelector`, whose model is a click predictor, as `OneVersusAll`, `Stump` or
    `UnivariateTree`, or an ensemble of these, as `Average` or `LogOdds`. Policies with named actions, as
    `RewardForest`, cannot be replayed here: a line's candidates are rows, not actions.

    >>> from stumpery.clicks import OneVersusAll
    >>> items = [{"item": "news"}, {"item": "film"}]
    >>> lines = [(items, line % 2, line % 2) for line in range(1000)]
    >>> replay(ContentSelector(model=OneVersusAll(prior=0.6, m=5.0)), lines).rate > 0.9
    True
    """
    if not isinstance(selector, ContentSelector):
        raise ValueError(
            f"selector is {shown(selector)}; it must be a ContentSelector, "
            "whose model is a click predictor or an ensemble of them"
        )
    n_lines = n_counted = n_clicks = all_clicks = 0
    for candidates, place, click in lines:
        click = checked_click(click)  # noqa: PLW2901 - a bool or a float may stand for it
        check_whole("the place that was shown", place, 0, max(0, n_rows(candidates, "candidates") - 1))
        decision = selector.decide(candidates)
        n_lines += 1
        all_clicks += click
        if decision.action == place:
            n_counted += 1
            n_clicks += click
            selector.learn(decision, click)
    return ReplayResult(n_lines, n_counted, n_clicks, all_clicks / max(1, n_lines))
