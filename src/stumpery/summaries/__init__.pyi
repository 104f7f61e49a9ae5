from .count_min import CountMin
from .moments import Moments
from .quantile_summary import QuantileSummary

__all__ = ["CountMin", "Moments", "QuantileSummary"]
