"""Words about off-policy estimates that cannot be trusted, and about logs that cannot."""

import math

import numpy as np

from stumpery.evaluation.off_policy import sums as term
from stumpery.evaluation.off_policy.ledger import PolicyLedger
from stumpery.evaluation.off_policy.log_checks import SUSPICIOUS_Z, LogChecks

MIN_EFFECTIVE = 100.0  # events
MIN_EFFECTIVE_SHARE = 0.01  # of all events
MAX_SHARE_OF_ONE = 0.05  # of the weight
MAX_UNSUPPORTED = 0.01  # of decisions
N_WINDOWS = 20  # of the drift test


def effective_size(ledger: PolicyLedger) -> float:
    """Effective sample size of the weights, (sum w)^2 / sum w^2."""
    totals = ledger.sums.totals
    return float(totals[term.W] ** 2 / totals[term.WW]) if totals[term.WW] else 0.0


def policy_warnings(ledger: PolicyLedger, n_rows: int) -> list[str]:
    """Why the estimates of one policy cannot be trusted; nothing if they can."""
    if not ledger.sums.n_rows:
        return ["no event counts"]
    found = []
    totals, size = ledger.sums.totals, effective_size(ledger)
    if size < max(MIN_EFFECTIVE, MIN_EFFECTIVE_SHARE * n_rows):
        found.append(f"few events count: the effective sample size is {size:,.0f} of {n_rows:,}")
    largest = float(ledger.tally.largest[0]) if len(ledger.tally.largest) else 0.0
    if totals[term.W] > 0.0 and largest / totals[term.W] > MAX_SHARE_OF_ONE:
        found.append(f"one event has {100.0 * largest / totals[term.W]:.0f} % of all weight")
    z = mean_weight_z(ledger)
    if abs(z) > SUSPICIOUS_Z:
        mean = totals[term.W] / totals[term.N]
        found.append(f"weights average {mean:.3g} instead of 1: logged probabilities are wrong, or actions are missing")
    unsupported = ledger.tally.unsupported(n_rows)
    if unsupported > MAX_UNSUPPORTED:
        found.append(f"{100.0 * unsupported:.0f} % of its decisions are actions that the log does not show there")
    return found


def mean_weight_z(ledger: PolicyLedger) -> float:
    """By how many standard errors the mean weight misses 1."""
    totals = ledger.sums.totals
    n, mean = totals[term.N], totals[term.W] / totals[term.N]
    variance = totals[term.WW] / n - mean * mean
    return float((mean - 1.0) / math.sqrt(variance / n)) if variance > 1e-12 else 0.0


def reward_windows(ledger: PolicyLedger) -> tuple[list[float], list[float]]:
    """The mean logged reward in each of N_WINDOWS windows of the log, and its standard error."""
    means, errors = [], []
    for blocks in np.array_split(ledger.sums.blocks, min(N_WINDOWS, len(ledger.sums.blocks))):
        n, total, squares = blocks[:, term.N].sum(), blocks[:, term.R].sum(), blocks[:, term.WWRR].sum()
        mean = total / n
        means.append(float(mean))
        errors.append(float(math.sqrt(max(squares / n - mean * mean, 0.0) / n)))
    return means, errors


def log_warnings(logged: PolicyLedger, checks: LogChecks) -> list[str]:
    """Why the log itself cannot be trusted."""
    found = [checks.left_out()] if checks.left_out() else []
    suspicious = [row for row in checks.calibration() + checks.probability_bins() if row.is_suspicious]
    if suspicious:
        worst = max(suspicious, key=lambda row: abs(row.z))
        found.append(
            f"logged probabilities look wrong: {worst.group!r} was due {worst.expected:,.0f} times and came "
            f"{worst.observed:,.0f} times ({abs(worst.z):.0f} standard errors)"
        )
    means, errors = reward_windows(logged)
    error = math.sqrt(float(np.mean(np.square(errors))))
    if len(means) == N_WINDOWS and error > 0.0:
        overall = float(np.mean(means))
        chi = sum(((mean - overall) / error) ** 2 for mean in means)
        freedom = N_WINDOWS - 1
        z = ((chi / freedom) ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * freedom))) / math.sqrt(2.0 / (9.0 * freedom))
        if z > SUSPICIOUS_Z:  # Wilson and Hilferty's approximation
            found.append(
                f"rewards drift: from {means[0]:.3g} in the first {100 // N_WINDOWS} % of the log to {means[-1]:.3g} "
                "in the last, so that values are means over the log and no forecast"
            )
    return found
