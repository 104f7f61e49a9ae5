"""Tables and notes of an off-policy evaluation: by policy, by estimator, by action; diagnostics of weights."""

from typing import TYPE_CHECKING, Any

from stumpery.evaluation.off_policy import sums as term
from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.evaluation.off_policy.estimates import NAMES
from stumpery.evaluation.off_policy.ledger import Ledger, PolicyLedger
from stumpery.evaluation.off_policy.reporting.interval_kinds import ASSUMES
from stumpery.evaluation.off_policy.reporting.reliability import effective_size, mean_weight_z

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stumpery.evaluation.off_policy.reporting.report import OffPolicyReport
    from stumpery.types import Action

UNKNOWN = Interval(float("nan"), float("nan"))


def policy_row(report: "OffPolicyReport", ledger: Ledger, policy: str, part: str) -> dict[str, Any]:
    """A policy's value with its normal interval, confidence sequence, gain over the log's policy, effective size."""
    low, high = report.interval(policy, "normal", slice=part)
    sequence = report.interval(policy, slice=part)
    figures: dict[str, Any] = {"policy": policy, "value": report.value(policy, slice=part), "from": low, "to": high}
    figures |= {"any time from": sequence.low, "any time to": sequence.high}
    first = report.policies[0]
    is_paired = any(policy in pair and first in pair for pair in ledger.differences)
    gain = report.difference(policy, first, slice=part) if is_paired else UNKNOWN
    return {
        **figures,
        "gain from": gain.low,
        "gain to": gain.high,
        "effective n": round(effective_size(ledger.policies[policy])),
    }


def estimator_rows(report: "OffPolicyReport", ledger: Ledger, part: str) -> list[dict[str, Any]]:
    """A row for each policy and estimator, with normal interval and confidence sequence."""
    rows: list[dict[str, Any]] = []
    for policy in report.policies:
        if not ledger.policies[policy].sums.n_rows:
            continue
        sequence, size = report.interval(policy, slice=part), effective_size(ledger.policies[policy])
        for estimator in NAMES:
            estimate = report.estimate(policy, estimator, slice=part)
            low, high = report.interval(policy, "normal", estimator, slice=part)
            names = {"slice": part, "policy": policy, "estimator": estimator}
            figures = {"value": estimate.value, "standard_error": estimate.standard_error}
            ends = {"from": low, "to": high, "any_time_from": sequence.low, "any_time_to": sequence.high}
            rows.append({**names, **figures, **ends, "limit": estimate.limit, "effective_size": size})
    return rows


def notes(report: "OffPolicyReport", ledger: Ledger) -> list[str]:
    """What the intervals assume, which policies are decided, and what cannot be trusted."""
    percent, first = f"{100.0 * report.level:g} %", report.policies[0]
    found = [f"from, to: normal interval, {percent}; assumes {ASSUMES['normal']}"]
    is_robust = "doubly robust" if ledger.floor else "of IPS, since no bound on weights is known"
    found.append(f"any time: confidence sequence, {percent}, {is_robust}; assumes {ASSUMES['sequence']}")
    found.append(f"gain: any-time interval of value minus {first!r}, paired")
    if report.slices:
        found.append(f"intervals of slices are corrected for looking at {len(report.slices)} of them")
    for policy, other in ledger.differences:
        at = report.decided_at(policy, other)
        if other == first and at is not None:
            better = ledger.differences[policy, other].interval(report.level).low > 0.0
            word = "better" if better else "not better"
            found.append(f"{policy!r} is {word} than {other!r}: clear after {at:,} events")
    for policy in report.policies:
        found += [f"do not trust {policy!r}: {warning}" for warning in report.warnings(policy)]
    return found + [f"the log: {warning}" for warning in report.warnings()]


def overlap_rows(ledger: PolicyLedger, actions: "Sequence[Action]", n_events: int) -> list[dict[str, Any]]:
    """By action: how often it was logged, how often the policy takes it, and the largest weight."""
    rows = []
    for action, row in zip(actions, ledger.tally.actions.tolist(), strict=True):
        n_logged, target, weights, largest, rewards = row
        reward = rewards / n_logged if n_logged else float("nan")
        share = {"logged": n_logged / n_events, "policy": target / n_events}
        rows.append({"action": action, **share, "weight": weights, "largest": largest, "mean_reward": reward})
    return rows


def weight_diagnostics(ledger: PolicyLedger, n_events: int) -> dict[str, float]:
    """Effective sample size, largest weights and their share, mean weight, and decisions without support."""
    totals, largest = ledger.sums.totals, ledger.tally.largest
    weight = max(float(totals[term.W]), 1e-300)
    return {
        "events": ledger.sums.n_rows,
        "effective_size": effective_size(ledger),
        "mean_weight": weight / max(float(totals[term.N]), 1.0),
        "mean_weight_z": mean_weight_z(ledger) if ledger.sums.n_rows else 0.0,
        "largest_weight": float(largest[0]) if len(largest) else 1.0,
        "largest_share": float(largest[0]) / weight if len(largest) else 1.0 / weight,
        "largest_10_share": float(largest.sum()) / weight,
        "zero_weights": ledger.tally.n_zero / max(ledger.sums.n_rows, 1),
        "unsupported": ledger.tally.unsupported(n_events),
    }
