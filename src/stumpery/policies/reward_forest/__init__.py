"""The reward forest: an incremental forest for contextual bandits."""
