"""Learning and deciding on streams with trees.

>>> import stumpery as st
>>> policy = st.UCB(actions=["news", "sport", "film"], seed=7)
>>> decision = policy.decide()
>>> policy.learn(decision, reward=1.0)
"""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stumpery.public import *  # noqa: F403

__version__ = version("stumpery")


def __getattr__(name: str) -> Any:
    """Bring parts and public names on first use, so that the command line starts at once."""
    if not name.startswith("_") and find_spec(f"stumpery.{name}"):
        return import_module(f"stumpery.{name}")
    if name == "__all__" or (not name.startswith("_") and name in __dir__()):
        globals()[name] = getattr(import_module("stumpery.public"), name)
        return globals()[name]
    raise AttributeError(f"module 'stumpery' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*import_module("stumpery.public").__all__, "__version__"]
