"""How long do operators that loop take beside MXNet: suppression, proposals, matching, CTC?

python -m benchmarks.bench_detection
"""

from __future__ import annotations

import argparse
import os
from statistics import median

import jax
import numpy as np

import executorkit as mx
from executorkit._cli._timing import seconds
from executorkit.display._table import text_table

from ._detection import calls, size
from ._measure import ORACLE, Oracle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="how many steady calls of each")
    pairs = parser.parse_args().pairs
    print(f"JAX {jax.__version__}, {os.cpu_count()} cores\n")
    oracle = Oracle("benchmarks._detection") if ORACLE in os.environ else None
    rows = []
    for name, run in calls(mx, lambda array: array.jax).items():
        first = seconds(run)
        row = [name, f"{first * 1e3:,.0f} ms"]
        if oracle is None:
            row += [f"{median(seconds(run) for _ in range(pairs)) * 1e3:,.1f} ms", "", ""]
        else:
            _equal(name, size(np.asarray(run())), oracle.first[name])
            ours, its, ratio = oracle.in_pairs(name, run, pairs)
            row += [f"{ours * 1e3:,.1f} ms", f"{its * 1e3:,.1f} ms", f"{ratio:.2f}"]
        rows.append(row)
    header = ["", "first call", "steady", "MXNet", "ours / it"]
    print(text_table(header, rows, right={1, 2, 3, 4}))


def _equal(name: str, ours: float, its: float) -> None:
    """What is compared in speed computes the same, but for rounding and what it decides."""
    if not abs(ours - its) <= 1e-3 * its:
        raise RuntimeError(f"{name}: magnitudes of {ours}, MXNet's of {its}")


if __name__ == "__main__":
    main()
