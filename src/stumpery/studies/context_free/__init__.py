"""Studies of policies without context."""
