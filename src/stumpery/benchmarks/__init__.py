"""Seeded workloads, ours and the peers' in one run."""

from stumpery.benchmarks.runner import run_benchmarks

__all__ = ["run_benchmarks"]
