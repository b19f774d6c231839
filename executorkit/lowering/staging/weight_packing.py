"""Weights in the order of axes that the CPU's convolutions and products read.

XLA's CPU backend turns a convolution's weight into (kernel..., inputs, filters), and a product's
second matrix into (contracted, free), at every call. As operations on the weight alone these
transpositions belong to the first stage.

A product of one row with a large weight is better with the weight as it is, its rows read one after
the other, and needs no copy of it. Measured on two cores, as it is and turned beforehand,
milliseconds: 25088 inputs and 512 results 1.12 and 1.93, 4096 and 4096 1.46 and 1.66, 4096 and
1000 0.38 and 0.39, 2048 and 1000 0.21 and 0.15; of four rows, 25088 and 512 3.25 and 1.60.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
from jax import lax

from .flat_program import FlatProgram, FlatValue, Operation

#: Minimum number of elements of a weight that a product of one row reads as it is.
_MIN_READ_AS_IT_IS = 2**22


def pack_weights(program: FlatProgram, static: set[FlatValue]) -> FlatProgram:
    """The program with the transpositions of static weights as operations of their own."""
    operations: list[Operation] = []
    for operation in program.operations:
        pack = _PACKERS.get(operation.name)
        if pack is not None and operation.inputs[1] in static:
            operations += pack(operation)
        else:
            operations.append(operation)
    return FlatProgram(program.inputs, operations, program.outputs)


def _transposed(value: FlatValue, permutation: Sequence[int], scope: str) -> Operation:
    order = tuple(permutation)
    result = FlatValue([value.shape[i] for i in order], value.dtype)
    return Operation(
        "transpose",
        {"permutation": order},
        lambda x: (lax.transpose(x, order),),
        [value],
        [result],
        scope,
    )


def _pack_convolution(operation: Operation) -> list[Operation]:
    """A convolution channels last whose kernel is (kernel..., inputs, filters)."""
    numbers = operation.params["dimension_numbers"]
    rank = len(numbers.rhs_spec)
    if numbers.out_spec[1] != rank - 1:
        return [operation]
    filters, inputs, *spatial = numbers.rhs_spec
    packed = (*spatial, inputs, filters)
    if packed == tuple(range(rank)):
        return [operation]
    transposed = _transposed(operation.inputs[1], packed, operation.scope)
    rhs_spec = (rank - 1, rank - 2, *range(rank - 2))
    params = {
        **operation.params,
        "dimension_numbers": lax.ConvDimensionNumbers(numbers.lhs_spec, rhs_spec, numbers.out_spec),
    }
    return [transposed, _replaced(operation, params, transposed.outputs[0])]


def _pack_product(operation: Operation) -> list[Operation]:
    """A product whose second factor has its contracted axis before the free ones."""
    (left, right), batch = operation.params["dimension_numbers"]
    weight = operation.inputs[1]
    if batch[1] or len(weight.shape) != 2 or tuple(right) != (1,):
        return [operation]
    if weight.size >= _MIN_READ_AS_IT_IS and operation.inputs[0].size == weight.shape[1]:
        return [operation]
    transposed = _transposed(weight, (1, 0), operation.scope)
    params = {**operation.params, "dimension_numbers": ((left, (0,)), batch)}
    return [transposed, _replaced(operation, params, transposed.outputs[0])]


def _replaced(operation: Operation, params: dict[str, Any], weight: FlatValue) -> Operation:
    return Operation(
        operation.name,
        params,
        partial(_COMPUTE[operation.name], params),
        (operation.inputs[0], weight),
        operation.outputs,
        operation.scope,
    )


def _convolve(params: dict[str, Any], data: jax.Array, weight: jax.Array) -> tuple[jax.Array]:
    return (
        lax.conv_general_dilated(
            data,
            weight,
            params["window_strides"],
            params["padding"],
            params["lhs_dilation"],
            params["rhs_dilation"],
            params["dimension_numbers"],
            params["feature_group_count"],
            params["batch_group_count"],
            params["precision"],
            params["preferred_element_type"],
        ),
    )


def _multiply(params: dict[str, Any], data: jax.Array, weight: jax.Array) -> tuple[jax.Array]:
    return (
        lax.dot_general(
            data,
            weight,
            params["dimension_numbers"],
            params["precision"],
            params["preferred_element_type"],
        ),
    )


_PACKERS: dict[str, Callable[[Operation], list[Operation]]] = {
    "conv_general_dilated": _pack_convolution,
    "dot_general": _pack_product,
}
_COMPUTE: dict[str, Callable[..., tuple[jax.Array]]] = {
    "conv_general_dilated": _convolve,
    "dot_general": _multiply,
}
