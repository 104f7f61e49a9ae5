"""Studies of the Bandit Forest."""
