"""Measures a network's executor against the hand-written function and, where installed, MXNet.

Trace, lower, compile, first call and steady call are measured separately. Steady calls alternate;
the result is the median over the pairs of other / ours: above 1, executorkit is faster.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import executorkit as mx
from executorkit.display import text_table
from executorkit.executor import PrecompileSpec, bound_avals

from ._handwritten import functions
from ._networks import Network, network
from ._timing import PairedTimes, seconds, time_in_pairs
from ._workers import Worker

#: Environment variable that names a Python with MXNet.
ORACLE = "EXECUTORKIT_ORACLE_PYTHON"


def main(name: str, description: str, batch: int, size: int = 28, pairs: int = 30) -> None:
    """The command of a ``bench_<network>.py``: measures and prints a table."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--pairs", type=int, default=pairs, help="number of steady calls of each")
    if name == "resnet50":
        parser.add_argument("--size", type=int, default=size, help="pixels per side")
    options = parser.parse_args()
    size = getattr(options, "size", size)
    net = network(name, options.batch, size)
    shapes = ", ".join(f"{n} {s}" for n, s in net.shapes.items())
    print(f"{name}: {shapes}; JAX {jax.__version__}, {os.cpu_count()} cores\n")
    worker = ("benchmarks._oracle", "mxnet", name, str(options.batch), str(size))
    oracle = Oracle(*worker) if ORACLE in os.environ else None
    rows = measure(name, net, oracle, options.pairs)
    header = [
        "",
        "bind",
        "mode",
        "trace",
        "lower",
        "compile",
        "first call",
        "steady",
        "other / ours",
    ]
    print(text_table(header, rows, right={1, 3, 4, 5, 6, 7, 8}))


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
        stages = executor_stages(executor, mode)
        first = seconds(ours)
        their_stages = _stages(function, *arrays)
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
            ["executorkit", _ms(bind), label, *map(_ms, (*stages, first, times.ours)), ""],
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


class Ours:
    """An executor of a network and its calls; each call but :meth:`read` passes the inputs. All
    calls are compiled: first calls have a benchmark of their own (``bench_cold``).

    arrays
        parameters, states and inputs, for a hand-written function.
    """

    def __init__(self, net: Network) -> None:
        with mx.program.options(interpret=False):
            self.executor = executor = net.filled(mx, net.build(mx))
        self.inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
        self.data = {n: v for n, v in self.inputs.items() if not n.endswith("label")}
        parameters = {n: a.jax for n, a in executor.arg_dict.items() if n not in self.inputs}
        states = {n: a.jax for n, a in executor.aux_dict.items()}
        self.arrays = parameters, states, {n: a.jax for n, a in self.inputs.items()}

    def forward(self) -> Any:
        """Inference."""
        return self.executor.forward(is_train=False, **self.data)[0].jax

    def read(self) -> np.ndarray:
        """Inference of the inputs of the last call, read."""
        return self.executor.forward(is_train=False)[0].asnumpy()

    def step(self) -> Any:
        """A training step up to the gradients."""
        self.executor.forward(is_train=True, **self.inputs)
        self.executor.backward()
        return [g.value for g in self.executor.gradient_targets], self.executor.outputs[0].value


#: The stages of :func:`processor_stages`.
STAGES = ("bind", "trace", "lower", "compile")


def processor_stages(net: Network) -> list[float]:
    """Processor seconds of binding a new graph, tracing, lowering and compiling its training."""
    symbol = net.build(mx)
    times = [time.process_time()]

    def done(result: Any) -> Any:
        times.append(time.process_time())
        return result

    executor = done(net.bind(mx, symbol))
    function: Any
    ((function, avals),) = PrecompileSpec(True).calls(executor, *bound_avals(executor))
    with jax.enable_x64(True):
        traced = done(function.trace(*avals))
        lowered = done(traced.lower())
        done(lowered.compile())
    return [b - a for a, b in itertools.pairwise(times)]


def executor_stages(executor: mx.Executor, mode: str) -> tuple[float, float, float]:
    """Seconds of tracing, lowering and compiling the program that the executor runs in a mode."""
    spec = PrecompileSpec(mode == "step")
    ((function, avals),) = spec.calls(executor, *bound_avals(executor))
    with jax.enable_x64(True):
        return _stages(function, *avals)


def _stages(function: Any, *args: Any) -> tuple[float, float, float]:
    times = [time.perf_counter()]
    stage = function.trace(*args)
    times.append(time.perf_counter())
    stage = stage.lower()
    times.append(time.perf_counter())
    stage.compile()
    times.append(time.perf_counter())
    return times[1] - times[0], times[2] - times[1], times[3] - times[2]


def check(actual: Any, expected: Any, what: str) -> None:
    """Raises RuntimeError unless two results agree up to rounding, which deep networks amplify: the
    norm of the difference is at most 5% of the norm of the expected one."""
    error = np.linalg.norm(actual - np.asarray(expected))
    if not error <= 0.05 * np.linalg.norm(expected):
        raise RuntimeError(f"{what} differs from the hand-written one by {error} in norm")


def _ms(value: float) -> str:
    return f"{value * 1e3:,.2f} ms"


class Oracle(Worker):
    """MXNet, which does the same work in another process, one call at a time."""

    def __init__(self, module: str, *arguments: str) -> None:
        super().__init__(os.environ[ORACLE], module, *arguments)

    def time_in_pairs(self, mode: str, ours: Callable[[], Any], pairs: int) -> PairedTimes:
        """Pairs of a call of ours and one of MXNet's."""
        return PairedTimes.of([(seconds(ours), self.ask(mode)) for _ in range(pairs)])
