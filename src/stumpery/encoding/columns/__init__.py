"""Categorical and numerical columns."""
