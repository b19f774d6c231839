"""Benchmarks: times as ratios to other implementations of the same work; see README.md."""

import os

# Nothing is loaded that an earlier run has compiled, unless a benchmark asks for it.
os.environ.setdefault("EXECUTORKIT_CACHE_DIR", "")
