"""Training of trees by deep reinforcement learning: the agent, and its compiled training loop in jax."""
