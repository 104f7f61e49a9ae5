"""Upkeep of a site: check, rebuild, export, back-up, retention and erasure."""
