"""Saving and loading models: their states, the format of files, and validation of what a file brings."""
