"""Benchmarks: times as ratios to other implementations of the same work; see README.md."""
