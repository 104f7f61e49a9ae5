"""The kinds of intervals of a report: how each is computed from the sums over a log, and what it assumes."""

from stumpery.evaluation.off_policy.confidence.intervals import Interval, clopper_pearson
from stumpery.evaluation.off_policy.confidence.likelihood import cressie_read_interval
from stumpery.evaluation.off_policy.estimates import ValueEstimate
from stumpery.evaluation.off_policy.ledger import Ledger
from stumpery.evaluation.off_policy.sums import likelihood_sums

ASSUMES = {
    "sequence": "exact logged probabilities; holds at every moment, also where the logging policy learned",
    "betting": "the same as sequence, and a value that stays: a frozen policy, no drift, rows that count once",
    "normal": "independent events; logging policy and number of events fixed beforehand; no heavy weights",
    "bootstrap": "the same as normal, but weights may be skewed (BCa over events, or over blocks of a long log)",
    "likelihood": "the same as normal for IPS with rewards in the reward range; weights may be skewed (Cressie-Read); "
    "wider than need be unless least_probability is given",
    "Clopper-Pearson": "the same as normal for IPS, and weights of 0 or the largest; too narrow for high rewards",
}
OF_ANY_ESTIMATOR = ("normal", "bootstrap")
BIASED = ("clipped IPS", "DM", "Switch-DR", "DRos")


def assumption(kind: str, estimator: str) -> str:
    """What an interval of a kind assumes for an estimator."""
    is_biased = kind in OF_ANY_ESTIMATOR and estimator in BIASED
    return ASSUMES[kind] + (f"; leaves out the bias of {estimator}" if is_biased else "")


def interval_of(whole: Ledger, policy: str, estimate: ValueEstimate, kind: str, level: float, *, seed: int) -> Interval:
    """The interval of a kind of one policy's value, in rewards."""
    ledger, reward_range = whole.policies[policy], whole.reward_range
    if kind == "normal":
        return estimate.normal(level)
    if kind == "bootstrap":
        return estimate.bootstrap(level, seed=seed)
    low, high = reward_range
    if kind == "sequence":
        unit = ledger.sequence.interval(level, scale=ledger.scale)
    elif kind == "betting":
        unit = ledger.betting.interval(level)
    else:
        sums = likelihood_sums(ledger.sums.totals, low, high)
        largest = float(ledger.tally.largest[0]) if len(ledger.tally.largest) else 1.0
        if kind == "Clopper-Pearson":
            unit = clopper_pearson(sums.wr, sums.n, largest, level)
        else:
            unit = cressie_read_interval(sums, level, largest=max(whole.largest_weight, largest))
    return in_rewards(unit, reward_range)


def in_rewards(unit: Interval, reward_range: tuple[float, float]) -> Interval:
    """An interval of a value scaled to 0..1, in rewards."""
    low, high = reward_range
    return Interval(*(low + (high - low) * end for end in unit))
