"""River's base classes for our models, as virtual base classes.

River asks `isinstance(model, river.base.Classifier)`. Where river was imported before a model is made, its class is
registered with river's base class; river itself is never imported here.
"""

import sys


def register_virtual_subclass(kind: type, base: str) -> None:
    """Register a class as a virtual subclass of river's `Classifier` or `Regressor`, if river was imported."""
    river = sys.modules.get("river.base")
    if river is not None:
        getattr(river, base).register(kind)
