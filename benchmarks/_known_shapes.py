"""Work with shapes and graphs that a process has met before, for either package.

Every function takes the package and a number of repetitions, and returns the seconds of the
fastest repetition. Imports neither mxnet nor jax nor executorkit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ._networks import network
from ._new_shapes import Work, bind_and_step, perceptron, small_convolution

#: Calls before a measurement, enough for everything to be compiled, and calls of a loop.
WARM_CALLS, LOOP = 50, 300
#: Graphs in the process of :func:`rebind_perceptron`, and the share of them that is trained.
GRAPHS, TRAINED = 500, 5


def _fastest(call: Callable[[], Any], count: int, calls: int = 1) -> float:
    """Seconds of a call, the last of ``calls`` in a row read: the minimum of ``count`` rows."""
    for _ in range(WARM_CALLS):
        call().asnumpy()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        for _ in range(calls):
            result = call()
        result.asnumpy()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def rebind_perceptron(mx: Any, repetitions: int) -> float:
    """Bind and one training step of a known graph, in a process that holds many others."""
    held = []
    for number in range(GRAPHS):
        symbol = perceptron(mx, 33 + number)
        if number % TRAINED == 0:
            held.append((symbol, bind_and_step(mx, symbol, 16)))
        else:
            executor = symbol.simple_bind(mx.cpu(), data=(16, 20))
            held.append((symbol, executor.forward()[0]))
        held[-1][1].asnumpy()
    symbol = perceptron(mx)
    return _fastest(lambda: bind_and_step(mx, symbol, 16), 3 * repetitions)


def reshape_to_known(mx: Any, repetitions: int) -> float:
    """``Executor.reshape`` to a size that has been used before, forward, read."""
    executor, size = small_convolution(mx), 16

    def call() -> Any:
        nonlocal executor, size
        size = 40 - size
        executor = executor.reshape(data=(1, 3, size, size), allow_up_sizing=True)
        return executor.forward()[0]

    return _fastest(call, 8 * repetitions)


def _imperative(call: Callable[[Any, Any, Any], Any], mx: Any, repetitions: int) -> float:
    """A function of two matrices of 32 x 32, called in a row."""
    a, b = mx.nd.ones((32, 32)), mx.nd.ones((32, 32))
    return _fastest(lambda: call(mx, a, b), repetitions, LOOP)


def _add_in_place(_: Any, a: Any, b: Any) -> Any:
    a += b
    return a


def _chain(mx: Any, a: Any, b: Any) -> Any:
    return mx.nd.relu((mx.nd.dot(a, b) + b) * 2 - a)


def step_of_perceptron(mx: Any, repetitions: int) -> float:
    """A training step of the perceptron of ``benchmarks.run``, up to the gradients."""
    net = network("mlp", 64, 28)
    executor = net.filled(mx, net.build(mx))
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
    gradient = executor.grad_dict["fc3_weight"]

    def call() -> Any:
        executor.forward(is_train=True, **inputs)
        executor.backward()
        mx.nd.waitall()
        return gradient

    return _fastest(call, 10 * repetitions)


_CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "dot": lambda mx, a, b: mx.nd.dot(a, b),
    "relu": lambda mx, a, b: mx.nd.relu(a),
    "sum": lambda mx, a, b: mx.nd.sum(a),
    "a += b": _add_in_place,
    "five in a chain": _chain,
}
#: Work by title.
KNOWN_WORKS: dict[str, Work] = {
    "known picture size: reshape, forward, read": reshape_to_known,
    f"known graph among {GRAPHS}: bind, forward, backward": rebind_perceptron,
    **{f"known shape: {name}": partial(_imperative, call) for name, call in _CALLS.items()},
    "known shape: training step of an MLP, 64 rows": step_of_perceptron,
}
