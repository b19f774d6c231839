"""Loops over recorded calls (``mx.autograd``) beside MXNet's.

python -m benchmarks.bench_autograd [--only TEXT] [--pairs N] [--starts N] [--base FOLDER]

The loops are plain Python over arrays; ResNet-50 is that of the model zoo, in inference beside an
executor. Where there is a network, both have it in Gluon as well:
ours plain and hybridized, MXNet's hybridized, and with ``static_alloc`` and ``static_shape``; dense
layers also in ``flax.linen`` with optax under ``jax.jit``, where flax is installed.
Processes alternate; a steady time is taken once a process compiles nothing in the background, and a
ratio is the median of other / ours over the pairs: above 1, executorkit is faster. ``--starts`` is
the number of processes whose first iterations are measured. ``EXECUTORKIT_ORACLE_PYTHON`` names a
Python that has MXNet, ``--base`` the folder of another version of executorkit, for eager calls
while nothing records.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from executorkit.display import text_table

from ._measure import ORACLE
from ._recorded_loops import DENSE, LOOPS, Loop
from ._workers import Worker, wake

#: Length of a measurement, in seconds.
_LENGTH = 0.1
HEADER = [
    "loop", "side", "first", "10th", "30th", "steady", "other / ours: first", "steady",
]  # fmt: skip
#: The module that workers run.
_MODULE = "benchmarks._recorded_loops"


def sides(title: str, loop: Loop, base: Path | None) -> dict[str, tuple[str, ...]]:
    """The sides of a line, ours first: a Python, and the arguments of its worker."""
    ours = {"ours": (sys.executable, _MODULE, "executorkit", title, "plain")}
    forms = ("gluon", "hybridized") if loop.make else ("hybridized",)
    for form in forms if loop.gluon else ():
        ours[f"ours, {form}"] = (sys.executable, _MODULE, "executorkit", title, form)
    if title.startswith("eager") and base is not None:
        ours["base"] = (sys.executable, _MODULE, str(base.resolve()), title, "plain")
    if title in DENSE and importlib.util.find_spec("flax"):
        ours["flax, optax"] = (sys.executable, "benchmarks._flax_loops", title)
    if ORACLE in os.environ:
        forms = ("plain", "hybridized", "static") if loop.gluon else ("plain",)
        for form in forms:
            ours[f"MXNet {form}"] = (os.environ[ORACLE], _MODULE, "mxnet", title, form)
    return ours


def measure(title: str, loop: Loop, pairs: int, starts: int, base: Path | None) -> list[list[str]]:
    """The rows of a loop, one for each side."""
    commands = sides(title, loop, base)
    firsts: dict[str, list[dict[str, float]]] = {side: [] for side in commands}
    workers: dict[str, Worker] = {}
    for number in range(starts):
        for side, command in commands.items():
            worker = Worker(*command)
            firsts[side].append(worker.first)
            if number < starts - 1:
                worker.end()
            else:
                workers[side] = worker
    _check(title, firsts)
    steady = _steady(workers, pairs)
    for worker in workers.values():
        worker.end()
    rows = []
    for side, times in steady.items():
        curve = [median(f[k] for f in firsts[side]) for k in ("first", "10th", "30th")]
        first = median(
            theirs["first"] / ours["first"]
            for theirs, ours in zip(firsts[side], firsts["ours"], strict=True)
        )
        ratio = median(a / b for a, b in zip(times, steady["ours"], strict=True))
        ratios = ["", ""] if side == "ours" else [f"{first:.2f}", f"{ratio:.2f}"]
        cells = [_time(t / loop.calls) for t in (*curve, median(times))]
        rows.append([title, side, *cells, *ratios])
        title = ""
    return rows


def _steady(workers: dict[str, Worker], pairs: int) -> dict[str, list[float]]:
    """Seconds of an iteration of each side, in turn, in alternating order."""
    for worker in workers.values():
        worker.ask("settle")
    slowest = max(worker.ask("1") for worker in workers.values())
    counts = str(max(1, min(2000, int(_LENGTH / slowest))))
    times: dict[str, list[float]] = {side: [] for side in workers}
    for number in range(pairs):
        order = list(workers) if number % 2 else list(workers)[::-1]
        for side in order:
            wake(lambda side=side: workers[side].ask("1"))
            times[side].append(workers[side].ask(counts))
    return times


def _check(title: str, firsts: dict[str, list[dict[str, float]]]) -> None:
    """Raises RuntimeError unless all sides have computed the same in their first iterations."""
    ours = firsts["ours"][0]["result"]
    for side, processes in firsts.items():
        for first in processes:
            if not abs(first["result"] - ours) <= 1e-3 * max(1, abs(ours)):
                raise RuntimeError(f"{title}: {side} computes {first['result']}, not {ours}")


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="loops whose title contains this")
    parser.add_argument("--pairs", type=int, default=15, help="number of measurements of each")
    parser.add_argument("--starts", type=int, default=3, help="number of new processes of each")
    parser.add_argument("--base", type=Path, help="folder of another version of executorkit")
    options = parser.parse_args(arguments)
    rows = []
    for title, loop in LOOPS.items():
        if options.only in title:
            rows += measure(title, loop, options.pairs, options.starts, options.base)
            print(f"{title}: measured", file=sys.stderr, flush=True)
    print(text_table(HEADER, rows, right=set(range(2, len(HEADER)))))


if __name__ == "__main__":
    main()
