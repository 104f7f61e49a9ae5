"""Scorers of the reward forest, and how they are stacked."""
