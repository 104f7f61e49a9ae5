"""Bandit Forest (Feraud et al. 2016): stump, tree and forest that eliminate variables and actions."""
