"""Decision trees built by deep reinforcement learning; training needs the `deep` extra, predicting does not."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
