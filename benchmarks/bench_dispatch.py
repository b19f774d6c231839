"""Cost of a call of an executor above the bare call of the same program, 2 * a + b.

python -m benchmarks.bench_dispatch
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import jax
import numpy as np

import executorkit as mx

CALLS = 1000
PAIRS = 15


def main() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = (2 * a + b).simple_bind(mx.cpu(), a=(2,), b=(2,))
    head = mx.nd.ones((2,))
    x, y, ones = executor.arg_dict["a"].jax, executor.arg_dict["b"].jax, head.jax

    def forward() -> Any:
        return executor.forward()[0].jax

    def forward_read() -> Any:
        return executor.forward()[0].asnumpy()

    def step() -> Any:
        executor.forward(is_train=True)
        executor.backward(head)
        return executor.grad_arrays[1].jax

    bare = jax.jit(lambda a, b: 2 * a + b)

    @jax.jit
    def gradients(a: jax.Array, b: jax.Array, head: jax.Array) -> Any:
        out, vjp = jax.vjp(lambda a, b: 2 * a + b, a, b)
        return out, vjp(head)

    for label, ours, theirs in (
        ("forward", forward, lambda: bare(x, y)),
        ("forward, result read", forward_read, lambda: np.asarray(bare(x, y))),
        ("forward+backward", step, lambda: gradients(x, y, ones)),
    ):
        our_time, their_time, above = _microseconds(ours, theirs)
        print(
            f"{label:24}  executor {our_time:6.1f} us  jax.jit {their_time:6.1f} us  "
            f"above {above:6.1f} us"
        )
    ndarray, numpy_array = mx.nd.ones((2,)), np.ones((2,), np.float32)
    symbol = executor.symbol
    for label, call in (
        ("forward(a=NDArray)", lambda: executor.forward(a=ndarray)[0].jax),
        ("forward(a=NumPy array)", lambda: executor.forward(a=numpy_array)[0].jax),
        ("reshape to a known shape", lambda: executor.reshape(a=(1,), b=(1,)).outputs[0].shape),
        ("simple_bind, known graph", lambda: symbol.simple_bind(mx.cpu(), a=(2,), b=(2,)).outputs),
    ):
        print(f"{label:24}  executor {median(_loop(call) for _ in range(PAIRS)):6.1f} us")


def _microseconds(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float, float]:
    """Medians over pairs of loops: per call of ours, of theirs, and the difference."""
    pairs = [(_loop(ours), _loop(theirs)) for _ in range(PAIRS + 1)][1:]
    return (
        median(our_time for our_time, _ in pairs),
        median(their_time for _, their_time in pairs),
        median(our_time - their_time for our_time, their_time in pairs),
    )


def _loop(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        result = function()
    jax.block_until_ready(result)  # ignores everything but arrays of JAX
    return (time.perf_counter() - start) / CALLS * 1e6


if __name__ == "__main__":
    main()
