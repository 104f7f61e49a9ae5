"""Policies by key: a log cut into files by a column, and a policy for each of its values."""
