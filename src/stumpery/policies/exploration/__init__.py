"""Exploration: scores and uncertainties of actions become probabilities."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Bring the explorers on first use."""
    if name == "explorers":
        return import_module(f"{__name__}.explorers")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
