"""Studies of click prediction."""
