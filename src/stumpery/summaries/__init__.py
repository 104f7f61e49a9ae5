"""Stream summaries (sketches) in bounded memory: moments, quantiles and count-min, all of which merge."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
