"""Kernels of Hoeffding trees: leaves, split search, drift, eviction."""
