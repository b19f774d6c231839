"""Static dimension numbers of a convolution, and the index arithmetic that its kernels share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import Array, lax

from ...._support.annotations import Raw
from ...schema.attrs import Shape


class ConvDims(NamedTuple):
    """The static part of a convolution; hashable. strides, pads (the same on both sides) and
    dilation have one entry per spatial axis; ``layout`` is as ``NCHW`` or ``NHWC``."""

    strides: Shape
    pads: Shape
    dilation: Shape
    groups: int
    layout: str

    @property
    def channels_last(self) -> bool:
        return self.layout[1] != "C"

    @property
    def axes(self) -> Shape:
        """The axes of samples, or filters, of channels and of positions."""
        rank = len(self.strides)
        return (0, rank + 1, *range(1, rank + 1)) if self.channels_last else (*range(rank + 2),)

    def spatial(self, shape: Shape) -> Shape:
        return shape[1:-1] if self.channels_last else shape[2:]

    def per_axis(
        self, first: object, channels: object, spatial: Sequence[object]
    ) -> tuple[Any, ...]:
        return (first, *spatial, channels) if self.channels_last else (first, channels, *spatial)

    def output_sizes(self, sizes: Shape, kernel: Shape) -> Shape:
        axes = zip(sizes, kernel, self.strides, self.pads, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)


def as_unsigned(index: Array) -> Array:
    """Returns a nonnegative index as uint32: XLA then adds no code for negative indices."""
    return lax.convert_element_type(index, np.uint32)


def kernel_offset(number: Raw, width: int, dilation: Sequence[int]) -> tuple[Array, Array]:
    number = as_unsigned(number)
    down, along = lax.div(number, np.uint32(width)), lax.rem(number, np.uint32(width))
    return down * np.uint32(dilation[0]), along * np.uint32(dilation[1])
