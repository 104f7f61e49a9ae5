"""Encoders of mixed columns, numerical and categorical, as floats, integer codes, hashes or bits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
