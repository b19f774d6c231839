"""Forms of convolutions and products that the CPU computes faster, chosen in a traced program.

XLA's CPU backend transposes a convolution's weight to (kernel..., inputs, filters), and a product's
second matrix to (contracted, free), at every call. As operations on the weight alone these
transpositions belong to the first stage.

A product of one row with a large weight is better with the untransposed weight. Measured on two
cores, untransposed and transposed beforehand, milliseconds: 25088 inputs and 512 results 1.12 and
1.93, 4096 and 4096 1.46 and 1.66, 4096 and 1000 0.38 and 0.39, 2048 and 1000 0.21 and 0.15; of four
rows, 25088 and 512 3.25 and 1.60.

Products of pictures by small matrices are computed as 1 x 1 convolutions again, where the kernel in
C does not take them. XLA makes products of them too late for the library YNNPACK and uses Eigen,
which is quicker on pictures of 64 positions or more: MobileNet v2 takes 0.84 to 0.93 of the time,
SqueezeNet 0.90 to 0.98, others 0.96 to 1.00.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import lax

from ...jaxprs import FlatProgram, FlatValue, Operation

#: Minimum number of elements of a weight that a product of one row reads as it is.
_MIN_READ_AS_IT_IS = 2**22


def pack_weights(program: FlatProgram, static: set[FlatValue]) -> FlatProgram:
    operations: list[Operation] = []
    for operation in program.operations:
        pack = _PACKERS.get(operation.name)
        if pack is not None and operation.inputs[1] in static:
            operations += pack(operation)
        else:
            operations.append(operation)
    return FlatProgram(program.inputs, operations, program.outputs)


def _with_turned_weight(
    operation: Operation, permutation: Sequence[int], **params: object
) -> list[Operation]:
    # The transposition of an operation's weight, and the operation with other parameters.
    data, weight = operation.inputs
    turned = FlatValue(tuple(weight.shape[i] for i in permutation), weight.dtype)
    transposition = Operation(
        lax.transpose_p,
        {"permutation": tuple(permutation)},
        lambda params, x: (lax.transpose(x, **params),),
        (weight,),
        (turned,),
        operation.scopes,
    )
    changed = {**operation.params, **params}
    return [transposition, replace(operation, params=changed, inputs=(data, turned))]


def _pack_convolution(operation: Operation) -> list[Operation]:
    numbers = operation.params["dimension_numbers"]
    rank = len(numbers.rhs_spec)
    if numbers.out_spec[1] != rank - 1:
        return [operation]
    filters, inputs, *spatial = numbers.rhs_spec
    packed = (*spatial, inputs, filters)
    if packed == tuple(range(rank)):
        return [operation]
    rhs_spec = (rank - 1, rank - 2, *range(rank - 2))
    turned = lax.ConvDimensionNumbers(numbers.lhs_spec, rhs_spec, numbers.out_spec)
    return _with_turned_weight(operation, packed, dimension_numbers=turned)


def _pack_product(operation: Operation) -> list[Operation]:
    (left, right), batch = operation.params["dimension_numbers"]
    weight = operation.inputs[1]
    if batch[1] or len(weight.shape) != 2 or tuple(right) != (1,):
        return [operation]
    if weight.size >= _MIN_READ_AS_IT_IS and operation.inputs[0].size == weight.shape[1]:
        return [operation]
    return _with_turned_weight(operation, (1, 0), dimension_numbers=((left, (0,)), batch))


_PACKERS: dict[str, Callable[[Operation], list[Operation]]] = {
    "conv_general_dilated": _pack_convolution,
    "dot_general": _pack_product,
}

# -- convolutions of 1 x 1 -------------------------------------------------------------------------

#: Minimum number of positions, and maximum number of elements of the weight.
_MIN_POSITIONS, _MAX_WEIGHT = 64, 2**16
#: Axes of pictures and weight: channels last, filters last.
_SPECS = ("NHWC", "HWIO", "NHWC")


def convolve_pointwise(program: FlatProgram) -> FlatProgram:
    producers = {x: operation for operation in program.operations for x in operation.outputs}
    operations = [
        replace(operation, compute=_convolve) if _is_pointwise(operation, producers) else operation
        for operation in program.operations
    ]
    return FlatProgram(program.inputs, operations, program.outputs)


def _is_pointwise(operation: Operation, producers: dict[FlatValue, Operation]) -> bool:
    if operation.name != "dot_general":
        return False
    pixels, weight = operation.inputs
    source = producers.get(pixels)
    return (
        operation.params["dimension_numbers"] == (((1,), (0,)), ((), ()))
        and len(pixels.shape) == len(weight.shape) == 2
        and pixels.dtype == weight.dtype == operation.outputs[0].dtype == np.float32
        and pixels.shape[0] >= _MIN_POSITIONS
        and weight.size <= _MAX_WEIGHT
        and source is not None
        and source.name == "reshape"
        and len(source.inputs[0].shape) == 4
        and source.inputs[0].shape[3] == pixels.shape[1]
    )


def _convolve(params: Mapping[str, Any], pixels: jax.Array, weight: jax.Array) -> tuple[jax.Array]:
    row, kernel = pixels[None, None], weight[None, None]
    result = lax.conv_general_dilated(
        row, kernel, (1, 1), "VALID", dimension_numbers=_SPECS, precision=params["precision"]
    )
    return (result[0, 0],)
