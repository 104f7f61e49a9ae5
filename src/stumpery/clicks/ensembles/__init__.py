"""Ensembles of click predictors."""
