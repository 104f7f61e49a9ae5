"""Where things are kept that can be made again."""

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder for compiled kernels and downloaded data: STUMPERY_CACHE, or the user's cache folder."""
    named = os.environ.get("STUMPERY_CACHE")
    if named:
        return Path(named)
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "stumpery"
