"""Patches of images as columns (im2col), and images from columns of patches (col2im)."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..nn.conv import per_axis
from ..schema.attrs import Shape
from ..schema.operator_registry import register
from ..tensor.reverse_rules import linear_with_transpose

#: Maximum number of kernel taps for which the sum of patches is unrolled, tap by tap.
_MAX_UNROLLED_TAPS = 32


class _PatchGrid(NamedTuple):
    """Geometry of the patches of an image: each field has one number per spatial axis."""

    kernel: Shape
    stride: Shape
    dilate: Shape
    pad: Shape

    def patch_counts(self, sizes: Shape) -> Shape:
        axes = zip(sizes, *self, strict=True)
        counts = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in axes)
        for axis, (count, k, d) in enumerate(zip(counts, self.kernel, self.dilate, strict=True), 2):
            if count < 1:
                raise ShapeError(f"axis {axis} is too short for a kernel of {k} with dilate {d}")
        return counts


def _gather_patches(images: Array, grid: _PatchGrid) -> Array:
    # Patches (N, C, *kernel, *counts) of images (N, C, *sizes).
    rank, counts = len(grid.kernel), grid.patch_counts(images.shape[2:])
    widths, split, starts, phases = [(0, 0, 0)] * 2, [*images.shape[:2]], [], []
    block = [*split]
    for axis, (count, n, k, s, d, p) in enumerate(
        zip(counts, images.shape[2:], *grid, strict=True)
    ):
        offset = np.indices(grid.kernel, "int32")[axis].reshape(-1) * d
        steps = (k - 1) * d // s + count
        widths.append((p, steps * s - n - p, 0))
        starts.append(offset // s)
        split.append(steps)
        block.append(count)
        if s > 1:  # the axis is split into (steps, stride), so that a tap reads a contiguous block
            starts.append(offset % s)
            phases.append(len(split))
            split.append(s)
            block.append(1)
    images = lax.pad(images, jnp.zeros((), images.dtype), widths).reshape(split)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(0, 1, *range(3, 3 + rank)),
        collapsed_slice_dims=tuple(phases),
        start_index_map=tuple(range(2, len(split))),
    )
    start = np.stack(starts, axis=-1)
    patches = lax.gather(images, start, numbers, tuple(block), mode="promise_in_bounds")
    return patches.reshape(*images.shape[:2], *grid.kernel, *counts)


def _add_patches(patches: Array, sizes: Shape, grid: _PatchGrid) -> Array:
    # Images (N, C, *sizes) from patches (N, C, *kernel, *counts): the transpose of gathering.
    if math.prod(grid.kernel) > _MAX_UNROLLED_TAPS:
        images = jax.ShapeDtypeStruct((*patches.shape[:2], *sizes), patches.dtype)
        return jax.linear_transpose(lambda x: _gather_patches(x, grid), images)(patches)[0]

    def place_patches(offset: Shape) -> Array:
        patch, widths = patches[:, :, *offset], [(0, 0, 0)] * 2
        axes = zip(offset, patch.shape[2:], sizes, *grid[1:], strict=True)
        for o, count, n, s, d, p in axes:
            low = o * d - p
            widths.append((low, n - low - (count - 1) * s - 1, s - 1))
        return lax.pad(patch, jnp.zeros((), patch.dtype), widths)

    return functools.reduce(jnp.add, map(place_patches, np.ndindex(*grid.kernel)))


def _im2col_pair(sizes: Shape, grid: _PatchGrid) -> tuple[Callable[..., Array], ...]:
    # JAX's own transpose of the gather is a scatter, which takes many times as long on CPUs.
    def gather(images: Array) -> Array:
        return linear_with_transpose(lambda x: _gather_patches(x, grid), scatter_add)(images)

    def scatter_add(patches: Array) -> Array:
        return linear_with_transpose(lambda x: _add_patches(x, sizes, grid), gather)(patches)

    return gather, scatter_add


def _patch_grid(kernel: Shape, stride: Shape, dilate: Shape, pad: Shape) -> _PatchGrid:
    if not 1 <= len(kernel) <= 3:
        raise AttributeValueError(f"kernel={kernel}, expected one to three numbers")
    rank = len(kernel)
    return _PatchGrid(
        kernel,
        per_axis("stride", stride, rank, 1),
        per_axis("dilate", dilate, rank, 1),
        per_axis("pad", pad, rank, 0),
    )


@register("im2col")
def im2col(data: Array, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()):
    """Extracts the patches of images that a convolution multiplies with its weight, as columns.

    data (N, C, *sizes) with one to three sizes, as many as ``kernel`` has numbers; stride and
    dilate default to 1, pad (with zeros) to 0. Returns (N, C * product of kernel, patches): row
    c * product of kernel + k holds channel c at tap k of the kernel, with one column for every
    patch, row by row of the image. The gradient is ``col2im``.
    """
    grid = _patch_grid(kernel, stride, dilate, pad)
    if data.ndim != len(kernel) + 2:
        raise ShapeError(f"'data' is {data.shape}, expected {len(kernel) + 2} axes")
    batch, channels = data.shape[:2]
    gather, _ = _im2col_pair(data.shape[2:], grid)
    return gather(data).reshape(batch, channels * math.prod(kernel), -1)


@register("col2im")
def col2im(
    data: Array,
    *,
    output_size: Shape,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
):
    """Adds up images from columns of patches.

    data (N, C * product of kernel, patches), as from ``im2col`` of images of ``output_size``.
    Returns (N, C, *output_size). The gradient is ``im2col``.
    """
    grid = _patch_grid(kernel, stride, dilate, pad)
    if data.ndim != 3 or data.shape[1] % math.prod(kernel) or len(output_size) != len(kernel):
        raise ShapeError(
            f"'data' is {data.shape}, expected (N, C * {math.prod(kernel)}, patches) for images of "
            f"output_size={output_size}"
        )
    batch, channels = data.shape[0], data.shape[1] // math.prod(kernel)
    counts = grid.patch_counts(output_size)
    if math.prod(counts) != data.shape[2]:
        raise ShapeError(f"'data' is {data.shape}, expected {math.prod(counts)} patches")
    _, scatter_add = _im2col_pair(output_size, grid)
    return scatter_add(data.reshape(batch, channels, *kernel, *counts))
