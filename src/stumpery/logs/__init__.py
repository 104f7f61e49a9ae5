"""Logs of decisions: contexts, actions, probabilities and rewards, read in chunks, checked, summarised and written."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
