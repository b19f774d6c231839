"""Executors of other element types than float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, fill, numbers, script


def _network(mx: Any) -> Any:
    net = mx.sym.Variable("data") * mx.sym.Variable("weight")  # no dense layer: half fails there
    return mx.sym.LinearRegressionOutput(mx.sym.tanh(net), mx.sym.Variable("label"), name="out")


def _types(executor: Any) -> Any:
    arrays = {**executor.arg_dict, **executor.output_dict}
    return {n: np.dtype(a.dtype).name for n, a in arrays.items()}


@script
def dtype_of_a_network(mx):
    seen = {}
    for dtype in ("float16", "float64"):
        net = _network(mx)
        types = {"data": dtype}
        executor = fill(net.simple_bind(mx.cpu(), type_dict=types, data=(2, 3)))
        executor.forward(is_train=True)
        executor.backward()
        seen[dtype] = _types(executor), executor.outputs, executor.grad_arrays
    return seen


@script
def dtype_of_bound_arrays(mx):
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    seen = {}
    for dtype in ("float16", "float64", "int32", "int64", "uint8", "int8"):
        arrays = [mx.nd.array([1, 2, 3], dtype=dtype), mx.nd.array([4, 5, 60], dtype=dtype)]
        seen[dtype] = attempt(mx, lambda arrays=arrays: net.bind(mx.cpu(), arrays).forward())
    return seen


@script
def dtype_cast_inside(mx):
    net = mx.sym.Cast(mx.sym.Variable("x"), dtype="float64", name="up")
    net = mx.sym.Cast(mx.sym.sin(net, name="s"), dtype="float32", name="down")
    executor = fill(net.simple_bind(mx.cpu(), x=(3,)))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(3))
    return _types(executor), executor.outputs, executor.grad_arrays


@script
def dtype_feeds_are_converted(mx):
    net = mx.sym.Variable("a") * 2
    executor = net.simple_bind(mx.cpu(), type_dict={"a": "int32"}, a=(3,))
    seen = [executor.forward(a=np.array([1.7, -1.7, 3.0]))[0].copy()]
    seen.append(executor.forward(a=mx.nd.array([2.5, 3.5, -2.5]))[0].copy())
    executor.copy_params_from({"a": mx.nd.array([9.9, 1, 2], dtype="float64")})
    return seen, executor.forward()


@script
def dtype_embedding_of_integers(mx):
    net = mx.sym.Embedding(mx.sym.Variable("i"), input_dim=4, output_dim=2, name="e")
    executor = net.simple_bind(mx.cpu(), {"e_weight": "write"}, type_dict={"i": "int32"}, i=(3,))
    executor.arg_dict["i"][:] = [0, 2, 2]
    executor.arg_dict["e_weight"][:] = numbers("table", (4, 2))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    return _types(executor), executor.outputs, executor.grad_arrays


@script
def dtype_half_accumulates(mx):
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    executor = net.simple_bind(mx.cpu(), "add", type_dict={"a": "float16"}, a=(2,), b=(2,))
    fill(executor)
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(2, dtype="float16"))
    return executor.grad_arrays


@script
def dtype_state_follows(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
    answers = {}
    for dtype in ("float16", "float64"):
        executor = net.simple_bind(mx.cpu(), type_dict={"x": dtype}, x=(2, 3))
        arrays = {**executor.arg_dict, **executor.aux_dict, **executor.output_dict}
        answers[dtype] = {n: np.dtype(a.dtype).name for n, a in arrays.items()}
    return answers
