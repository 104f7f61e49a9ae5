"""What river takes our models for.

River asks `isinstance(model, river.base.Classifier)`. Where river has been imported before a model is made, its base
classes get to know the model's class; river itself is never imported here.
"""

import sys


def register_virtual_subclass(kind: type, base: str) -> None:
    """Register a class with river's `Classifier` or `Regressor`, if river is there."""
    river = sys.modules.get("river.base")
    if river is not None:
        getattr(river, base).register(kind)
