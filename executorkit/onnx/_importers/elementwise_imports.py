"""Element-wise nodes, and reductions of several inputs to one."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from .._correspondence import ARITHMETIC, COMPARISONS, EXTREMES, LOGIC, UNARY, by_onnx_name
from .._library import TYPE_NAMES
from .._node_reader import NodeReader, imports, same, with_leading_axes

_UNARY = by_onnx_name(UNARY)
_UNARY |= {"Not": "logical_not", "Identity": "identity", "Dropout": "identity"}
_BINARY = by_onnx_name(ARITHMETIC | COMPARISONS | LOGIC | {"mod": "Mod"})
_EXTREMES = by_onnx_name(EXTREMES)
#: Functions of a symbol and a number in either order.
_WITH_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv,
    "Pow": operator.pow, "Equal": operator.eq, "Less": operator.lt, "Greater": operator.gt,
    "LessOrEqual": operator.le, "GreaterOrEqual": operator.ge, "Mod": operator.mod,
}  # fmt: skip


@imports(*_UNARY)
def _unary(r: NodeReader) -> Symbol:
    return getattr(sym, _UNARY[r.op_type])(r[0], name=r.name)


@imports(*_BINARY)
def _binary(r: NodeReader) -> Symbol:
    if r.get("fmod", 0):
        quotient = sym.fix(sym.broadcast_div(r[0], r[1]))
        return sym.broadcast_sub(r[0], sym.broadcast_mul(quotient, r[1]), name=r.name)
    numbers = r.scalar(0), r.scalar(1)
    position = 0 if numbers[1] is not None else 1
    number = numbers[1 - position]
    takes_number = position == 0 or r.op_type not in ("Pow", "Mod")
    if number is not None and takes_number and r.op_type in _WITH_NUMBER:
        data = r[position]
        r.name_next()
        return _WITH_NUMBER[r.op_type](*((number, data) if position else (data, number)))
    return getattr(sym, f"broadcast_{_BINARY[r.op_type]}")(*_of_one_rank(r), name=r.name)


def _of_one_rank(r: NodeReader) -> tuple[Symbol, Symbol]:
    left, right = r[0], r[1]
    if r.shapes[0] is None or r.shapes[1] is None:
        return left, right
    missing = r.rank(0) - r.rank(1)
    return with_leading_axes(left, -missing), with_leading_axes(right, missing)


@imports(*_EXTREMES)
def _extreme(r: NodeReader) -> Symbol:
    name = _EXTREMES[r.op_type]
    with_number, function = getattr(sym, name), getattr(sym, f"broadcast_{name}")
    result = r[0]
    for position in range(1, len(r)):
        number = r.scalar(position)
        if position == len(r) - 1:
            r.name_next()
        with_other = function if number is None else with_number
        result = with_other(result, r[position] if number is None else number)
    return result if len(r) > 1 else same(result, r.name)


@imports("Sum", "Mean")
def _sum(r: NodeReader) -> Symbol:
    terms = r.symbols()
    if len(set(r.shapes)) <= 1:
        total = sym.add_n(*terms, name=r.name if r.op_type == "Sum" else None)
    else:
        total = reduce(sym.broadcast_add, terms)
    if r.op_type == "Mean":
        r.name_next()
        return total / len(terms)
    return total


@imports("Where")
def _where(r: NodeReader) -> Symbol:
    shape = r.output_shape
    if len(set(r.shapes)) == 1:
        return sym.where(*r.symbols(), name=r.name)
    if shape is None or None in shape:
        return _where_by_sum(r)
    lengths = tuple(n for n in shape if n is not None)
    wide = (with_leading_axes(r[i], len(lengths) - r.rank(i)) for i in range(3))
    return sym.where(*(sym.broadcast_to(x, shape=lengths) for x in wide), name=r.name)


def _where_by_sum(r: NodeReader) -> Symbol:
    # c x + (1 - c) y: for finite numbers only.
    chosen = sym.cast(r[0], dtype="float32")
    others = 1 - chosen
    parts = []
    for position, mask in ((1, chosen), (2, others)):
        number = r.scalar(position)
        if number is not None and not np.isfinite(number):
            r.refuse("a choice of infinite numbers in arrays of shapes that are not known")
        parts.append(mask * number if number is not None else sym.broadcast_mul(mask, r[position]))
    return sym.broadcast_add(*parts, name=r.name)


@imports("Clip")
def _clip(r: NodeReader) -> Symbol:
    low, high = r.number("min", 1, -3.4e38), r.number("max", 2, 3.4e38)
    return sym.clip(r[0], a_min=max(low, -3.4e38), a_max=min(high, 3.4e38), name=r.name)


@imports("Cast")
def _cast(r: NodeReader) -> Symbol:
    dtype = TYPE_NAMES.get(int(r.get("to")))
    if dtype is None:
        r.refuse(f"the element type {r.get('to')}")
    return sym.cast(r[0], dtype=dtype, name=r.name)


# Activations


#: ``act_type`` of LeakyReLU, and the default slope.
_LEAKY: dict[str, tuple[Any, float]] = {"LeakyRelu": ("leaky", 0.01), "Elu": ("elu", 1.0)}


@imports(*_LEAKY)
def _leaky(r: NodeReader) -> Symbol:
    act_type, slope = _LEAKY[r.op_type]
    return sym.LeakyReLU(r[0], act_type=act_type, slope=r.get("alpha", slope), name=r.name)


@imports("Selu")
def _selu(r: NodeReader) -> Symbol:
    if abs(r.get("alpha", 1.67326) - 1.67326) > 1e-4 or abs(r.get("gamma", 1.0507) - 1.0507) > 1e-4:
        r.refuse("another alpha or gamma than Selu's own")
    return sym.LeakyReLU(r[0], act_type="selu", name=r.name)


@imports("PRelu")
def _prelu(r: NodeReader) -> Symbol:
    slope = r.values[1]
    lengths = slope.shape if isinstance(slope, np.ndarray) else (r.shapes[1] or ())
    aligned = [1] * (r.rank(0) - len(lengths)) + list(lengths)
    data = r.shapes[0] or ()
    # MXNet and others have written slopes that fit the channels; ONNX fits them to the last axis.
    if len(lengths) == 1 and len(data) > 2 and data[1] == lengths[0] != data[-1]:
        aligned = [1]
    if any(n != 1 for axis, n in enumerate(aligned) if axis != 1):
        r.refuse("slopes that differ along other axes than the channels")
    return sym.LeakyReLU(r[0], sym.reshape(r[1], shape=(-1,)), act_type="prelu", name=r.name)


imports("Softplus")(lambda r: sym.Activation(r[0], act_type="softrelu", name=r.name))


@imports("HardSwish")
def _hard_swish(r: NodeReader) -> Symbol:
    return sym.broadcast_mul(r[0], sym.hard_sigmoid(r[0], alpha=1 / 6, beta=0.5), name=r.name)


@imports("Gelu")
def _gelu(r: NodeReader) -> Symbol:
    if r.get("approximate", "none") != "none":
        r.refuse("the approximation by tanh")
    return sym.LeakyReLU(r[0], act_type="gelu", name=r.name)


@imports("Softmax", "LogSoftmax")
def _softmax(r: NodeReader) -> Symbol:
    function = sym.softmax if r.op_type == "Softmax" else sym.log_softmax
    if r.opset >= 13:
        return function(r[0], axis=r.get("axis", -1), name=r.name)
    axis = r.get("axis", 1) % r.rank(0)
    if axis == r.rank(0) - 1:
        return function(r[0], axis=-1, name=r.name)
    if axis != 1:
        r.refuse(f"axis={axis} of an opset below 13, which joins axes")
    return sym.reshape_like(function(sym.Flatten(r[0]), axis=-1), r[0], name=r.name)
