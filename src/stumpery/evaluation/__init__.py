"""Evaluation of policies and models: simulation over known rewards, regret, prequential evaluation, replay of logs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
