"""Policies without context: greedy, epsilon-greedy, UCB, Thompson sampling, elimination."""
