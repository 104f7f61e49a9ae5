"""How good a policy or a model is: play over known rewards, compare regrets, replay a log, test then learn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
