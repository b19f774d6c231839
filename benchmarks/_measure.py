"""An executor of a network, the stages of its programs, and MXNet in another process."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import executorkit as mx
from executorkit.executor import PrecompileSpec, bound_avals

from ._networks import Network
from ._timing import PairedTimes, seconds
from ._workers import Worker

#: Environment variable that names a Python with MXNet.
ORACLE = "EXECUTORKIT_ORACLE_PYTHON"


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
        return stages(function, *avals)


def stages(function: Any, *args: Any) -> tuple[float, float, float]:
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


class Oracle(Worker):
    """MXNet, which does the same work in another process, one call at a time."""

    def __init__(self, module: str, *arguments: str) -> None:
        super().__init__(os.environ[ORACLE], module, *arguments)

    def time_in_pairs(self, mode: str, ours: Callable[[], Any], pairs: int) -> PairedTimes:
        """Pairs of a call of ours and one of MXNet's."""
        return PairedTimes.of([(seconds(ours), self.ask(mode)) for _ in range(pairs)])
