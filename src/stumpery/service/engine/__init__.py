"""The engine: the one thread that owns the policies, the log and its commits."""
