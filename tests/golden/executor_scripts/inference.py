"""Shapes and types of whole graphs, forwards, backwards and in part."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, script


def _shapes(mx: Any, net: Any, **shapes: Any) -> Any:
    whole = attempt(mx, lambda: net.infer_shape(**shapes))
    part = attempt(mx, lambda: net.infer_shape_partial(**shapes))
    return whole, part


def _types(mx: Any, net: Any, **types: Any) -> Any:
    def names(answers: Any) -> Any:
        return [p and [t and np.dtype(t).name for t in p] for p in answers]

    whole = attempt(mx, lambda: names(net.infer_type(**types)))
    part = attempt(mx, lambda: names(net.infer_type_partial(**types)))
    return whole, part


def _mlp(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="relu"), name="bn")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _convolutions(mx: Any) -> Any:
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="c1")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.Deconvolution(net, kernel=(2, 2), stride=(2, 2), num_filter=2, name="d1")
    return mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=3, name="fc")


@script
def infer_shape_mlp(mx):
    net = _mlp(mx)
    return {
        "data": _shapes(mx, net, data=(8, 10)),
        "unknown batch": _shapes(mx, net, data=(0, 10)),
        "unknown width": _shapes(mx, net, data=(8, 0)),
        "label": _shapes(mx, net, softmax_label=(8,)),
        "weight": _shapes(mx, net, fc1_weight=(6, 10)),
        "weight and batch": _shapes(mx, net, fc1_weight=(6, 10), data=(4, 0)),
        "nothing": _shapes(mx, net),
        "contradiction": _shapes(mx, net, data=(8, 10), fc1_weight=(6, 11)),
        "unknown name": _shapes(mx, net, zz=(1,)),
        "four axes": _shapes(mx, net, data=(8, 1, 2, 5)),
    }


@script
def infer_shape_convolutions(mx):
    net = _convolutions(mx)
    return {
        "data": _shapes(mx, net, data=(2, 3, 12, 12)),
        "unknown batch": _shapes(mx, net, data=(0, 3, 12, 12)),
        "unknown channels": _shapes(mx, net, data=(2, 0, 12, 12)),
        "weight": _shapes(mx, net, data=(2, 0, 12, 12), c1_weight=(4, 3, 3, 3)),
        "too small": _shapes(mx, net, data=(2, 3, 2, 2)),
        "rank": _shapes(mx, net, data=(2, 3, 12)),
    }


@script
def infer_shape_elementwise(mx):
    a, b, c = (mx.sym.Variable(n) for n in "abc")
    net = mx.sym.sin(a + b) * mx.sym.exp(c)
    return {
        "first": _shapes(mx, net, a=(2, 3)),
        "last": _shapes(mx, net, c=(2, 3)),
        "parts": _shapes(mx, net, a=(2, 0), c=(0, 3)),
        "contradiction": _shapes(mx, net, a=(2, 3), c=(3, 2)),
        "all": _shapes(mx, net, a=(2, 3), b=(2, 3), c=(2, 3)),
    }


@script
def infer_shape_broadcast(mx):
    net = mx.sym.broadcast_add(mx.sym.Variable("a"), mx.sym.Variable("b"))
    return {
        "both": _shapes(mx, net, a=(2, 1), b=(1, 3)),
        "unknown in one": _shapes(mx, net, a=(0, 3), b=(5, 3)),
        "unknown against 1": _shapes(mx, net, a=(0, 3), b=(1, 3)),
        "unknown in both": _shapes(mx, net, a=(0, 3), b=(0, 3)),
        "one": _shapes(mx, net, a=(2, 3)),
        "does not fit": _shapes(mx, net, a=(2, 3), b=(3, 3)),
    }


@script
def infer_shape_joins(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return {
        "concat": _shapes(mx, mx.sym.Concat(a, b, dim=1), a=(2, 3), b=(2, 4)),
        "concat in part": _shapes(mx, mx.sym.Concat(a, b, dim=1), a=(2, 3), b=(0, 4)),
        "concat from one": _shapes(mx, mx.sym.Concat(a, b, dim=1), a=(2, 3)),
        "concat misfit": _shapes(mx, mx.sym.Concat(a, b, dim=1), a=(2, 3), b=(3, 4)),
        "add_n": _shapes(mx, mx.sym.add_n(a, b), a=(2, 3)),
        "stack": _shapes(mx, mx.sym.stack(a, b, axis=1), a=(2, 3), b=(2, 3)),
        "split": _shapes(mx, mx.sym.SliceChannel(a, num_outputs=2), a=(2, 4)),
        "split misfit": _shapes(mx, mx.sym.SliceChannel(a, num_outputs=3), a=(2, 4)),
        "dot": _shapes(mx, mx.sym.dot(a, b), a=(2, 3), b=(3, 4)),
        "dot misfit": _shapes(mx, mx.sym.dot(a, b), a=(2, 3), b=(4, 3)),
        "batch_dot": _shapes(mx, mx.sym.batch_dot(a, b), a=(5, 2, 3), b=(5, 3, 4)),
    }


@script
def infer_shape_reshapes(mx):
    x = mx.sym.Variable("x")
    return {
        "minus one": _shapes(mx, mx.sym.Reshape(x, shape=(0, -1)), x=(2, 3, 4)),
        "codes": _shapes(mx, mx.sym.Reshape(x, shape=(-3, -2)), x=(2, 3, 4)),
        "unknown batch": _shapes(mx, mx.sym.Reshape(x, shape=(0, -1)), x=(0, 3, 4)),
        "misfit": _shapes(mx, mx.sym.Reshape(x, shape=(5, 5)), x=(2, 3, 4)),
        "flatten": _shapes(mx, mx.sym.Flatten(x), x=(2, 3, 4)),
        "transpose": _shapes(mx, mx.sym.transpose(x), x=(2, 3, 4)),
        "transpose in part": _shapes(mx, mx.sym.transpose(x), x=(0, 3, 4)),
        "sum": _shapes(mx, mx.sym.sum(x, axis=1), x=(2, 3, 4)),
        "sum in part": _shapes(mx, mx.sym.sum(x, axis=1), x=(0, 3, 4)),
        "slice_axis": _shapes(mx, mx.sym.slice_axis(x, axis=1, begin=0, end=2), x=(2, 3, 4)),
        "expand": _shapes(mx, mx.sym.expand_dims(x, axis=1), x=(2, 3)),
        "squeeze": _shapes(mx, mx.sym.squeeze(x), x=(2, 1, 3)),
    }


@script
def infer_shape_zeros_from_consumers(mx):
    x = mx.sym.Variable("x")
    begin = mx.sym.zeros(shape=(0, 4), name="begin")
    hidden = mx.sym.FullyConnected(begin, num_hidden=4, name="h")
    net = mx.sym.FullyConnected(x, num_hidden=4, name="i") + hidden
    seen = {
        "open": _shapes(mx, net, x=(3, 5)),
        "added": _shapes(mx, begin + x, x=(3, 4)),
        "alone": _shapes(mx, begin),
        "contradiction": _shapes(mx, begin + x, x=(3, 5)),
    }
    executor = (begin + x).simple_bind(mx.cpu(), x=(3, 4))
    return seen, executor.forward()


@script
def infer_shape_rnn(mx):
    x = mx.sym.Variable("x")
    rnn = mx.sym.RNN(
        x, mx.sym.Variable("p"), mx.sym.Variable("h"), mx.sym.Variable("c"), state_size=4,
        num_layers=2, mode="lstm", state_outputs=True, name="rnn",
    )  # fmt: skip
    return {
        "data": _shapes(mx, rnn, x=(5, 2, 3)),
        "unknown batch": _shapes(mx, rnn, x=(5, 0, 3)),
        "state": _shapes(mx, rnn, h=(2, 2, 4)),
    }


@script
def infer_shape_declared(mx):
    x = mx.sym.Variable("x", shape=(2, 3))
    y = mx.sym.Variable("y", shape=(0, 3))
    return {
        "declared": _shapes(mx, x * 2),
        "overruled": _shapes(mx, x * 2, x=(4, 3)),
        "in part": _shapes(mx, y * 2),
        "completed": _shapes(mx, x + y),
        "given": _shapes(mx, y * 2, y=(5, 3)),
    }


@script
def infer_shape_losses(mx):
    x = mx.sym.Variable("x")
    return {
        "softmax": _shapes(mx, mx.sym.SoftmaxOutput(x, name="o"), x=(4, 3)),
        "multi": _shapes(mx, mx.sym.SoftmaxOutput(x, name="o", multi_output=True), x=(4, 3, 5)),
        "regression": _shapes(mx, mx.sym.LinearRegressionOutput(x, name="o"), x=(4, 3)),
        "column": _shapes(mx, mx.sym.LinearRegressionOutput(x, name="o"), x=(4, 1)),
        "svm": _shapes(mx, mx.sym.SVMOutput(x, name="o"), x=(4, 3)),
        "make loss": _shapes(mx, mx.sym.MakeLoss(mx.sym.sum(x)), x=(4, 3)),
    }


@script
def infer_type_graphs(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    mlp = _mlp(mx)
    cast = mx.sym.Cast(a, dtype="float16") + b
    return {
        "mlp": _types(mx, mlp, data="float16"),
        "mlp from the label": _types(mx, mlp, softmax_label="float64"),
        "mlp from a weight": _types(mx, mlp, fc2_weight="float64"),
        "nothing": _types(mx, mlp),
        "sum": _types(mx, a + b, a="int32"),
        "sum from the right": _types(mx, a + b, b="int64"),
        "contradiction": _types(mx, a + b, a="int32", b="float32"),
        "cast": _types(mx, cast, a="int32"),
        "cast from behind": _types(mx, cast, b="float16"),
        "cast against": _types(mx, cast, b="float32"),
        "argmax": _types(mx, mx.sym.argmax(a, axis=1), a="float64"),
        "embedding": _types(
            mx, mx.sym.Embedding(a, input_dim=3, output_dim=2, name="e"), a="int32"
        ),
        "embedding's weight": _types(
            mx, mx.sym.Embedding(a, b, input_dim=3, output_dim=2), a="int32", b="float16"
        ),
        "one_hot": _types(mx, mx.sym.one_hot(a, depth=3, dtype="uint8"), a="int32"),
        "comparison": _types(mx, mx.sym.broadcast_greater(a, b), a="float64"),
        "where": _types(mx, mx.sym.where(a, b, b * 2), a="int32", b="float16"),
        "take": _types(mx, mx.sym.take(a, b), a="float16", b="int32"),
        "zeros": _types(mx, mx.sym.zeros((2,), dtype="int32") + a),
        "declared": _types(mx, mx.sym.Variable("x", dtype="float64") * 2),
        "unknown name": _types(mx, a + b, zz="int32"),
    }
