"""Explorers: scores and uncertainties become probabilities of actions."""
