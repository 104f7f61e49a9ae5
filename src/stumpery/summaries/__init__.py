"""Stream summaries (sketches) in fixed memory: moments, quantiles, count-min; those of equal options merge."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
