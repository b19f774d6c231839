"""Fuses convolutions with the operations that follow them, for the kernel in C.

Bias, a sum with another array of the result's shape, and bounds (ReLU, ReLU6) become part of the
convolution if nothing else reads its result. The first stage packs its weight. First calls, which
NumPy interprets, run the operation's parts.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from ..._support.annotations import Operands
from ...jax_internals import Primitive
from ...jaxprs import FlatProgram, FlatValue, Operation, flat_program
from ...ops.nn.conv_kernels import ConvDims, convolve, native_convolution

_fused_p = Primitive("executorkit_fused_convolution")
#: Axes of pictures and weight: channels last, filters last.
_NUMBERS = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHWC", "HWIO", "NHWC"))


@dataclass(eq=False)
class _Fused:
    """A convolution and the operations that follow it, the last of which has the result."""

    convolution: Operation
    parts: list[Operation] = field(default_factory=list)
    operands: dict[str, FlatValue] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)


def fuse_convolutions(program: FlatProgram, static: set[FlatValue]) -> FlatProgram:
    readers = Counter(x for operation in program.operations for x in operation.inputs)
    readers.update(program.outputs)
    producers = {x: operation for operation in program.operations for x in operation.outputs}
    by_result: dict[FlatValue, _Fused] = {}
    for operation in program.operations:
        if _is_taken(operation, static):
            by_result[operation.outputs[0]] = _Fused(operation)
            continue
        for x in operation.inputs:
            if x in by_result and readers[x] == 1 and _take(by_result[x], operation, x, producers):
                by_result[operation.outputs[0]] = by_result.pop(x)
                break
    inside = {op for fused in by_result.values() for op in (fused.convolution, *fused.parts)}
    operations: list[Operation] = []
    packed: dict[Hashable, FlatValue] = {}
    for operation in program.operations:
        fused = by_result.get(operation.outputs[0]) if operation.outputs else None
        if fused is not None:
            operations += _operations(fused, operation.outputs, packed)
        elif operation not in inside or operation.name == "broadcast_in_dim":  # with other readers
            operations.append(operation)
    return FlatProgram(program.inputs, operations, program.outputs)


def _is_taken(operation: Operation, static: set[FlatValue]) -> bool:
    if operation.name != "conv_general_dilated":
        return False
    (data, weight), params = operation.inputs, operation.params
    numbers = params["dimension_numbers"]
    return (
        numbers.lhs_spec == numbers.out_spec == _NUMBERS.lhs_spec
        and data.dtype == weight.dtype == operation.outputs[0].dtype == np.float32
        and data not in static
        and weight in static
        and max(*params["lhs_dilation"], params["batch_group_count"]) == 1
        and all(before == after for before, after in params["padding"])
        and native_convolution.supports(
            data.shape, tuple([weight.shape[i] for i in _filters_last(params)]), **_window(params)
        )
    )


def _filters_last(params: Mapping[str, Any]) -> tuple[int, ...]:
    filters, channels, *spatial = params["dimension_numbers"].rhs_spec
    return (*spatial, channels, filters)


def _window(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "strides": params["window_strides"], "padding": params["padding"],
        "dilation": params["rhs_dilation"], "groups": params["feature_group_count"],
    }  # fmt: skip


def _take(
    fused: _Fused, operation: Operation, x: FlatValue, producers: Mapping[FlatValue, Operation]
) -> bool:
    # True if the operation, which reads the result x, becomes a part.
    others = [y for y in operation.inputs if y is not x]
    numbers = [float(y.constant) for y in others if y.constant is not None and not y.shape]
    source = producers.get(others[0]) if others else None
    if fused.bounds:
        return False
    if operation.name == "add" and source is not None and source.name == "broadcast_in_dim":
        vector = source.inputs[0]
        if (
            fused.parts
            or vector.shape != x.shape[3:]
            or source.params["broadcast_dimensions"] != (3,)
        ):
            return False
        fused.operands["bias"] = vector
        fused.parts.append(source)
    elif operation.name == "add" and not numbers and "addend" not in fused.operands:
        fused.operands["addend"] = others[0]
    elif operation.name == "max" and len(numbers) == 1:
        fused.bounds = {"lower": numbers[0]}
    elif operation.name == "clamp" and len(numbers) == 2:
        fused.bounds = {"lower": numbers[0], "upper": numbers[1]}
    else:
        return False
    fused.parts.append(operation)
    return True


def _operations(
    fused: _Fused, outputs: tuple[FlatValue, ...], packed: dict[Hashable, FlatValue]
) -> list[Operation]:
    # The operations that pack a weight, unless it is ``packed`` already, and the fused one.
    convolution = fused.convolution
    (data, weight), params = convolution.inputs, convolution.params
    order, window = _filters_last(params), _window(params)
    groups, shape = window["groups"], tuple([weight.shape[i] for i in order])
    key = weight, order, groups
    packing: list[Operation] = []
    if key not in packed:
        packing, packed[key] = _inlined(
            lambda w: native_convolution.pack(lax.transpose(w, order), groups), weight
        )
    unpacking, unpacked = _inlined(
        lambda w: native_convolution.unpack(w, shape, groups), packed[key]
    )
    params = {**params, "dimension_numbers": _NUMBERS}
    plain = replace(convolution, params=params, inputs=(data, unpacked), compute=_convolve)
    parts = (*unpacking, plain, *fused.parts)
    inputs = (data, packed[key], *fused.operands.values())
    compute = partial(_compute, FlatProgram(inputs, parts, outputs), tuple(fused.operands))
    facts = {"shape": shape, **window, **fused.bounds}
    scopes = convolution.scopes
    return [*packing, Operation(_fused_p, facts, compute, inputs, outputs, scopes, parts=parts)]


def _compute(
    plain: FlatProgram, names: Sequence[str], params: Mapping[str, Any], *arrays: Array
) -> Operands:
    if not native_convolution.available():
        return plain(*arrays)
    operands = dict(zip(("data", "packed", *names), arrays, strict=True))
    return (native_convolution.conv2d(**operands, **params),)


def _convolve(params: Mapping[str, Any], data: Array, weight: Array) -> Operands:
    # The form without the kernel: one of XLA alone is ten times slower for a group per channel.
    window = _window(params)
    pads = tuple([before for before, _ in window.pop("padding")])
    dims = ConvDims(**window, pads=pads, layout="NHWC")
    return (convolve(data, lax.transpose(weight, (3, 0, 1, 2)), dims),)


def _inlined(
    function: Callable[[Array], Array], value: FlatValue
) -> tuple[list[Operation], FlatValue]:
    # The operations of a function of one array, and its result.
    program = flat_program(jax.make_jaxpr(function)(jax.ShapeDtypeStruct(value.shape, value.dtype)))
    own = {program.inputs[0]: value}
    operations = [
        replace(operation, inputs=tuple([own.get(x, x) for x in operation.inputs]))
        for operation in program.operations
    ]
    (result,) = program.outputs
    return operations, own.get(result, result)
