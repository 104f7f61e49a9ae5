"""The processes that serve one log: who they are, who leads, and how far each has read."""
