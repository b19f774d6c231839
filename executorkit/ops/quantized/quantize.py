"""Quantisation of floating arrays to 8-bit integers and back, and calibration of ranges."""

from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ...errors import ShapeError
from ..schema.inference import Params, ShapeFacts, TypeFacts, same_shapes_among
from ..schema.operator_registry import register
from ..tensor.binary_arithmetic import widest
from . import int8_arithmetic as int8

#: Largest values of the types, to which ``quantize`` scales; ``quantize_v2`` adds half a step.
_MAX_CODES = {"int8": 127, "uint8": 255}
_SHAPES = int8.with_range_ends(same_shapes_among("data", "out0"))
_QUANTIZER: Attrs = {"outputs": ("output0", "output1", "output2"), "infer_shape": _SHAPES}


def _infer_byte_output_type(t: TypeFacts, p: Params) -> None:
    int8.set_real_ranges(t)
    t.set("out0", "uint8" if int8.is_unsigned(p.out_type, p.min_calib_range) else "int8")


def _infer_quantize_type(t: TypeFacts, p: Params) -> None:
    t.set("data", "float32")
    int8.set_real_ranges(t)
    t.set("out0", p.out_type)


@register("_contrib_quantize", **_QUANTIZER, infer_type=_infer_quantize_type)
def quantize(
    data: Array, min_range: Array, max_range: Array, *, out_type: Literal["int8", "uint8"] = "uint8"
):
    """Quantises floating numbers to 8-bit integers over a given range.

    data (...), float32; min_range and max_range (1,), its ends. Returns ``data * S / m`` rounded,
    with the larger magnitude m of the two and S = 127 (int8) or 255 (uint8), and the range that it
    covers: -m and m for int8, min_range and max_range for uint8.
    """
    magnitude = int8.max_magnitude(min_range, max_range)
    out = _quantized_over(data, magnitude, out_type)
    if out_type == "uint8":
        return out, int8.range_end(min_range), int8.range_end(max_range)
    return out, int8.range_end(-magnitude), int8.range_end(magnitude)


def _quantized_over(data: Array, magnitude: Array, dtype: str) -> Array:
    return int8.round_to_dtype(data * (_MAX_CODES[dtype] / magnitude), dtype)


