"""Clients of the decision service: `Client`, and `AsyncClient` for coroutines."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
