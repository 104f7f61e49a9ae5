"""Training of trees by deep reinforcement learning, in jax."""
