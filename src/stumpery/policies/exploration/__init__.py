"""Exploration: scores and uncertainties of actions become probabilities."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["explorers"])
