"""Studies of feature selection."""
