"""Contextual bandits and online learning with trees.

>>> import stumpery as st
>>> policy = st.UCB(actions=["news", "sport", "film"], seed=7)
>>> decision = policy.decide()
>>> policy.learn(decision, reward=1.0)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lazy_loader

_public, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Bring public names and parts of the package on first use, and nothing else with them."""
    if name == "__version__":  # its module takes longer to import than all of this
        return import_module("importlib.metadata").version("stumpery")
    if name in __all__:
        return _public(name)
    if name.isidentifier() and not name.startswith("_") and find_spec(f"stumpery.{name}"):
        return import_module(f"stumpery.{name}")
    raise AttributeError(f"module 'stumpery' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
