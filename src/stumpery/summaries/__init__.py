"""A stream as a few numbers; every summary merges with its like."""

from stumpery.summaries.count_min import CountMin
from stumpery.summaries.moments import Moments
from stumpery.summaries.quantiles import QuantileSummary

__all__ = ["CountMin", "Moments", "QuantileSummary"]
