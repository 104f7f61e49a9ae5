"""Exploration: scores and uncertainties of actions become probabilities."""
