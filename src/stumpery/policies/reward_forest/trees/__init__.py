"""Trees of the reward forest: stored events, leaf statistics, splitting, pruning."""
