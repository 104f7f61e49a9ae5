from .count_min import CountMin
from .moments import Moments
from .quantiles import QuantileSummary

__all__ = ["CountMin", "Moments", "QuantileSummary"]
