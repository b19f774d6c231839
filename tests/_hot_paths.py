"""The Python calls of the package's hot paths; ``python -m tests._hot_paths`` prints them.

Each path is one step of a network with two layers in its steady state, on one device: everything is
compiled, and nothing that is counted depends on time.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import executorkit as mx

PACKAGE = os.fspath(Path(mx.__file__).parent) + os.sep
#: Steps before the counted one.
_WARM_UP = 80


class Count(NamedTuple):
    """The Python calls of a step.

    calls
        the number of calls of functions of the package.
    files
        the number of the package's files whose functions are called.
    functions
        the number of calls by file and function.
    """

    calls: int
    files: int
    functions: Counter[str]


def count_calls(step: Callable[[], object]) -> Count:
    """Counts the Python calls of ``step``."""
    functions: Counter[str] = Counter()
    files: set[str] = set()

    def observe(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE):
            files.add(name)
            functions[f"{name.removeprefix(PACKAGE)}:{frame.f_code.co_qualname}"] += 1

    sys.setprofile(observe)
    try:
        step()
    finally:
        sys.setprofile(None)
    return Count(functions.total(), len(files), functions)


def _network() -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=8, name="fc1")
    hidden = mx.sym.Activation(hidden, act_type="relu")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax"
    )


def _forward() -> Callable[[], object]:
    executor = _network().simple_bind(mx.cpu(), grad_req="null", data=(4, 5))
    data = mx.nd.ones((4, 5))

    def step() -> None:
        (output,) = executor.forward(data=data)
        output.asnumpy()

    return step


def _eager() -> Callable[[], object]:
    a, b = mx.nd.ones((3, 4)), mx.nd.ones((3, 4))
    return lambda: 2 * a + b


def _rows() -> Callable[[], object]:
    x = mx.nd.ones((10, 20))
    return lambda: (x[2:5], x[2])


def _large_product() -> Callable[[], object]:
    """A product that is compiled, after others that NumPy computes for good."""
    for size in (4, 5, 6):
        small = mx.nd.ones((size, size))
        mx.nd.dot(small, small)
    x = mx.nd.ones((128, 128))
    return lambda: mx.nd.dot(x, x)


def _module() -> Callable[[], object]:
    data, label = np.ones((8, 5), np.float32), np.zeros(8, np.float32)
    batches = mx.io.NDArrayIter(data, label, batch_size=8)
    module = mx.mod.Module(_network())
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params()
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = next(batches)
    return lambda: module._train_batch(batch)


def _gluon(hybridize: bool) -> Callable[[], object]:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8), mx.gluon.nn.Dense(3))
    net.initialize()
    loss_function = mx.gluon.loss.L2Loss()
    if hybridize:
        net.hybridize()
        loss_function.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    data, label = mx.nd.ones((4, 5)), mx.nd.zeros((4, 3))

    def step() -> None:
        with mx.autograd.record():
            loss = loss_function(net(data), label)
        loss.backward()
        trainer.step(4)

    return step


#: For each path what prepares its step.
PATHS: dict[str, Callable[[], Callable[[], object]]] = {
    "inference forward": _forward,
    "eager 2 * a + b": _eager,
    "eager x[2:5], x[2]": _rows,
    "eager dot of 128 x 128": _large_product,
    "Module step": _module,
    "Gluon step, hybridized": lambda: _gluon(True),
    "Gluon step, plain": lambda: _gluon(False),
}


def measure(path: str) -> Count:
    """Counts the Python calls of a path."""
    step = PATHS[path]()
    for _ in range(_WARM_UP):
        step()
    return count_calls(step)


def main() -> None:
    """Prints the figures of all paths; with a path's name its functions, too; as JSON for tests."""
    if sys.argv[1:] == ["--json"]:
        print(json.dumps({name: measure(name).functions for name in PATHS}))
        return
    names = sys.argv[1:] or list(PATHS)
    for name in names:
        count = measure(name)
        print(f"{name}: {count.calls} calls, {count.files} files")
        for function, calls in count.functions.most_common() if sys.argv[1:] else ():
            print(f"{calls:5} {function}")


if __name__ == "__main__":
    main()
