"""Seconds until the first, tenth and thirtieth result of a fresh process, for either package.

python -m benchmarks._first_thirty PACKAGE TITLE

Prints JSON: the seconds from bind on until each of some results, libraries already imported, and
those of a later call, once nothing is compiled in the background any more. Imports neither mxnet
nor jax nor executorkit.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._networks import fill, network
from ._recorded_loops import LOOPS, batch, trained_network

#: Calls after which every program has taken over, and calls of which the median is a steady one.
TAKEN_OVER, STEADY_CALLS = 70, 9
#: Sizes of the pictures of a sweep.
SIZES = range(32, 56, 2)


class Curve(NamedTuple):
    """Calls of a network: ``infer`` without gradients, ``train``, ``infer trained`` by an executor
    that has taken steps before, or ``gluon``, a training step; and the results that are timed."""

    network: str
    batch: int
    size: int
    mode: str
    results: tuple[int, ...]


_THIRTY = (1, 10, 30)
CURVES: dict[str, Curve] = {
    "inference: SqueezeNet": Curve("squeezenet", 1, 224, "infer", _THIRTY),
    "inference: MobileNet v2": Curve("mobilenet_v2", 1, 224, "infer", _THIRTY),
    "inference: ResNet-50": Curve("resnet50", 1, 224, "infer", _THIRTY),
    "inference: ResNet-152": Curve("resnet152", 1, 224, "infer", _THIRTY),
    "training: MLP, 64 rows": Curve("mlp", 64, 28, "train", (1, 20)),
    "training: LeNet, 64 rows": Curve("lenet", 64, 28, "train", (1, 20)),
    "training: LSTM, 10 steps": Curve("lstm", 32, 10, "train", (1, 5)),
    "training: ResNet-50, 4 images": Curve("resnet50", 4, 224, "train", (1, 5)),
    "inference by a trained MLP": Curve("mlp", 64, 28, "infer trained", (1, 20)),
    "inference by a trained LeNet": Curve("lenet", 64, 28, "infer trained", (1, 20)),
    "inference by a trained LSTM": Curve("lstm", 32, 10, "infer trained", (1, 5)),
    "Gluon training: MLP, 64 rows": Curve("MLP 784-128-64-10", 64, 0, "gluon", _THIRTY),
    "Gluon training: MLP of 20 layers": Curve("20 x Dense(32)", 16, 0, "gluon", _THIRTY),
    "Gluon training: LeNet, 64 pictures": Curve("LeNet", 64, 28, "gluon", _THIRTY),
    "Gluon training: LSTM layer, 10 steps": Curve("lstm", 32, 10, "gluon", _THIRTY),
    "Gluon training: ResNet-18, 8 pictures": Curve("resnet18_v1", 8, 64, "gluon", _THIRTY),
    "Gluon training: ResNet-50, 4 pictures": Curve("resnet50_v1", 4, 224, "gluon", (1, 5)),
    "sweep of reshape over 12 sizes": Curve("sweep", 8, 0, "infer", (1, 2, 21)),
}
#: Steps before an inference by an executor that has trained.
_STEPS = 10


def _calls(mx: Any, curve: Curve) -> tuple[float, Callable[[], object]]:
    """The time at which binding began, and a call that waits for its result."""
    net = network(curve.network, curve.batch, curve.size)
    symbol = net.build(mx)
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
    data = {n: v for n, v in inputs.items() if not n.endswith("label")}
    mx.nd.waitall()
    start = time.perf_counter()
    if curve.mode == "infer":
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", **net.shapes)
    else:
        executor = net.bind(mx, symbol)
    fill(net.values(executor))

    def step() -> None:
        executor.forward(is_train=True, **inputs)
        executor.backward()
        mx.nd.waitall()

    def infer() -> Any:
        return executor.forward(is_train=False, **data)[0].asnumpy()

    if curve.mode == "infer trained":
        for _ in range(_STEPS):
            step()
        _wait_for_compiler(mx)
        start = time.perf_counter()
    return start, step if curve.mode == "train" else infer


def _sweep(mx: Any, batch: int) -> tuple[float, Callable[[], object]]:
    """A call binds a network anew for each size of its pictures, by ``Executor.reshape``."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(5, 5), num_filter=32, name="conv")
    x = mx.sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="max")
    pictures = [mx.nd.array(np.random.rand(batch, 3, size, size)) for size in SIZES]
    start = time.perf_counter()
    executor = x.simple_bind(mx.cpu(), grad_req="null", data=pictures[0].shape)
    for array in executor.arg_arrays:
        array[:] = 0.1

    def call() -> None:
        nonlocal executor
        for picture in pictures:
            executor = executor.reshape(data=picture.shape, allow_up_sizing=True)
            executor.forward(is_train=False, data=picture)[0].wait_to_read()

    return start, call


def _gluon(mx: Any, curve: Curve) -> tuple[float, Callable[[], object]]:
    """A training step of a Gluon network, hybridized."""
    start = time.perf_counter()
    loop = next((loop for title, loop in LOOPS.items() if title.startswith(curve.network)), None)
    if loop is not None:
        step = loop.iteration(mx, "hybridized")
    elif curve.network == "lstm":
        step = _language_model(mx, curve.batch, curve.size)
    else:
        net = getattr(mx.gluon.model_zoo.vision, curve.network)()
        net.initialize(mx.init.Xavier())
        pictures = batch(mx, (curve.batch, 3, curve.size, curve.size), 1000)
        step = trained_network(mx, "hybridized", net, *pictures)
    return start, lambda: step().wait_to_read() or mx.nd.waitall()


def _language_model(mx: Any, rows: int, steps: int, words: int = 1000) -> Callable[[], Any]:
    """A training step of a language model of one LSTM layer with 200 units."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Embedding(words, 200), mx.gluon.rnn.LSTM(200), nn.Dense(words, flatten=False))
    net.initialize()
    x, y = (mx.nd.array(np.random.randint(0, words, (steps, rows))) for _ in range(2))
    return trained_network(mx, "hybridized", net, x, y)


def _wait_for_compiler(mx: Any) -> None:
    """Waits until nothing is compiled in the background any more."""
    if mx.__name__ == "executorkit":
        importlib.import_module("executorkit.program._background_tasks").join_workers()


def main(package: str, title: str) -> None:
    warnings.simplefilter("ignore")
    mx: Any = importlib.import_module(package)
    np.random.seed(0)
    mx.nd.ones(1).copy().asnumpy()  # starts the library
    curve = CURVES[title]
    if curve.network == "sweep":
        start, call = _sweep(mx, curve.batch)
    else:
        start, call = (_gluon if curve.mode == "gluon" else _calls)(mx, curve)
    ends = []
    for _ in range(max(curve.results)):
        call()
        ends.append(time.perf_counter() - start)
    seconds = {str(n): ends[n - 1] for n in curve.results}
    for _ in range(TAKEN_OVER - len(ends) if package == "executorkit" else 0):
        call()
    _wait_for_compiler(mx)
    times = []
    for _ in range(STEADY_CALLS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    print(json.dumps(seconds | {"steady": statistics.median(times)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
