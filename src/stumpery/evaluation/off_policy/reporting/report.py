"""Report of an off-policy evaluation: estimates, intervals with what they assume, diagnostics, and warnings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stumpery.display import as_html, as_text
from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.evaluation.off_policy.estimates import DEFAULT, NAMES, ValueEstimate, estimates_of
from stumpery.evaluation.off_policy.ledger import Ledger, PolicyLedger
from stumpery.evaluation.off_policy.log_checks import CalibrationRow, LogChecks
from stumpery.evaluation.off_policy.reporting.interval_kinds import ASSUMES, assumption, in_rewards, interval_of
from stumpery.evaluation.off_policy.reporting.reliability import log_warnings, policy_warnings, reward_windows
from stumpery.evaluation.off_policy.reporting.tables import (
    estimator_rows,
    notes,
    overlap_rows,
    policy_row,
    weight_diagnostics,
)
from stumpery.evaluation.result import Result
from stumpery.options import check_known, check_one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEQUENCES = ("sequence", "betting")
ALL = "all"


class OffPolicyReport(Result):
    """Report of `st.evaluate`: what each policy would have earned on a log, how sure that is, and warnings.

    It prints as a table with notes. `value`, `interval`, `difference` and `warnings` give parts of it, `intervals` all
    intervals of a policy with what they assume, `to_frame` all estimators, `plot` a picture.

    Args:
        ledger: Sums over the log.
        checks: Checks of the log.
        slices: Sums over each slice.
        level: Coverage of intervals.
        seed: Seed of resamples.

    >>> import stumpery as st
    >>> rows = {"action": ["news", "film"] * 500, "p": [0.5] * 1000, "reward": [1.0, 0.0] * 500}
    >>> log = st.logs.from_frame(rows, action="action", reward="reward", probability="p")
    >>> report = st.evaluate(log, {"always news": "news"}, least_probability=0.5)
    >>> report.policies, report.is_better("always news", "logged")
    (('logged', 'always news'), True)
    """

    def __init__(
        self, ledger: Ledger, checks: LogChecks, slices: Mapping[str, Ledger], *, level: float, seed: int
    ) -> None:
        self._ledger, self._checks, self._slices = ledger, checks, dict(slices)
        self.level, self._seed = level, seed
        self._estimates: dict[tuple[str, str], dict[str, ValueEstimate]] = {}

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies; the log's own is the first."""
        return tuple(self._ledger.names)

    @property
    def slices(self) -> tuple[str, ...]:
        """The slices, in the order in which they appear."""
        return tuple(self._slices)

    @property
    def n_events(self) -> int:
        """The number of events that were evaluated."""
        return self._ledger.n

    @property
    def calibration(self) -> list[CalibrationRow]:
        """Whether actions came as often as their logged probabilities say, by action and by range of probability."""
        return self._checks.calibration() + self._checks.probability_bins()

    def value(self, policy: str, estimator: str = DEFAULT, *, slice: str = ALL) -> float:  # noqa: A002
        """The estimated reward per event."""
        return self.estimate(policy, estimator, slice=slice).value

    def estimate(self, policy: str, estimator: str = DEFAULT, *, slice: str = ALL) -> ValueEstimate:  # noqa: A002
        """The estimate of one estimator, with its standard error."""
        check_one_of("estimator", estimator, NAMES)
        key = slice, policy
        if key not in self._estimates:
            found = self._of(policy, slice)
            self._estimates[key] = estimates_of(found.sums, *self._ledger.reward_range)
        return self._estimates[key][estimator]

    def interval(
        self,
        policy: str,
        kind: str = "sequence",
        estimator: str = DEFAULT,
        *,
        slice: str = ALL,  # noqa: A002
    ) -> Interval:
        """An interval of a policy's value; `intervals` says what each kind assumes.

        "sequence" and "betting" are doubly robust where bounds on the weights are known, else those of IPS;
        "likelihood" and "Clopper-Pearson" are those of IPS, whatever the estimator. Those of slices are corrected for
        their number.
        """
        check_one_of("kind", kind, ASSUMES)
        estimate = self.estimate(policy, estimator, slice=slice)
        return interval_of(self._in(slice), policy, estimate, kind, self._level(slice), seed=self._seed)

    def intervals(self, policy: str, estimator: str = DEFAULT, *, slice: str = ALL) -> list[dict[str, Any]]:  # noqa: A002
        """Every kind of interval of a policy's value, and what it assumes."""
        found = []
        for kind in ASSUMES:
            low, high = self.interval(policy, kind, estimator, slice=slice)
            found.append({"interval": kind, "from": low, "to": high, "assumes": assumption(kind, estimator)})
        return found

    def difference(self, policy: str, other: str, *, slice: str = ALL) -> Interval:  # noqa: A002
        """Confidence sequence of a policy's value minus another's, paired on the same events."""
        return self._compared(policy, other, slice)[0]

    def is_better(self, policy: str, other: str, *, slice: str = ALL) -> bool | None:  # noqa: A002
        """Whether a policy is better than another; None as long as that is open.

        It may be asked as often as one likes while a log grows: the error is that of one look.
        """
        low, high = self.difference(policy, other, slice=slice)
        return None if low <= 0.0 <= high else low > 0.0

    def decided_at(self, policy: str, other: str) -> int | None:
        """The number of events after which it was clear which of two policies is better; None if it is not."""
        return self._compared(policy, other, ALL)[1]

    def sequence(self, policy: str, kind: str = "sequence") -> list[tuple[int, Interval]]:
        """A confidence sequence along the log, "sequence" or "betting": numbers of events, the interval after each."""
        check_one_of("kind", kind, SEQUENCES)
        notes = self._of(policy, ALL).checkpoints
        return [(each.n, in_rewards(getattr(each, kind), self._ledger.reward_range)) for each in notes]

    def warnings(self, policy: str | None = None, *, slice: str = ALL) -> list[str]:  # noqa: A002
        """In words, why the estimates of a policy, or without one the log itself, cannot be trusted."""
        if policy is None:
            return log_warnings(self._of(self.policies[0], ALL), self._checks)
        return policy_warnings(self._of(policy, slice), self._in(slice).n)

    def overlap(self, policy: str) -> list[dict[str, Any]]:
        """By action: how often it was logged, how often the policy takes it, and the largest weight."""
        return overlap_rows(self._of(policy, ALL), self._checks.actions, self.n_events)

    def diagnostics(self, policy: str, *, slice: str = ALL) -> dict[str, float]:  # noqa: A002
        """Effective sample size, largest weights and their share, mean weight, and decisions without support."""
        figures = weight_diagnostics(self._of(policy, slice), self._in(slice).n)
        return {**figures, "least_probability": self._checks.least_probability}

    def reward_windows(self) -> tuple[list[float], list[float]]:
        """The mean logged reward in each of 20 windows of the log, and its standard error: drift."""
        return reward_windows(self._of(self.policies[0], ALL))

    def columns(self) -> dict[str, Any]:
        """A row for each slice, policy and estimator, with normal interval and confidence sequence."""
        rows = [row for part in (ALL, *self.slices) for row in estimator_rows(self, self._in(part), part)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def summary(self) -> dict[str, Any]:
        """A row for each policy, and by slice if there are slices."""
        final = [self._row(policy, ALL) for policy in self.policies]
        if self.slices:
            named = [(part, policy) for part in (ALL, *self.slices) for policy in self.policies]
            final = [{"slice": part, **self._row(policy, part)} for part, policy in named]
        return {"events": self.n_events, "level": self.level, "final": final, "notes": self._notes()}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot estimates with their intervals; without `ax` also values over time and weights, in one figure."""
        from stumpery.evaluation.off_policy.reporting import pictures

        return pictures.draw(self, self._ledger) if ax is None else pictures.draw_estimates(self, ax)

    def __str__(self) -> str:
        heading = f"Off-policy evaluation: {self.n_events:,} events, rewards per event by {DEFAULT}"
        return "\n".join([heading, *as_text(self._overview()), *(f"  - {note}" for note in self._notes())])

    def _repr_html_(self) -> str:
        return as_html(
            f"Off-policy evaluation: {self.n_events:,} events. {' · '.join(self._notes())}", self._overview()
        )

    def _row(self, policy: str, part: str) -> dict[str, Any]:
        return policy_row(self, self._in(part), policy, part)

    def _notes(self) -> list[str]:
        return notes(self, self._ledger)

    def _in(self, part: str) -> Ledger:
        if part == ALL:
            return self._ledger
        check_known("slice", part, self._slices)
        return self._slices[part]

    def _of(self, policy: str, part: str) -> PolicyLedger:
        check_known("policy", policy, self._ledger.names)
        return self._in(part).policies[policy]

    def _compared(self, policy: str, other: str, part: str) -> tuple[Interval, int | None]:
        ledger = self._in(part)
        self._of(policy, part), self._of(other, part)
        if policy == other:
            return Interval(0.0, 0.0), None
        pairs = ledger.differences
        if (policy, other) not in pairs and (other, policy) not in pairs:
            check_one_of("a pair with a confidence sequence", (policy, other), list(pairs))
        return ledger.difference(policy, other, self._level(part))

    def _level(self, part: str) -> float:
        """The level of an interval: Bonferroni's for slices."""
        return self.level if part == ALL else 1.0 - (1.0 - self.level) / len(self._slices)
