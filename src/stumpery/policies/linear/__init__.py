"""Linear policies: LinUCB, linear Thompson sampling, Banditron."""
