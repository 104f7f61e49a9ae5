"""Studies of trees built by reinforcement learning."""
