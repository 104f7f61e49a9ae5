"""Kernels of Hoeffding trees: state, split criteria and search, splitting, leaf predictors, eviction."""
