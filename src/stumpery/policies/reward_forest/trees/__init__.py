"""Trees of the reward forest: remembered events, leaf statistics, splitting, pruning."""
