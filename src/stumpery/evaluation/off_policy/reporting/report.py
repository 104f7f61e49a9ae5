"""Report of an off-policy evaluation: estimates, intervals with what they assume, diagnostics, and warnings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stumpery.display import as_html, as_text
from stumpery.evaluation.off_policy import sums as term
from stumpery.evaluation.off_policy.confidence.intervals import Interval, clopper_pearson, cressie_read_interval
from stumpery.evaluation.off_policy.estimates import DEFAULT, NAMES, ValueEstimate, estimates_of
from stumpery.evaluation.off_policy.ledger import Ledger, PolicyLedger
from stumpery.evaluation.off_policy.log_checks import CalibrationRow, LogChecks
from stumpery.evaluation.off_policy.reporting.reliability import (
    effective_size,
    log_warnings,
    mean_weight_z,
    policy_warnings,
    reward_windows,
)
from stumpery.evaluation.off_policy.sums import likelihood_sums
from stumpery.evaluation.result import Result
from stumpery.options import check_known, check_one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ASSUMES = {
    "sequence": "exact logged probabilities; holds at every moment, also where the logging policy learned",
    "normal": "independent events; logging policy and number of events fixed beforehand; no heavy weights",
    "bootstrap": "the same as normal, but weights may be skewed (BCa over events, or over blocks of a long log)",
    "likelihood": "the same as normal for IPS with rewards in the reward range; weights may be skewed (Cressie-Read)",
    "Clopper-Pearson": "the same as normal for IPS, and weights of 0 or the largest; too narrow for high rewards",
}
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
        """An interval of a policy's value; `ASSUMES` says what each kind assumes.

        A sequence is doubly robust where bounds on the weights are known, else that of IPS; "likelihood" and
        "Clopper-Pearson" are those of IPS, whatever the estimator. Those of slices are corrected for their number.
        """
        check_one_of("kind", kind, ASSUMES)
        found, level = self._of(policy, slice), self._level(slice)
        low, high = self._ledger.reward_range
        estimate = self.estimate(policy, estimator, slice=slice)
        if kind == "normal":
            return estimate.normal(level)
        if kind == "bootstrap":
            return estimate.bootstrap(level, seed=self._seed)
        if kind == "sequence":
            unit = found.sequence.interval(level, scale=found.scale)
        else:
            sums = likelihood_sums(found.sums.totals, low, high)
            largest = float(found.tally.largest[0]) if len(found.tally.largest) else 1.0
            exact = kind == "Clopper-Pearson"
            unit = clopper_pearson(sums.wr, sums.n, largest, level) if exact else cressie_read_interval(sums, level)
        return Interval(*(low + (high - low) * end for end in unit))

    def intervals(self, policy: str, estimator: str = DEFAULT, *, slice: str = ALL) -> list[dict[str, Any]]:  # noqa: A002
        """Every kind of interval of a policy's value, and what it assumes."""
        found = []
        for kind, assumes in ASSUMES.items():
            low, high = self.interval(policy, kind, estimator, slice=slice)
            found.append({"interval": kind, "from": low, "to": high, "assumes": assumes})
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

    def sequence(self, policy: str) -> list[tuple[int, Interval]]:
        """The confidence sequence along the log: numbers of events, and the interval after each."""
        low, high = self._ledger.reward_range
        checkpoints = self._of(policy, ALL).checkpoints
        return [(n, Interval(*(low + (high - low) * end for end in interval))) for n, interval in checkpoints]

    def warnings(self, policy: str | None = None, *, slice: str = ALL) -> list[str]:  # noqa: A002
        """In words, why the estimates of a policy, or without one the log itself, cannot be trusted."""
        if policy is None:
            return log_warnings(self._of(self.policies[0], ALL), self._checks)
        return policy_warnings(self._of(policy, slice), self._in(slice).n)

    def overlap(self, policy: str) -> list[dict[str, Any]]:
        """By action: how often it was logged, how often the policy takes it, and the largest weight."""
        rows = []
        found = self._of(policy, ALL).tally.actions
        for action, row in zip(self._checks.actions, found.tolist(), strict=True):
            n_logged, target, weights, largest, rewards = row
            reward = rewards / n_logged if n_logged else float("nan")
            share = {"logged": n_logged / self.n_events, "policy": target / self.n_events}
            rows.append({"action": action, **share, "weight": weights, "largest": largest, "mean_reward": reward})
        return rows

    def diagnostics(self, policy: str, *, slice: str = ALL) -> dict[str, float]:  # noqa: A002
        """Effective sample size, largest weights and their share, mean weight, and decisions without support."""
        found, n = self._of(policy, slice), self._in(slice).n
        totals, largest = found.sums.totals, found.tally.largest
        weight = max(float(totals[term.W]), 1e-300)
        return {
            "events": found.sums.n_rows,
            "effective_size": effective_size(found),
            "mean_weight": weight / max(float(totals[term.N]), 1.0),
            "mean_weight_z": mean_weight_z(found) if found.sums.n_rows else 0.0,
            "largest_weight": float(largest[0]) if len(largest) else 1.0,
            "largest_share": float(largest[0]) / weight if len(largest) else 1.0 / weight,
            "largest_10_share": float(largest.sum()) / weight,
            "zero_weights": found.tally.n_zero / max(found.sums.n_rows, 1),
            "unsupported": found.tally.unsupported(n),
            "least_probability": self._checks.least_probability,
        }

    def reward_windows(self) -> tuple[list[float], list[float]]:
        """The mean logged reward in each of 20 windows of the log, and its standard error: drift."""
        return reward_windows(self._of(self.policies[0], ALL))

    def columns(self) -> dict[str, Any]:
        """A row for each slice, policy and estimator, with normal interval and confidence sequence."""
        rows: list[dict[str, Any]] = []
        for part in (ALL, *self.slices):
            for policy in self.policies:
                if not self._of(policy, part).sums.n_rows:
                    continue
                sequence, size = self.interval(policy, slice=part), effective_size(self._of(policy, part))
                for estimator in NAMES:
                    estimate = self.estimate(policy, estimator, slice=part)
                    low, high = estimate.normal(self._level(part))
                    names = {"slice": part, "policy": policy, "estimator": estimator}
                    figures = {"value": estimate.value, "standard_error": estimate.standard_error}
                    ends = {"from": low, "to": high, "any_time_from": sequence.low, "any_time_to": sequence.high}
                    rows.append({**names, **figures, **ends, "limit": estimate.limit, "effective_size": size})
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
        found = self._of(policy, part)
        estimate = self.estimate(policy, slice=part)
        low, high = estimate.normal(self._level(part))
        sequence = self.interval(policy, slice=part)
        figures: dict[str, Any] = {"policy": policy, "value": estimate.value, "from": low, "to": high}
        figures |= {"any time from": sequence.low, "any time to": sequence.high}
        first = self.policies[0]
        is_paired = any(policy in pair and first in pair for pair in self._ledger.differences)
        gain = self.difference(policy, first, slice=part) if is_paired else Interval(float("nan"), float("nan"))
        size = round(effective_size(found))
        return {**figures, "gain from": gain.low, "gain to": gain.high, "effective n": size}

    def _notes(self) -> list[str]:
        percent = f"{100.0 * self.level:g} %"
        notes = [f"from, to: normal interval, {percent}; assumes {ASSUMES['normal']}"]
        is_robust = "doubly robust" if self._ledger.floor else "of IPS, since no bound on weights is known"
        notes.append(f"any time: confidence sequence, {percent}, {is_robust}; assumes {ASSUMES['sequence']}")
        notes.append(f"gain: any-time interval of value minus {self.policies[0]!r}, paired")
        if self.slices:
            notes.append(f"intervals of slices are corrected for looking at {len(self.slices)} of them")
        for first, second in self._ledger.differences:
            at = self.decided_at(first, second)
            if second == self.policies[0] and at is not None:
                better = self._ledger.differences[first, second].interval(self.level).low > 0.0
                word = "better" if better else "not better"
                notes.append(f"{first!r} is {word} than {second!r}: clear after {at:,} events")
        for policy in self.policies:
            notes += [f"do not trust {policy!r}: {warning}" for warning in self.warnings(policy)]
        return notes + [f"the log: {warning}" for warning in self.warnings()]

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
