"""Confidence intervals, and confidence sequences that hold at all times."""
