"""Monitor callbacks: which names come, in which order."""

from __future__ import annotations

from typing import Any

from ._facts import fill, script


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _names(mx: Any, net: Any, monitor_all: bool, train: bool = True, **shapes: Any) -> Any:
    reqs = {n: "write" for n in net.list_arguments() if n != "indices"}
    executor = fill(net.simple_bind(mx.cpu(), reqs, **shapes))
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(_text(name)), monitor_all)
    executor.forward(is_train=train)
    forward = list(seen)
    if train:
        executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    mx.nd.waitall()
    return forward, seen[len(forward) :]


def _nets(mx: Any) -> dict[str, Any]:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    fc = mx.sym.FullyConnected(x, num_hidden=4, name="fc")
    return {
        "dense": fc,
        "no bias": mx.sym.FullyConnected(x, num_hidden=4, no_bias=True, name="fc"),
        "relu": mx.sym.relu(fc, name="r"),
        "activation": mx.sym.Activation(fc, act_type="relu", name="act"),
        "unary": mx.sym.sin(mx.sym.exp(x, name="e"), name="s"),
        "binary": mx.sym.broadcast_add(x, y, name="add"),
        "operators": (x + y) * x - 2,
        "scalar": 1 / (x * 3),
        "concat": mx.sym.Concat(x, y, name="cat"),
        "add_n": mx.sym.add_n(x, y, x, name="sum"),
        "split": mx.sym.SliceChannel(x, num_outputs=2, name="parts"),
        "split used": mx.sym.SliceChannel(x, num_outputs=2, name="parts")[1] * 2,
        "batch norm": mx.sym.BatchNorm(x, name="bn"),
        "layer norm": mx.sym.LayerNorm(x, name="ln"),
        "dropout": mx.sym.Dropout(x, name="drop"),
        "softmax output": mx.sym.SoftmaxOutput(fc, name="out"),
        "regression": mx.sym.LinearRegressionOutput(fc, name="out"),
        "reshape": mx.sym.Reshape(x, shape=(-1,), name="flat"),
        "transpose": mx.sym.transpose(x, name="t"),
        "sum": mx.sym.sum(x, name="total"),
        "block": mx.sym.BlockGrad(mx.sym.sin(x, name="s"), name="block") + y,
        "leaky": mx.sym.LeakyReLU(x, act_type="leaky", name="leaky"),
        "prelu": mx.sym.LeakyReLU(x, act_type="prelu", name="leaky"),
        "embedding": mx.sym.Embedding(
            mx.sym.Variable("indices"), input_dim=3, output_dim=2, name="emb"
        ),
        "where": mx.sym.where(x > 0, x, y, name="w"),
        "dot": mx.sym.dot(x, y, transpose_b=True, name="d"),
        "group": mx.sym.Group([mx.sym.sin(x, name="s"), mx.sym.cos(x, name="c")]),
        "shared": mx.sym.sin(x, name="s") * mx.sym.cos(mx.sym.sin(x, name="s2"), name="c"),
        "variable": mx.sym.Group([x, mx.sym.sin(x, name="s")]),
    }


def _shapes(net: Any) -> dict[str, Any]:
    return {n: (4, 6) for n in net.list_arguments() if n in ("x", "y", "indices")}


@script
def monitor_names(mx):
    return {k: _names(mx, net, False, **_shapes(net)) for k, net in _nets(mx).items()}


@script
def monitor_all_names(mx):
    # Going backwards with monitor_all, MXNet exhausts the memory at SliceChannel.
    return {k: _names(mx, net, True, False, **_shapes(net))[0] for k, net in _nets(mx).items()}


@script
def monitor_does_not_change_results(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    executor = fill(mx.sym.LinearRegressionOutput(net, name="out").simple_bind(mx.cpu(), x=(3, 2)))
    executor.set_monitor_callback(lambda name, array: None)
    executor.forward(is_train=True)
    executor.backward()
    return executor.outputs, executor.grad_arrays
