from .candidates import Progressive, Replayed
from .confidence.betting import BettingSequence, LowerBets
from .confidence.intervals import Interval, bootstrap_interval, clopper_pearson, normal_interval
from .confidence.likelihood import LikelihoodSums, cressie_read, cressie_read_interval
from .confidence.sequences import DifferenceSequence, LowerSequence, ValueSequence, bounded_terms
from .estimates import ValueEstimate
from .estimators import direct_method, doubly_robust, ips, self_normalised_dr, snips
from .evaluation import evaluate
from .log_checks import CalibrationRow
from .reporting.report import OffPolicyReport
from .weights import clipped, shrunk, sub_gaussian, switched

__all__ = [
    "BettingSequence",
    "CalibrationRow",
    "DifferenceSequence",
    "Interval",
    "LikelihoodSums",
    "LowerBets",
    "LowerSequence",
    "OffPolicyReport",
    "Progressive",
    "Replayed",
    "ValueEstimate",
    "ValueSequence",
    "bootstrap_interval",
    "bounded_terms",
    "clipped",
    "clopper_pearson",
    "cressie_read",
    "cressie_read_interval",
    "direct_method",
    "doubly_robust",
    "evaluate",
    "ips",
    "normal_interval",
    "self_normalised_dr",
    "shrunk",
    "snips",
    "sub_gaussian",
    "switched",
]
