"""Networks, batches and observations shared by the scripts on groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._scripts import Scripts
from ..executor_scripts._facts import attempt, numbers, plain

SCRIPTS = script = Scripts()

#: Devices and workloads by name: even and uneven slices, a device used twice.
PLACES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "one device": ((0,), (1,)),
    "two devices": ((0, 1), (1, 1)),
    "four devices": ((0, 1, 2, 3), (1, 1, 1, 1)),
    "uneven": ((0, 1, 2), (1, 2, 1)),
    "one device twice": ((0, 0), (1, 1)),
}


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    mx.random.seed(7)
    with mx.name.NameManager():
        return plain(mx, SCRIPTS[name](mx))


def contexts(mx: Any, place: str) -> list[Any]:
    return [mx.cpu(i) for i in PLACES[place][0]]


def workloads(place: str) -> list[int]:
    return list(PLACES[place][1])


def parameters(symbol: Any, inputs: Sequence[str]) -> list[str]:
    return [n for n in symbol.list_arguments() if n not in inputs]


def fill(group: Any, names: Sequence[str], execs: Sequence[Any]) -> None:
    """Gives parameters and states numbers that depend on the name alone, on every device."""
    for executor in execs:
        for name in names:
            array = executor.arg_dict[name]
            array[:] = 0.3 * numbers(name, array.shape)
        for name, array in executor.aux_dict.items():
            array[:] = 1 + 0.1 * np.abs(numbers(name, array.shape))


def batch(mx: Any, number: int, data: Any, label: Any, classes: int = 3, **kwargs: Any) -> Any:
    """A batch of normal numbers, with whole numbers below ``classes`` as labels."""
    labels = np.abs(numbers(f"label {number}", label) * 10).astype(int) % classes
    return mx.io.DataBatch(
        [mx.nd.array(numbers(f"data {number}", data))],
        [mx.nd.array(labels.astype(np.float32))],
        **kwargs,
    )


class Shapes:
    """An iterator with all that a manager asks of one."""

    def __init__(self, data: Any, label: Any, rows: int, key: Any = None) -> None:
        self.provide_data = data
        self.provide_label = label
        self.batch_size = rows
        self.default_bucket_key = key


def mlp(mx: Any) -> Any:
    """Five inputs, one hidden layer, three classes."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="tanh1")
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def convnet(mx: Any) -> Any:
    """Two convolutions with batch normalisation, three classes."""
    x = mx.sym.Variable("data")
    for i in (1, 2):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=2, name=f"conv{i}")
        x = mx.sym.BatchNorm(x, fix_gamma=i == 1, momentum=0.8, name=f"bn{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def lstm(mx: Any, steps: int, hidden: int = 3) -> Any:
    """data and softmax_label (batch, steps): word numbers; one LSTM layer unrolled by hand."""
    weights = {
        k: mx.sym.Variable(f"l0_{k}") for k in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    }
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=6, output_dim=4, name="embed")
    inputs = mx.sym.SliceChannel(words, num_outputs=steps, axis=1, squeeze_axis=True, name="cut")
    h = c = None
    tops = []
    for t in range(steps):
        gates = mx.sym.FullyConnected(
            inputs[t], weights["i2h_weight"], weights["i2h_bias"], num_hidden=4 * hidden,
            name=f"t{t}_i2h",
        )  # fmt: skip
        if h is not None:
            gates = gates + mx.sym.FullyConnected(
                h, weights["h2h_weight"], weights["h2h_bias"], num_hidden=4 * hidden,
                name=f"t{t}_h2h",
            )  # fmt: skip
        parts = mx.sym.SliceChannel(gates, num_outputs=4, name=f"t{t}_gates")
        enter, forget, leave = (mx.sym.Activation(parts[i], act_type="sigmoid") for i in (0, 1, 3))
        new = enter * mx.sym.Activation(parts[2], act_type="tanh")
        c = new if c is None else forget * c + new
        h = leave * mx.sym.Activation(c, act_type="tanh")
        tops.append(mx.sym.expand_dims(h, axis=1))
    top = mx.sym.Reshape(mx.sym.Concat(*tops, dim=1), shape=(-1, hidden))
    top = mx.sym.FullyConnected(top, num_hidden=6, name="cls")
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(top, label, name="softmax")


def seen(mx: Any, group: Any) -> Any:
    """Outputs, gradients and states of all devices, as they are now."""
    mx.nd.waitall()
    execs = group.execs if hasattr(group, "execs") else group.train_execs
    return {
        "outputs": [[o.asnumpy() for o in e.outputs] for e in execs],
        "grads": [[None if a is None else a.asnumpy() for a in g] for g in group.grad_arrays],
        "aux": [[a.asnumpy() for a in states] for states in group.aux_arrays],
    }


__all__ = [
    "PLACES", "SCRIPTS", "Shapes", "attempt", "batch", "contexts", "convnet", "fill", "lstm", "mlp",
    "numbers", "parameters", "run", "script", "seen", "workloads",
]  # fmt: skip
