"""Winograd's form of convolutions beside the convolution as it is, in speed and in error.

python -m benchmarks.bench_winograd [--pairs 15] [--shapes 1x56x64 4x14x256]

Two rows per shape (images x pixels x channels): inference with prepared weights, and a training
step, of four convolutions with as many filters of 3 x 3 and ReLU behind each. Times are those with
``winograd="exact"``; the ratios say how many times quicker the other settings are (1 where the rule
keeps the convolution), medians of pairs. The error of inference is the largest difference of the
results relative to the largest result, behind all four layers; gradients behind ReLU are not
compared, because rounding may change the sign of an input near zero.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import executorkit as mx
from executorkit.display import text_table

from ._timing import time_in_pairs

SHAPES = (
    "1x56x64", "1x28x128", "1x14x256", "1x7x512", "4x56x64", "4x28x128", "4x14x256", "4x7x512",
    "1x224x64", "1x112x128", "1x56x256", "1x28x512", "1x96x64", "1x35x96",
)  # fmt: skip
_LAYERS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15, help="number of calls of each")
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="images x pixels x channels")
    options = parser.parse_args()
    rows = [
        measure(shape, train, options.pairs) for shape in options.shapes for train in (False, True)
    ]
    print(text_table(["shape", "", "exact", "F4", "F2", "error of F4"], rows, right={2, 3, 4, 5}))


def measure(shape: str, train: bool, pairs: int) -> list[str]:
    """A row of the table."""
    calls = {s: _call(shape, train, s) for s in ("exact", "F4", "F2")}
    results = {setting: call().asnumpy() for setting, call in calls.items()}
    error = np.abs(results["F4"] - results["exact"]).max() / np.abs(results["exact"]).max()
    times = {s: time_in_pairs(calls[s], calls["exact"], pairs) for s in ("F4", "F2")}
    return [
        shape,
        "training" if train else "inference",
        f"{times['F4'].theirs * 1e3:.2f} ms",
        f"{times['F4'].ratio:.2f}",
        f"{times['F2'].ratio:.2f}",
        "" if train else f"{error:.1e}",
    ]


def _call(shape: str, train: bool, winograd: str) -> Callable[[], Any]:
    """A call of the network, which returns its result or the gradient of its data."""
    images, size, channels = map(int, shape.split("x"))
    net = mx.sym.Variable("data")
    for i in range(_LAYERS):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), pad=(1, 1), num_filter=channels, no_bias=True, name=f"conv{i}"
        )
        net = mx.sym.Activation(net, act_type="relu")
    with mx.program.options(winograd=winograd, prepare=True, interpret=False):
        executor = net.simple_bind(mx.cpu(), data=(images, channels, size, size))
    random = np.random.default_rng(0)
    for array in executor.arg_arrays:
        deviation = 1 if array.shape[2] == size else (2 / np.prod(array.shape[1:])) ** 0.5
        array[:] = random.standard_normal(array.shape) * deviation
    head = mx.nd.array(random.standard_normal(executor.outputs[0].shape))

    def infer() -> Any:
        result = executor.forward()[0]
        result.wait_to_read()
        return result

    def step() -> Any:
        executor.forward(is_train=True)
        executor.backward([head])
        executor.grad_dict["data"].wait_to_read()
        return executor.grad_dict["data"]

    call = step if train else infer
    for _ in range(3):  # weights are prepared at the second call
        call()
    return call


if __name__ == "__main__":
    main()
