"""Quantised layers with parameters: convolution, affine maps, embeddings, normalisation.

Ranges are as in ``quantized_tensors``. Nothing here has a gradient, as in MXNet.
"""

import math
from typing import Any

import jax.numpy as jnp
from jax import Array

from ..._support.annotations import Attrs
from ...errors import AttributeValueError
from ..nn.conv import CudnnTune, Layout, convolution, infer_convolution_shape, with_bias
from ..nn.dense import fully_connected, infer_dense_shape
from ..schema.attrs import Aux, Count, Shape, Tuning
from ..schema.inference import Params, ShapeFacts, TypeFacts
from ..schema.operator_registry import register
from ..tensor.binary_arithmetic import widest
from ..tensor.indexing import EntryType, embedding, infer_embedding_shape
from . import int8_arithmetic as int8


def _product_inputs(p: Params) -> tuple[str, ...]:
    names = ("data", "weight", *(() if p.no_bias else ("bias",)), "min_data", "max_data")
    names += ("min_weight", "max_weight")
    return names if p.no_bias else (*names, "min_bias", "max_bias")


def _infer_product_type(t: TypeFacts, p: Params) -> None:
    t.set("bias", "int8")
    t.set("weight", "int8")
    t.set("out0", "int32")
    int8.set_real_ranges(t, 2 if p.no_bias else 3)


_PRODUCT: Attrs = {
    "inputs": _product_inputs,
    "outputs": int8.OUTPUTS,
    "infer_type": _infer_product_type,
}


@register(
    "_contrib_quantized_conv", **_PRODUCT, infer_shape=int8.with_range_ends(infer_convolution_shape)
)
def quantized_conv(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    min_data: Any = None,
    max_data: Any = None,
    min_weight: Any = None,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Count,
    num_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tuning[CudnnTune | None] = None,
    cudnn_off: Tuning[bool] = False,
    layout: Layout | None = None,
):
    """Convolves bytes, shapes as of Convolution; int32.

    data int8 or uint8, weight int8, bias int8 or absent with ``no_bias``; each with its range, (1,)
    each. As in MXNet on CPU, the bias is added without scaling, and uint8 data gives the range of
    int8 data: twice too wide.
    """

    def product(data: Array, weight: Array) -> Array:
        return convolution(
            data, weight, kernel=kernel, stride=stride, dilate=dilate, pad=pad,
            num_filter=num_filter, num_group=num_group, no_bias=True, layout=layout,
        )  # fmt: skip

    total = int8.exact_product(product, data, weight, weight.size // num_filter)
    total = with_bias(total, None if bias is None else bias.astype(jnp.int32), layout or "NCHW")
    return total, *int8.product_range(127, min_data, max_data, min_weight, max_weight)


@register(
    "_contrib_quantized_fully_connected",
    **_PRODUCT,
    infer_shape=int8.with_range_ends(infer_dense_shape),
)
def quantized_fully_connected(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    min_data: Any = None,
    max_data: Any = None,
    min_weight: Any = None,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    num_hidden: Count,
    no_bias: bool = False,
    flatten: bool = True,
):
    """Applies an affine map to bytes, shapes as of FullyConnected; int32.

    data int8 or uint8, weight int8, bias int8 or absent with ``no_bias``; each with its range,
    (1,) each. The bias is brought to the scale of the products, rounded towards 0.
    """

    def product(data: Array, weight: Array) -> Array:
        return fully_connected(data, weight, num_hidden=num_hidden, no_bias=True, flatten=flatten)

    total = int8.exact_product(product, data, weight, weight.shape[1])
    if bias is not None:
        scale = int8.scale_of_array(data, min_data, max_data)
        weight_scale = int8.scale_of("int8", min_weight, max_weight)
        scale *= weight_scale / int8.scale_of("int8", min_bias, max_bias)
        total += (bias.astype(jnp.float32) * scale).astype(jnp.int32)
    steps = 255 if data.dtype == jnp.uint8 else 127
    return total, *int8.product_range(steps, min_data, max_data, min_weight, max_weight)


def _infer_embedding_type(t: TypeFacts, p: Params) -> None:
    t.set("weight", "int8")
    t.set("out0", "int8")
    int8.set_real_ranges(t, 2)


@register(
    "_contrib_quantized_embedding",
    outputs=int8.OUTPUTS,
    infer_shape=int8.with_range_ends(infer_embedding_shape),
    infer_type=_infer_embedding_type,
)
def quantized_embedding(
    data: Array,
    weight: Array,
    min_weight: Array,
    max_weight: Array,
    *,
    input_dim: Count,
    output_dim: Count,
    dtype: EntryType = "float32",
    sparse_grad: Tuning[bool] = False,
):
    """Looks up rows of a table of bytes: data (...), indices; weight (input_dim, output_dim), int8.

    Returns (..., output_dim), int8, over the weight's range, (1,) each.
    """
    rows = embedding(data, weight, input_dim=input_dim, output_dim=output_dim, dtype=dtype)
    return rows, min_weight, max_weight


def _infer_norm_shape(s: ShapeFacts, p: Params) -> None:
    channels = s["data"][p.axis] if s["data"] else 0
    for name in ("gamma", "beta", "moving_mean", "moving_var"):
        s.set(name, (channels,), because=f"data is {s['data']} and axis={p.axis}")
    int8.infer_range_end_shape(s, p)


@register(
    "_contrib_quantized_batch_norm",
    outputs=int8.OUTPUTS,
    infer_shape=_infer_norm_shape,
    infer_type=int8.infer_same_range_type,
)
def quantized_batch_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Aux,
    moving_var: Aux,
    min_data: Array,
    max_data: Array,
    *,
    eps: float = 0.0010000000474974513,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: Tuning[bool] = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Normalises bytes with the moving statistics, over a calibrated range.

    data (N, C, ...), int8, with its range, (1,) each; gamma, beta and the auxiliary states
    moving_mean and moving_var (C,), float32, which do not change. Returns int8 over the calibrated
    range, which is required. As in MXNet, ``fix_gamma`` has no effect, and oneDNN divides data by a
    further ``sqrt(1 + eps)``.
    """
    if min_calib_range is None or max_calib_range is None:
        raise AttributeValueError("min_calib_range and max_calib_range are not given")
    low, high = int8.range_end(min_calib_range), int8.range_end(max_calib_range)
    scale = int8.scale_of("int8", low, high)
    slope = widest(gamma) / jnp.sqrt(widest(moving_var) + eps)
    offset = (beta - moving_mean * slope) * scale
    slope = slope * (scale / int8.scale_of_array(data, min_data, max_data)) / math.sqrt(1 + eps)
    along = [-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]
    slope, offset = (x.astype(jnp.float32).reshape(along) for x in (slope, offset))
    out = int8.round_to_dtype(data.astype(jnp.float32) * slope + offset, "int8")
    return out, low, high, moving_mean, moving_var
