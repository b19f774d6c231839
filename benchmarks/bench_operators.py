"""Times of operators of a family beside MXNet's. A ratio above 1 means that ours is faster.

python -m benchmarks.bench_operators detection     loops: suppression, proposals, CTC
                                     regions       images read at computed places
                                     images        resampling, tiles, crops
                                     indexing      look-up, order, masks
                                     algebra       linear algebra
                                     updates       updates of parameters
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median

import jax

import executorkit as mx
from executorkit.display import text_table

from ._measure import ORACLE, Oracle
from ._operators import Case, cases, magnitude, make_run
from ._timing import seconds

#: Modules with cases.
FAMILIES = ("detection", "regions", "images", "indexing", "algebra", "updates")


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--pairs", type=int, default=15, help="number of steady calls of each")
    parser.add_argument("--only", default="", help="a part of the names to measure")
    options = parser.parse_args()
    family = f"_{options.family}"
    print(f"JAX {jax.__version__}, {os.cpu_count()} cores\n")
    oracle = Oracle("benchmarks._operators", family) if ORACLE in os.environ else None
    selected = [c for c in cases(mx, family) if options.only in c.name]
    header = ["", "first call", "steady", "MXNet", "MXNet / ours"]
    rows = []
    for number, case in enumerate(selected, start=1):
        rows.append(_row(case, oracle, options.pairs))
        print(f"{number}/{len(selected)} {' | '.join(rows[-1])}", file=sys.stderr, flush=True)
    print(text_table(header, rows, right={1, 2, 3, 4}))


def _row(case: Case, oracle: Oracle | None, pairs: int) -> list[str]:
    run = make_run(mx, case, lambda array: array.jax.block_until_ready())
    row = [case.name, f"{seconds(run) * 1e3:,.0f} ms"]
    if oracle is None:
        return [*row, f"{median(seconds(run) for _ in range(pairs)) * 1e3:,.1f} ms", "", ""]
    ours, theirs = magnitude(run().asnumpy()), oracle.first[case.name]
    if not abs(ours - theirs) <= case.limit * theirs:
        raise RuntimeError(f"{case.name}: magnitudes of {ours}, MXNet's of {theirs}")
    times = oracle.time_in_pairs(case.name, run, pairs)
    return [*row, f"{times.ours * 1e3:,.1f} ms", f"{times.theirs * 1e3:,.1f} ms",
            f"{times.ratio:.2f}"]  # fmt: skip


if __name__ == "__main__":
    main()
