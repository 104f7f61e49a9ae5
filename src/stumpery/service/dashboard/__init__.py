"""The page of a site: what its policies earn, how they explore, and why they decide as they do."""
