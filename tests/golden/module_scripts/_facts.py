"""Networks, data, initial values and losses of a few steps shared by the scripts on modules."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._scripts import Scripts
from ..executor_scripts._facts import attempt, numbers, plain

__all__ = ["attempt", "numbers"]

SCRIPTS = script = Scripts()

_DIGITS = Path(__file__).parents[3] / "executorkit" / "data" / "digits.npz"


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    mx.random.seed(7)
    np.random.seed(7)
    with mx.name.NameManager():
        return plain(mx, SCRIPTS[name](mx))


def contexts(mx: Any, count: int) -> Any:
    return [mx.cpu(i) for i in range(count)] if count > 1 else mx.cpu()


def mlp(mx: Any, hidden: int = 6, classes: int = 4) -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="tanh1")
    x = mx.sym.FullyConnected(x, num_hidden=classes, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def convnet(mx: Any, classes: int = 4) -> Any:
    x = mx.sym.Variable("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=3, name="conv1")
    x = mx.sym.BatchNorm(x, fix_gamma=False, momentum=0.8, name="bn1")
    x = mx.sym.Activation(x, act_type="relu", name="relu1")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=classes, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def values(module: Any, scale: float = 0.3) -> dict[str, Any]:
    """First values of a bound module's parameters: numbers that depend on their names alone."""
    args, aux = module._arg_params, module._aux_params
    numbers_by_name = {n: scale * numbers(n, a.shape) for n, a in args.items()}
    numbers_by_name |= {n: 1 + 0.1 * np.abs(numbers(n, a.shape)) for n, a in aux.items()}
    return numbers_by_name


def start(mx: Any, module: Any, scale: float = 0.3) -> Any:
    """Initialises a bound module; returns it."""
    inner = getattr(module, "_curr_module", None) or module
    arrays = {n: mx.nd.array(a) for n, a in values(inner, scale).items()}
    module.init_params(
        arg_params={n: a for n, a in arrays.items() if n in inner._arg_params},
        aux_params={n: a for n, a in arrays.items() if n in inner._aux_params},
    )
    return module


def bound(mx: Any, symbol: Any, data: Any = (8, 5), label: Any = (8,), **kwargs: Any) -> Any:
    """A module that is bound and initialised."""
    options = {k: kwargs.pop(k) for k in ("context", "fixed_param_names", "logger") if k in kwargs}
    module = mx.mod.Module(symbol, **options)
    module.bind([("data", data)], [("softmax_label", label)], **kwargs)
    return start(mx, module)


def batch(mx: Any, number: int, data: Any = (8, 5), label: Any = (8,), classes: int = 4) -> Any:
    labels = np.abs(numbers(f"label {number}", label) * 10).astype(int) % classes
    return mx.io.DataBatch(
        [mx.nd.array(numbers(f"data {number}", data))],
        [mx.nd.array(labels.astype(np.float32))],
        pad=0,
    )


def losses(module: Any, batches: Sequence[Any], steps: int, metric: Any) -> np.ndarray:
    """The metric of each of some training steps, as MXNet's own loop computes it."""
    metric_values = []
    for step in range(steps):
        one = batches[step % len(batches)]
        module.forward_backward(one)
        module.update()
        metric.reset()
        module.update_metric(metric, one.label)
        metric_values.append(metric.get()[1])
    return np.array(metric_values, np.float32)


def trained(module: Any) -> dict[str, Any]:
    """Parameters and auxiliary states, in the order of their names."""
    args, aux = module.get_params()
    return {n: a.asnumpy().copy() for n, a in [*sorted(args.items()), *sorted(aux.items())]}


def load_digits(rows: int, test_rows: int = 100) -> list[np.ndarray]:
    """Images (n, 1, 8, 8) and labels to train with, and to test with."""
    with np.load(_DIGITS) as stored:
        images = stored["images"][:, None].astype(np.float32) / 16
        labels = stored["labels"].astype(np.float32)
    stop = rows + test_rows
    return [images[:rows], labels[:rows], images[rows:stop], labels[rows:stop]]


class Log(logging.Logger):
    """Records log lines without their times and values, and the values separately."""

    def __init__(self) -> None:
        super().__init__("script")
        self.lines: list[str] = []
        self.values: list[float] = []

    def info(self, text: Any, *args: Any, **kwargs: Any) -> None:
        line = text % args
        match = re.fullmatch(r"(.*=)(-?[0-9.]+|nan)", line)
        if match and "Time" not in line:
            self.values.append(float(match.group(2)))
        self.lines.append(match.group(1) if match else line)