@register("_contrib_quantize_v2", **_QUANTIZER, infer_type=_infer_byte_output_type)
def quantize_v2(
    data: Array,
    *,
    out_type: int8.OutType = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Quantises floating numbers to 8-bit integers over a calibrated range or their own.

    data (...), float32; ``min_calib_range`` and ``max_calib_range`` are the range, by default the
    smallest and largest entry; ``auto`` is uint8 where a calibrated range has nothing below 0.
    Returns ``data * S / m`` rounded, with the larger magnitude m of the two and S = 127.5 (int8) or
    255.5 (uint8), and the range that it covers, (1,) each: -m and m for int8, the range itself for
    uint8. Quantised data keeps its bits, over the calibrated range or the range of its steps; as in
    MXNet they are only read as the type ``out_type``.
    """
    unsigned = int8.is_unsigned(out_type, min_calib_range)
    dtype = "uint8" if unsigned else "int8"
    steps = int8.STEPS.get(data.dtype.name)
    if min_calib_range is not None and max_calib_range is not None:
        low, high = int8.range_end(min_calib_range), int8.range_end(max_calib_range)
    elif steps is not None:
        low, high = int8.range_end(-steps if data.dtype == jnp.int8 else 0.0), int8.range_end(steps)
    else:
        low, high = int8.range_end(jnp.min(data)), int8.range_end(jnp.max(data))
    if steps is not None:
        return data.astype(dtype), low, high
    out = int8.round_to_dtype(data * int8.scale_of(dtype, low, high), dtype)
    if unsigned:
        return out, low, high
    magnitude = int8.max_magnitude(low, high)
    return out, int8.range_end(-magnitude), int8.range_end(magnitude)


def _infer_dequantize_type(t: TypeFacts, p: Params) -> None:
    for name in ("min_range", "max_range", "out0"):
        t.set(name, "float32")


@register("_contrib_dequantize", infer_shape=_SHAPES, infer_type=_infer_dequantize_type)
def dequantize(
    data: Array, min_range: Array, max_range: Array, *, out_type: Literal["float32"] = "float32"
):
    """Returns floating numbers from 8-bit integers and their range.

    data (...), int8 or uint8; min_range and max_range (1,), the range that it covers; returns
    ``data * m / S``, float32, with the larger magnitude m of the two and S = 127.5 or 255.5.
    """
    return data.astype(jnp.float32) / int8.scale_of_array(data, min_range, max_range)


def _infer_requantize_type(t: TypeFacts, p: Params) -> None:
    t.set("data", "int32")
    _infer_byte_output_type(t, p)


@register("_contrib_requantize", **_QUANTIZER, infer_type=_infer_requantize_type)
def requantize(
    data: Array,
    min_range: Array,
    max_range: Array,
    *,
    out_type: int8.OutType = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Returns 8-bit integers from int32, the type of sums of products.

    data (...), int32; min_range and max_range (1,), the real numbers of int32's smallest and
    largest value. Returns ``x * S / m`` rounded for the real numbers x of data, and the range that
    it covers: -m and m for int8, 0 and m for uint8. S is 127 or 255, m the larger magnitude of the
    calibrated range, or else of x. ``auto`` is uint8 where a calibrated range has nothing below 0.
    """
    real = data.astype(jnp.float32) * (int8.max_magnitude(min_range, max_range) / int8.INT32)
    if min_calib_range is None or max_calib_range is None:
        magnitude = jnp.max(jnp.abs(real))
    else:
        magnitude = int8.max_magnitude(*map(int8.range_end, (min_calib_range, max_calib_range)))
    unsigned = int8.is_unsigned(out_type, min_calib_range)
    out = _quantized_over(real, magnitude, "uint8" if unsigned else "int8")
    return out, int8.range_end(0.0 if unsigned else -magnitude), int8.range_end(magnitude)


#: Probability given to empty bins, taken from the others, before distributions are compared.
_EPSILON = 1e-4
#: Bins that are compared at once.
_CHUNK = 512


def _divergence(
    hist: Array, sums: Array, ranks: Array, filled: Array, half: Array, bins: int
) -> Array:
    # Divergence of merging the ``2 half + 1`` middle bins into ``bins`` and clipping. ``sums`` and
    # ``ranks`` are the totals and the numbers of nonzero bins before every bin, ``filled`` the
    # nonzero bins, and ``_CHUNK`` more. Empty bins all add the same, so only nonzero ones are
    # visited.
    first, last = hist.shape[0] // 2 - half, hist.shape[0] // 2 + half
    size, total = 2 * half + 1, sums[-1]
    group_size = size // bins
    edges = (first + group_size * lax.iota("int32", bins + 1)).at[-1].set(last + 1)
    edges = edges.at[0].set(first + 1)  # the outermost bin below counts in its end alone
    means = jnp.diff(sums[edges]) / jnp.maximum(jnp.diff(ranks[edges]), 1)
    ends = jnp.stack([sums[first + 1], hist[last] + total - sums[last + 1]])
    end_means = jnp.where(ends != 0, means[jnp.array([0, bins - 1])], 0)

    inner = jnp.diff(ranks[edges.at[-1].set(last)])
    nonzeros = jnp.sum(inner) + jnp.array([jnp.sum(x != 0) for x in (ends, end_means)])
    share, mean_share = _EPSILON * (size - nonzeros) / jnp.maximum(nonzeros, 1)
    scale = (jnp.sum(means * inner) + jnp.sum(end_means)) / total

    def add_chunk(chunk: Array, terms: Array) -> Array:
        start = ranks[first + 1] + chunk * _CHUNK
        at = lax.dynamic_slice(filled, (start,), (_CHUNK,))
        group = jnp.clip((at - first) // group_size, 0, bins - 1)
        p, q = hist[at] - share, means[group] - mean_share
        inside = start + lax.iota("int32", _CHUNK) < ranks[last]
        return terms + jnp.sum(jnp.where(inside, p * jnp.log(p / q), 0))

    p = ends - share
    q = jnp.where(end_means != 0, end_means - mean_share, _EPSILON)
    terms = jnp.sum(jnp.where(ends != 0, p * jnp.log(p / q), 0))
    chunks = jnp.maximum(ranks[last] - ranks[first + 1] + _CHUNK - 1, 0) // _CHUNK
    terms = lax.fori_loop(jnp.int32(0), chunks, add_chunk, terms)
    usable = (nonzeros[1] > 0) & (mean_share < 1)
    return jnp.where(usable, terms / total + jnp.log(scale), jnp.inf)


def _infer_calibration_shape(s: ShapeFacts, p: Params) -> None:
    if s["hist"] is not None and len(s["hist"]) == 1 and s["hist"][0]:
        s.set("hist_edges", (s["hist"][0] + 1,), because=f"hist is {s['hist']}")


@register(
    "_contrib_calibrate_entropy",
    outputs=("threshold", "divergence"),
    infer_shape=_infer_calibration_shape,
)
def calibrate_entropy(hist: Array, hist_edges: Array, *, num_quantized_bins: int = 255):
    """Finds the threshold with the least loss of information, by the Kullback-Leibler divergence.

    hist (B,) counts the values of a layer in bins between hist_edges (B + 1,), which are symmetric
    about 0; B is odd and at least ``num_quantized_bins``. Every number of bins around the middle
    one is tried: counts outside go to the outermost ones, which are merged into
    num_quantized_bins. Returns the upper edge of the best choice and its divergence, (1,) each,
    float32. No gradients. Source: Migacz, 8-bit inference with TensorRT, 2017.
    """
    half = num_quantized_bins // 2
    if hist.ndim != 1 or hist.shape[0] < num_quantized_bins:
        raise ShapeError(f"'hist' is {hist.shape}, expected {num_quantized_bins} bins or more")
    counts = widest(lax.stop_gradient(hist))
    half_widths = jnp.arange(half, hist.shape[0] // 2 + 1, dtype="int32")
    sums, ranks = (
        jnp.concatenate([jnp.zeros(1, x.dtype), jnp.cumsum(x, dtype=x.dtype)])
        for x in (counts, (counts != 0).astype("int32"))
    )
    filled = jnp.nonzero(counts, size=counts.shape[0] + _CHUNK, fill_value=0)[0].astype("int32")
    divergences = lax.map(
        lambda i: _divergence(counts, sums, ranks, filled, i, num_quantized_bins), half_widths
    )
    best = jnp.argmin(divergences)
    edge = hist_edges[hist.shape[0] // 2 + half_widths[best] + 1]
    lowest = jnp.minimum(divergences[best], jnp.finfo("float32").max)
    return lax.stop_gradient(edge).reshape(1), lowest.astype("float32").reshape(1)
