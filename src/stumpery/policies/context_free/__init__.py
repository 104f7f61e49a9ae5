"""Context-free bandits: greedy, epsilon-greedy, UCB, Thompson sampling, successive elimination."""
