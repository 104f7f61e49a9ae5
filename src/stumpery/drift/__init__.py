"""Drift detectors."""
