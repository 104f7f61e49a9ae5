"""Linear contextual bandits: LinUCB, linear Thompson sampling, Banditron."""
