"""Chains of convolutions in one call of the kernel (``chain.c``): results that only the chain reads
share one buffer, and threads that came to help stay until its end."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ....schema.attrs import Shape

#: The name of the FFI's target.
TARGET = "executorkit_convolution_chain"
#: Floats of a line of the cache, at whose multiples arrays begin.
_LINE = 16


class ChainStep(NamedTuple):
    """A convolution; arrays are any hashable values, weights and bias the first float of each."""

    data: Hashable
    addend: Hashable | None
    result: Hashable
    weights: int
    bias: int | None
    #: Of data and result.
    shapes: tuple[Shape, Shape]
    #: Kernel, strides, padding before, dilation.
    window: tuple[int, ...]
    is_depthwise: bool


def planned(
    steps: Sequence[ChainStep],
    buffers: Mapping[Hashable, int],
    parts: Mapping[Hashable, tuple[Hashable, int, int]],
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Returns the rows of numbers of ``Step`` in C, and the floats that the chain needs beside.

    Args:
        steps: The convolutions in order.
        buffers: Numbers of the arguments and results.
        parts: For each result that is part of a concatenation: that, its channels, and the first
            one of the part.
    """
    last_use: dict[Hashable, int] = {}
    last_step: dict[Hashable, int] = {}
    for i, step in enumerate(steps):
        whole = parts.get(step.result, (step.result,))[0]
        last_step[whole] = i
        last_use |= dict.fromkeys((step.data, step.addend, whole), i)
    places = {x: (number, 0) for x, number in buffers.items()} | {None: (-1, 0)}
    taken: list[tuple[int, int, Hashable]] = []
    rows, former = [], -1
    for step in steps:
        former = max(former, last_step.get(step.data, -1), last_step.get(step.addend, -1))
        data, shape = step.shapes
        whole, gap, channel = parts.get(step.result, (step.result, shape[3], 0))
        if whole not in places:
            size, first = -(-shape[0] * shape[1] * shape[2] * gap // _LINE) * _LINE, 0
            for start, end, x in sorted(taken, key=lambda block: block[:2]):
                if last_use[x] > former and end > first:
                    if start >= first + size:
                        break
                    first = end
            taken.append((first, first + size, whole))
            places[whole] = len(buffers) + 1, first
        buffer, first = places[whole]
        rows.append((
            int(step.is_depthwise), former, *places[step.data], *places[step.addend],
            buffer, first + channel, gap, step.weights, -1 if step.bias is None else step.bias,
            *data, *shape[1:], *step.window,
        ))  # fmt: skip
    return tuple(rows), max((end for _, end, _ in taken), default=0)


def convolve_chain(
    weights: Array,
    *arrays: Array,
    results: Sequence[Shape],
    rows: Sequence[Sequence[int]],
    bounds: Sequence[tuple[float, float]],
    size: int,
) -> Sequence[Array]:
    """Returns the results of a chain.

    Args:
        weights: Packed weights and biases, one after the other.
        *arrays: The other arguments.
        results: Shapes of the results.
        rows: As ``planned`` returns them.
        bounds: The least and the greatest result of each step.
        size: As ``planned`` returns it.
    """
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (*results, (size,))]
    return jax.ffi.ffi_call(TARGET, shapes)(
        weights, *arrays,
        bounds=np.array(bounds, np.float32).ravel(),
        steps=np.array(rows, np.int64).ravel(),
    )[:-1]  # fmt: skip
