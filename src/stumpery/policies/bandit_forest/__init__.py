"""Bandit Forest: stump, tree and forest that eliminate variables and actions."""
