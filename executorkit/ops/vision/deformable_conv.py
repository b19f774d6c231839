"""Deformable convolution: every tap of the kernel samples at a learned offset."""

from typing import Literal

import jax.numpy as jnp
from jax import Array

from ...errors import ShapeError
from ..nn.conv import conv_inputs, conv_window, per_axis, with_bias
from ..schema.attrs import Count, Shape, Tuning
from ..schema.inference import Params, ShapeFacts, is_fully_known
from ..schema.operator_registry import register
from .bilinear_sampling import bilinear, weighted_rows

Layout = Literal["NCW", "NCHW", "NCDHW"]


def _output_size(size: Shape, p: Params) -> Shape:
    window = zip(size, p.kernel, *conv_window(p), strict=True)
    return tuple((n + 2 * pad - d * (k - 1) - 1) // s + 1 for n, k, s, d, pad in window)


def _infer_deformable_shape(s: ShapeFacts, p: Params) -> None:
    s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    data, taps = s["data"], p.kernel[0] * p.kernel[1] * p.num_deformable_group
    if not is_fully_known(data):
        return
    if data[1] % p.num_group or data[1] % p.num_deformable_group:
        raise ShapeError(
            f"data has {data[1]} channels, which cannot be divided into num_group={p.num_group} "
            f"and num_deformable_group={p.num_deformable_group}"
        )
    out_size = _output_size(data[2:], p)
    because = f"data is {data}, kernel={p.kernel}"
    s.set("offset", (data[0], 2 * taps, *out_size), because=because)
    s.set("mask", (data[0], taps, *out_size), because=because)
    s.set("weight", (p.num_filter, data[1] // p.num_group, *p.kernel), because=because)


def _sampling_positions(offset: Array, window: tuple[Shape, ...], groups: int):
    # Sampling positions y, x of every kernel tap in the image, (N, G, K, H', W') each.
    (rows, columns), stride, dilate, pad = window
    count, _, height, width = offset.shape
    moved = offset.reshape(count, groups, rows * columns, 2, height, width)

    def grid(size: int, at: int) -> Array:
        return jnp.arange(size, dtype=offset.dtype) * stride[at] - pad[at]

    tap = jnp.arange(rows * columns, dtype=jnp.int32)
    tap_y = ((tap // columns) * dilate[0]).astype(offset.dtype)[:, None, None]
    tap_x = ((tap % columns) * dilate[1]).astype(offset.dtype)[:, None, None]
    y = moved[:, :, :, 0] + (tap_y + grid(height, 0)[:, None])
    return y, moved[:, :, :, 1] + (tap_x + grid(width, 1))


def _gather_and_multiply(data, index, weight_of, weight, bias, num_group: int, groups: int):
    # Gathers the pixels of every tap, (N, G, K, H', W', 4) indices and weights, and multiplies them
    # with the convolution's weight (F, C / num_group, kh, kw).
    count, channels, height, width = data.shape
    _, _, taps, *out_size, _ = index.shape
    rows = data.reshape(count, groups, channels // groups, height * width)
    rows = jnp.swapaxes(rows, 2, 3).reshape(-1, channels // groups)
    image = jnp.arange(count * groups, dtype=jnp.int32).reshape(count, groups)
    index = index + (image * height * width)[:, :, None, None, None, None]
    flat = count, groups * taps * out_size[0] * out_size[1], 4
    read = weighted_rows(rows, index.reshape(flat), weight_of.reshape(flat))
    read = read.reshape(count, groups, taps, out_size[0] * out_size[1], channels // groups)
    read = jnp.moveaxis(read, 4, 2).reshape(count, num_group, channels // num_group, taps, -1)
    kernel = weight.reshape(num_group, -1, channels // num_group, taps)
    out = jnp.einsum("ngckp,gfck->ngfp", read, kernel).reshape(count, -1, *out_size)
    return with_bias(out, bias, "NCHW")


@register(
    "_contrib_DeformableConvolution",
    infer_shape=_infer_deformable_shape,
    inputs=lambda p: ("data", "offset", "weight", *conv_inputs(p)[2:]),
)
def deformable_convolution(
    data: Array,
    offset: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Count,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    layout: Layout | None = None,
):
    """Computes a deformable convolution: kernel taps sample at offsets, by bilinear interpolation.

    data (N, C, H, W); offset (N, 2 G K, H', W'), y before x for each of the K taps of the kernel
    and each of G = ``num_deformable_group`` groups of channels, in pixels; weight (num_filter, C /
    num_group, *kernel); bias (num_filter,), absent with ``no_bias``; returns (N, num_filter, H',
    W'), H' and W' as of Convolution. Positions outside the image read 0; positions between its last
    row (or column) and its border read the last row. Floating. Dai et al., Deformable Convolutional
    Networks, 2017.
    """
    strides, dilation = per_axis("stride", stride, 2, 1), per_axis("dilate", dilate, 2, 1)
    window = kernel, strides, dilation, pad or (0, 0)
    height, width = data.shape[2:]
    y, x = _sampling_positions(offset, window, num_deformable_group)
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    # No clip: its derivative at the last row would be the next pixel row's.
    y, x = jnp.where(y < height - 1, y, height - 1), jnp.where(x < width - 1, x, width - 1)
    index, share = bilinear(y, x, height, width)
    share = jnp.where(inside[..., None], share, 0)
    return _gather_and_multiply(
        data, index, share, weight, bias=bias, num_group=num_group, groups=num_deformable_group
    )


@register(
    "_contrib_ModulatedDeformableConvolution",
    infer_shape=_infer_deformable_shape,
    inputs=lambda p: ("data", "offset", "mask", "weight", *conv_inputs(p)[2:]),
)
def modulated_deformable_convolution(
    data: Array,
    offset: Array,
    mask: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Count,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    im2col_step: Tuning[int] = 64,
    layout: Layout | None = None,
):
    """Computes DeformableConvolution with a factor for each sampled tap.

    Arguments are the same, with mask (N, G K, H', W'), the factors, and pixels outside the image
    read as 0, with interpolation between them and the border. Its gradient, which MXNet has on GPUs
    only, is the derivative. Zhu et al., Deformable ConvNets v2, 2019.
    """
    strides, dilation = per_axis("stride", stride, 2, 1), per_axis("dilate", dilate, 2, 1)
    window = kernel, strides, dilation, pad or (0, 0)
    y, x = _sampling_positions(offset, window, num_deformable_group)
    index, share = bilinear(y, x, *data.shape[2:])
    share = share * mask.reshape(y.shape)[..., None]
    return _gather_and_multiply(
        data, index, share, weight, bias=bias, num_group=num_group, groups=num_deformable_group
    )
