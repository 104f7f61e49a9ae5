"""Off-policy evaluation: estimators, intervals, confidence sequences and diagnostics of logged bandit feedback."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
