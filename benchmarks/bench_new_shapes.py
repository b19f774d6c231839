"""Work whose sizes are new at each call, beside MXNet's.

python -m benchmarks.bench_new_shapes [--only TEXT] [--repeats N] [--repetitions N]
python -m benchmarks.bench_new_shapes --memory

Lines of :mod:`benchmarks.bench_cold`: minima of fresh processes, per call. ``--memory`` prints how
the memory of this process grows over 5,000 sizes of every work of ``memory_works``, after 200.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import executorkit as mx
from executorkit.display import text_table

from ._measure import ORACLE
from ._new_shapes import NEW_WORKS, memory_works
from .bench_cold import lines, table


def _resident() -> float:
    """The resident memory of this process, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def print_memory() -> None:
    works, start = memory_works(mx), 0.0
    for n in range(2, 5202):
        for work in works:
            work(n).asnumpy()
        if n == 201:
            start = _resident()
        elif n % 500 == 201:
            print(f"{n - 201:5} sizes: {_resident() - start:+.1f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="lines whose title contains this")
    parser.add_argument("--repeats", type=int, default=3, help="number of processes of each")
    parser.add_argument("--repetitions", type=int, default=40, help="new shapes per process")
    parser.add_argument("--memory", action="store_true", help="the growth of memory instead")
    options = parser.parse_args()
    if options.memory:
        print_memory()
        return
    mxnet = os.environ.get(ORACLE)
    rows = []
    for title in NEW_WORKS:
        if options.only in title:
            *_, (row,) = lines(title, options.repeats, options.repetitions, mxnet, [])
            rows.append(row)
    print(text_table(*table(rows), right={1, 2, 3, 4, 5}))


if __name__ == "__main__":
    main()
