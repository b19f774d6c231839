"""Resizing of images: up-sampling, bilinear interpolation, adaptive averages."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..nn.conv import deconvolution
from ..schema.attrs import Count, Shape, Tuning
from ..schema.channels_last import LayoutRewrite
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import NAMED_DATA
from ..tracing import is_known

#: Maximum denominator of a factor whose products with sizes are exact in 64 bits.
_MAX_DENOMINATOR = 1 << 20


def _up_sampling_inputs(p: Params) -> tuple[str, ...]:
    if p.sample_type == "bilinear":
        return ("data", "weight")
    return tuple(f"arg{i}" for i in range(p.num_args))


def _require_images(s: ShapeFacts, *names: str) -> None:
    for name in names:
        if s[name] is not None:
            s.set(name, (0, 0, 0, 0), because="images are (N, C, height, width)")


def _infer_up_sampling_shape(s: ShapeFacts, p: Params) -> None:
    _require_images(s, *_up_sampling_inputs(p))
    if p.sample_type == "bilinear":
        if s["data"] is not None:
            k = 2 * p.scale - p.scale % 2
            channels = s["data"][1]
            s.set("weight", (channels, 1, k, k), because=f"scale={p.scale}, {channels} channels")
        return
    shapes = [s[f"arg{i}"] for i in range(p.num_args)]
    if shapes[0] is None:
        return
    height, width = shapes[0][2] * p.scale, shapes[0][3] * p.scale
    for i, shape in enumerate(shapes):
        if shape is None:
            continue
        if (shape[2] and height % shape[2]) or (shape[3] and width % shape[3]):
            problem = f"'arg{i}' is {shape}, which does not divide an image of {height} x {width}"
            raise ShapeError(problem, because=f"arg0 is {shapes[0]} and scale={p.scale}")
        if p.multi_input_mode == "sum" and shape[1] and shapes[0][1]:
            s.set(f"arg{i}", (0, shapes[0][1], 0, 0), because="multi_input_mode='sum'")


def _repeat_pixels(x: Array, height: int, width: int, first: int = 2) -> Array:
    # x repeated to ``height`` and ``width`` along its axes ``first`` and ``first + 1``.
    *before, h, w = x.shape[: first + 2]
    after = x.shape[first + 2 :]
    expanded = lax.expand_dims(x, (first + 1, first + 3))
    repeated = jnp.broadcast_to(expanded, (*before, h, height // h, w, width // w, *after))
    return repeated.reshape(*before, height, width, *after)


def _up_sampling_channels_last(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    if p.sample_type == "bilinear" or len(shapes) > 1:
        return None

    def channels_last(data: Array, **_: object) -> Array:
        return _repeat_pixels(data, data.shape[1] * p.scale, data.shape[2] * p.scale, 1)

    return LayoutRewrite(p, (0,), function=channels_last)


@register(
    "UpSampling",
    inputs=_up_sampling_inputs,
    infer_shape=_infer_up_sampling_shape,
    layout_rule=_up_sampling_channels_last,
    kind="pool",
    file_format=FileFormat(initializers=dict.fromkeys(("weight", "arg1"), '["bilinear", {}]')),
)
def up_sampling(
    *data: Array,
    scale: Count,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    num_args: int,
    workspace: Tuning[int] = 512,
):
    """Enlarges images (N, C, height, width) ``scale`` times.

    ``nearest`` repeats every pixel. It takes several inputs, each of which is enlarged to
    ``scale`` times the size of the first, and joins them along channels (``concat``) or adds them
    (``sum``). ``bilinear`` takes data and weight (C, 1, k, k) with k = 2 scale - scale % 2, and is
    a transposed convolution of each channel with its own kernel: bilinear interpolation if weight
    holds such a kernel, as the initializer of that name writes it. Returns
    (N, C, scale height, scale width) in data's dtype.
    """
    if sample_type == "bilinear":
        image, weight = data
        k = 2 * scale - scale % 2
        pad = math.ceil((scale - 1) / 2)
        return deconvolution(
            image, weight, kernel=(k, k), stride=(scale, scale), pad=(pad, pad),
            num_filter=image.shape[1], num_group=image.shape[1],
        )  # fmt: skip
    height, width = data[0].shape[2] * scale, data[0].shape[3] * scale
    images = [_repeat_pixels(x, height, width) for x in data]
    if multi_input_mode == "sum":
        return sum(images[1:], images[0])
    return jnp.concatenate(images, 1) if len(images) > 1 else images[0]


def _scaled(size: Any, scale: float) -> Any:
    numerator, denominator = scale.as_integer_ratio()
    exact = denominator <= _MAX_DENOMINATOR
    return size * numerator // denominator if exact else int(size * scale)


def _output_size(size: int, mode: str, requested: int, scale: float | None, like: int) -> int:
    if mode == "size":
        return requested if scale is None else _scaled(size, scale)
    if mode == "odd_scale":
        scale = 1.0 if scale is None else scale
        return _scaled(size - 1, scale) + 1 if size % 2 == 1 else _scaled(size, scale)
    if mode == "like":
        return like
    odd = "odd" in mode
    if size % 2 == odd:
        return size
    return size + (1 if mode.endswith("up") else -1)


def _interpolation(size: int, out: int, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    # For each output pixel of one axis: the pixel below it, and the weight of the next one.
    number: Any = np if is_known(size, out) else jnp
    position = number.arange(out, dtype=np.float32)
    if out == 1:  # the first one, with and without ``align_corners``
        position = position * number.float32(0)
    elif align_corners:
        position = position * number.float32((size - 1) / (out - 1))
    else:
        half = np.float32(0.5)
        position = number.maximum(number.float32(size / out) * (position + half) - half, 0)
    low = number.minimum(position.astype(np.int32), size - 1)
    return low, position - low.astype(np.float32)


def _interpolation_matrix(size: int, out: int, align_corners: bool, dtype: np.dtype) -> Array:
    low, part = _interpolation(size, out, align_corners)
    high = (np if is_known(size) else jnp).minimum(low + 1, size - 1)
    pixel = lax.broadcasted_iota("int32", (out, size), 1)
    weight = part[:, None].astype(dtype)
    first = jnp.where(pixel == low[:, None], 1 - weight, 0)
    return first + jnp.where(pixel == high[:, None], weight, 0)


def _apply_along_axis(x: Array, axis: int, matrix: Array) -> Array:
    letters = "nchw,Hh->ncHw" if axis == 2 else "nchw,Ww->nchW"
    return jnp.einsum(letters, x, matrix, precision="highest")


def _resize_axis_order(data: Array, new: Sequence[int]) -> tuple[int, int]:
    # The axes of height and width, in the order in which to change them: rows are one large
    # product, so they come first where they shrink, and last where they grow.
    return (3, 2) if new[1] < data.shape[3] else (2, 3)


def _resize_inputs(p: Params) -> tuple[str, ...]:
    return ("data", "like") if p.mode == "like" else ("data",)


@register(
    "_contrib_BilinearResize2D",
    inputs=_resize_inputs,
    infer_shape=lambda s, p: _require_images(s, *_resize_inputs(p)),
    traits={NAMED_DATA},
)
def bilinear_resize_2d(
    data: Array,
    like: Array | None = None,
    *,
    height: Count = 1,
    width: Count = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal[
        "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
    ] = "size",
    align_corners: bool = True,
):
    """Interpolates images (N, C, height, width), floating, bilinearly to another size.

    The new size, per axis: ``size``: height and width, or the old size times scale_height and
    scale_width, rounded down, where these are given; ``like``: the second input's size, whose
    gradient is zero; ``odd_scale``: scaled, where an odd size n becomes (n - 1) scale + 1;
    ``to_even_up``, ``to_even_down``, ``to_odd_up``, ``to_odd_down``: the next size that is even or
    odd. With ``align_corners`` the corner pixels keep their values; otherwise pixels are
    areas, whose centres are interpolated. A size of 1 takes the first pixel. Returns
    (N, C, new height, new width) in data's dtype.
    """
    old = data.shape[2:]
    target = like.shape[2:] if like is not None else (0, 0)
    axes = zip(old, (height, width), (scale_height, scale_width), target, strict=True)
    new = [_output_size(n, mode, size, scale, end) for n, size, scale, end in axes]
    for axis in _resize_axis_order(data, new):
        if new[axis - 2] != old[axis - 2]:
            matrix = _interpolation_matrix(old[axis - 2], new[axis - 2], align_corners, data.dtype)
            data = _apply_along_axis(data, axis, matrix)
    return data


def _averaging_matrix(size: int, out: int, dtype: np.dtype) -> Array:
    # The (out, size) matrix of averages from floor(i size / out) to ceil((i + 1) size / out).
    i = (np if is_known(size, out) else jnp).arange(out)
    start, stop = i * size // out, -(-(i + 1) * size // out)
    pixel = lax.broadcasted_iota("int32", (out, size), 1)
    inside = (pixel >= start[:, None]) & (pixel < stop[:, None])
    return jnp.where(inside, (1 / (stop - start))[:, None].astype(dtype), 0)


def _infer_adaptive_shape(s: ShapeFacts, p: Params) -> None:
    _require_images(s, "data")
    if len(p.output_size) > 2:
        raise AttributeValueError(f"output_size={p.output_size}, expected one or two numbers")


@register("_contrib_AdaptiveAvgPooling2D", infer_shape=_infer_adaptive_shape)
def adaptive_avg_pooling_2d(data: Array, *, output_size: Shape = ()):
    """Averages images (N, C, height, width), floating, over a grid of ``output_size`` cells.

    output_size is (height, width), one number for both, or () for one cell. Cell i of n on an axis
    of length m covers floor(i m / n) to ceil((i + 1) m / n). Returns (N, C, *output_size).
    """
    out = {0: (1, 1), 1: output_size * 2, 2: output_size}[len(output_size)]
    for axis in _resize_axis_order(data, out):
        size, cells = data.shape[axis], out[axis - 2]
        if cells == 1:
            data = jnp.mean(data, axis, keepdims=True)
        elif cells != size:
            data = _apply_along_axis(data, axis, _averaging_matrix(size, cells, data.dtype))
    return data
