"""Benchmarks: seeded workloads, ours and those of peer libraries in one run."""

from stumpery.benchmarks.runner import run_benchmarks

__all__ = ["run_benchmarks"]
