"""Cost of a step of an executor beside the hand-written one and, where installed, MXNet's.

python -m benchmarks.bench_stages mlp | lenet | resnet50 | lstm

Trace, lower, compile, first call and steady call are measured separately. Steady calls alternate;
the result is the median over the pairs of other / ours: above 1, executorkit is faster.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import jax

from executorkit.display import text_table

from ._handwritten import functions
from ._measure import ORACLE, Oracle, Ours, check, executor_stages, stages
from ._networks import Network, network
from ._timing import seconds, time_in_pairs

#: Batch, size and number of pairs of steady calls, by network.
NETWORKS = {"mlp": (64, 28, 200), "lenet": (32, 28, 40), "resnet50": (4, 224, 5),
            "lstm": (32, 35, 10)}  # fmt: skip


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--pairs", type=int, help="number of steady calls of each")
    parser.add_argument("--size", type=int, help="pixels per side of resnet50, steps of lstm")
    options = parser.parse_args()
    name = options.network
    asked = options.batch, options.size, options.pairs
    batch, size, pairs = (a or b for a, b in zip(asked, NETWORKS[name], strict=True))
    net = network(name, batch, size)
    shapes = ", ".join(f"{n} {s}" for n, s in net.shapes.items())
    print(f"{name}: {shapes}; JAX {jax.__version__}, {os.cpu_count()} cores\n")
    worker = ("benchmarks._oracle", "mxnet", name, str(batch), str(size))
    oracle = Oracle(*worker) if ORACLE in os.environ else None
    header = ["", "bind", "mode", "trace", "lower", "compile", "first call", "steady",
              "other / ours"]  # fmt: skip
    print(text_table(header, measure(name, net, oracle, pairs), right={1, 3, 4, 5, 6, 7, 8}))


def measure(name: str, net: Network, oracle: Oracle | None, pairs: int) -> list[list[str]]:
    """Rows of the table: for each mode executorkit, the hand-written function, and MXNet."""
    start = time.perf_counter()
    side = Ours(net)
    bind = time.perf_counter() - start
    executor, arrays = side.executor, side.arrays
    by_hand: tuple[Any, Any] = functions(name)
    infer, train = by_hand
    rows = []
    for mode, ours, function in (("forward", side.forward, infer), ("step", side.step, train)):
        ours_stages = executor_stages(executor, mode)
        first = seconds(ours)
        their_stages = stages(function, *arrays)
        theirs: Callable[[], Any] = lambda f=function: f(*arrays)  # noqa: E731
        their_first = seconds(theirs)
        if mode == "forward":
            check(executor.outputs[0].asnumpy(), theirs(), "probabilities")
        else:
            gradients = theirs()[1]
            for n, expected in gradients.items():
                check(executor.grad_dict[n].asnumpy(), expected, n)
        times = time_in_pairs(ours, theirs, pairs)
        label = "forward" if mode == "forward" else "forward+backward"
        rows += [
            ["executorkit", _ms(bind), label, *map(_ms, (*ours_stages, first, times.ours)), ""],
            ["jax.jit", "", label, *map(_ms, (*their_stages, their_first, times.theirs)),
             f"{times.ratio:.3f}"],
        ]  # fmt: skip
        if oracle is not None:
            times = oracle.time_in_pairs(mode, ours, max(3, pairs // 3))
            first = oracle.first[mode]
            rows.append(
                ["MXNet", _ms(oracle.first["bind"]), label, "", "", "", _ms(first),
                 _ms(times.theirs), f"{times.ratio:.3f}"]
            )  # fmt: skip
    return rows


def _ms(value: float) -> str:
    return f"{value * 1e3:,.2f} ms"


if __name__ == "__main__":
    main()
