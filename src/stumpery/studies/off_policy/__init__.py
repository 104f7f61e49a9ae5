"""Studies of off-policy evaluation: coverage of intervals, and Open Bandit's policies estimated from one another."""
