"""A stream as a few numbers; every summary merges with its like."""

from stumpery.summaries.moments import Moments

__all__ = ["Moments"]
