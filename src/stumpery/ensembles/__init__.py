"""Ensembles of any learners: online (bagging, boosting, stacking, voting) and of a table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
