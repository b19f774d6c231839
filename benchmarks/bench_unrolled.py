"""Cost of the length of an unrolled recurrent network: binding, compiling, a step.

python -m benchmarks.bench_unrolled [--steps 10,60,200] [--unrolled-by-hand]

Steps are compared pair by pair with the hand-written `lax.scan`, with MXNet (see `_measure`), and,
by the option, with the hand-written loop that `jax.jit` unrolls (compiling it takes minutes).
Seconds of the stages are processor time, so that other load does not count.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from executorkit.display import text_table

from ._handwritten import FORWARD, jitted
from ._measure import ORACLE, STAGES, Oracle, Ours, check, processor_stages
from ._networks import network
from ._timing import PairedTimes, time_in_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", default="10,60,200")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--unrolled-by-hand", action="store_true")
    options = parser.parse_args()
    lengths = [int(n) for n in options.steps.split(",")]
    processor_stages(network("lstm", options.batch, 5))  # the first one of a process costs more
    rows = []
    for n in lengths:
        stages = processor_stages(network("lstm", options.batch, n))
        rows.append([str(n), *(f"{s:.2f} s" for s in (*stages, sum(stages)))])
    print(text_table(["steps", *STAGES, "all"], rows, right={1, 2, 3, 4, 5}))
    names = ["lstm_scan", *(["lstm"] if options.unrolled_by_hand else [])]
    rows = [row for n in lengths for row in _steps_of(n, options.batch, options.pairs, names)]
    print(text_table(["steps", "other", "ours", "other's", "other / ours"], rows, right={2, 3, 4}))


def _steps_of(steps: int, batch: int, pairs: int, names: list[str]) -> list[list[str]]:
    net = network("lstm", batch, steps)
    ours = Ours(net)
    rows = []
    ours.step()
    for name in names:
        step = jitted(FORWARD[name])[1]
        theirs: Callable[[], Any] = lambda step=step: step(*ours.arrays)  # noqa: E731
        for n, expected in theirs()[1].items():
            check(ours.executor.grad_dict[n].asnumpy(), expected, n)
        times = time_in_pairs(ours.step, theirs, pairs)
        label = "lax.scan by hand" if name == "lstm_scan" else "jax.jit by hand, unrolled"
        rows.append(_row(steps, label, times))
    if ORACLE in os.environ:
        oracle = Oracle("benchmarks._oracle", "mxnet", "lstm", str(batch), str(steps))
        rows.append(_row(steps, "MXNet", oracle.time_in_pairs("step", ours.step, pairs)))
        oracle.end()
    return rows


def _row(steps: int, label: str, times: PairedTimes) -> list[str]:
    ours, theirs = (f"{t * 1e3:,.1f} ms" for t in (times.ours, times.theirs))
    return [str(steps), label, ours, theirs, f"{times.ratio:.2f}"]


if __name__ == "__main__":
    main()
