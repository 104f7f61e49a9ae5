"""Studies of contextual policies."""
