"""What an evaluation says: estimates with intervals, warnings, pictures."""
