"""Work whose sizes are new at each call, beside MXNet's.

python -m benchmarks.bench_new_shapes [--only TEXT] [--repeats N] [--repetitions N]

Lines of :mod:`benchmarks.bench_cold`: minima of fresh processes, per call.
"""

from __future__ import annotations

import argparse
import os

from executorkit.display import text_table

from ._measure import ORACLE
from ._new_shapes import NEW_WORKS
from .bench_cold import lines, table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="lines whose title contains this")
    parser.add_argument("--repeats", type=int, default=3, help="number of processes of each")
    parser.add_argument("--repetitions", type=int, default=40, help="new shapes per process")
    options = parser.parse_args()
    mxnet = os.environ.get(ORACLE)
    rows = []
    for title in NEW_WORKS:
        if options.only in title:
            *_, (row,) = lines(title, options.repeats, options.repetitions, mxnet, [])
            rows.append(row)
    print(text_table(*table(rows), right={1, 2, 3, 4, 5}))


if __name__ == "__main__":
    main()
