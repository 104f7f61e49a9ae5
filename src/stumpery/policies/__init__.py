"""Policies: decide, then learn from the reward of the chosen action."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
