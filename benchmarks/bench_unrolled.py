"""What does the length of an unrolled recurrent network cost: binding, compiling, a step?

python -m benchmarks.bench_unrolled [--steps 10,60,200] [--unrolled-by-hand]

Beside the hand-written `lax.scan`, MXNet (see `_measure`), and where asked the hand-written loop
that `jax.jit` unrolls (its compilation takes minutes). Seconds of the stages are those of the
processors, so that what else the machine does does not count; steps are compared pair by pair.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import jax

import executorkit as mx
from executorkit._cli._timing import in_pairs
from executorkit.display._table import text_table
from executorkit.executor._ahead import Request, as_bound

from ._handwritten import FORWARD, jitted
from ._measure import ORACLE, Oracle, Ours, check
from ._networks import network

STAGES = ("bind", "trace", "lower", "compile", "all")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", default="10,60,200")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--unrolled-by-hand", action="store_true")
    options = parser.parse_args()
    lengths = [int(n) for n in options.steps.split(",")]
    _stages_of(5, options.batch)  # what only the first program of a process costs
    rows = [[str(n), *(f"{s:.2f} s" for s in _stages_of(n, options.batch))] for n in lengths]
    print(text_table(["steps", *STAGES], rows, right=set(range(1, len(STAGES) + 1))))
    names = ["lstm_scan", *(["lstm"] if options.unrolled_by_hand else [])]
    rows = [row for n in lengths for row in _steps_of(n, options.batch, options.pairs, names)]
    print(text_table(["steps", "beside", "ours", "its", "its / ours"], rows, right={2, 3, 4}))


def _stages_of(steps: int, batch: int) -> list[float]:
    """Seconds of binding a new graph, tracing, lowering and compiling its training step."""
    net = network("lstm", batch, steps)
    symbol = net.build(mx)
    requests = {n: "null" if n in net.shapes else "write" for n in symbol.list_arguments()}
    times = [time.process_time()]

    def done(result: Any) -> Any:
        times.append(time.process_time())
        return result

    executor = done(symbol.simple_bind(mx.cpu(), grad_req=requests, **net.shapes))
    ((function, avals),) = Request(True).calls(executor, *as_bound(executor))
    with jax.enable_x64(True):
        traced = done(function._jitted.trace(*avals))
        lowered = done(traced.lower())
        done(lowered.compile())
    spans = [b - a for a, b in itertools.pairwise(times)]
    return [*spans, sum(spans)]


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
        times = in_pairs(ours.step, theirs, pairs)
        what = "lax.scan by hand" if name == "lstm_scan" else "jax.jit by hand, unrolled"
        rows.append(_row(steps, what, times))
    if ORACLE in os.environ:
        oracle = Oracle("benchmarks._oracle", "mxnet", "lstm", str(batch), str(steps))
        rows.append(_row(steps, "MXNet", oracle.in_pairs("step", ours.step, pairs)))
        oracle.end()
    return rows


def _row(steps: int, what: str, times: Any) -> list[str]:
    own, its = (f"{t * 1e3:,.1f} ms" for t in (times.ours, times.theirs))
    return [str(steps), what, own, its, f"{1 / times.ratio:.2f}"]


if __name__ == "__main__":
    main()
