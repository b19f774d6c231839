"""Arithmetic of quantised arrays: scales, rounding, exact products of 8-bit integers.

A quantised array comes with two arrays of one element, the ends of the range that it covers. Only
the larger of their magnitudes counts: 0 always stands for 0. Integers are multiplied as
floating-point numbers, which every backend does fastest, and which is exact.
"""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jax import Array

from ..schema.inference import InferShape, Params, ShapeFacts, TypeFacts

#: Quantisation steps from 0 to the larger end of the range, as MXNet counts them: half a step more
#: than the type's largest value, so that the last step is as wide as the others.
STEPS = {"int8": 127.5, "uint8": 255.5}
INT32 = 2147483647.0
#: Outputs of most quantised layers: the integers, and the ends of the range that they cover.
OUTPUTS = ("output", "min_output", "max_output")

OutType = Literal["int8", "uint8", "auto"]


def max_magnitude(low: Array, high: Array) -> Array:
    return jnp.maximum(jnp.abs(low), jnp.abs(high)).reshape(())


def scale_of(dtype: str, low: Array, high: Array) -> Array:
    return STEPS[dtype] / max_magnitude(low, high)


def scale_of_array(data: Array, low: Array, high: Array) -> Array:
    return scale_of(data.dtype.name, low, high)


def round_to_dtype(x: Array, dtype: str) -> Array:
    """Returns the nearest integers that ``dtype`` holds, halves to even."""
    ends = jnp.iinfo(dtype)
    return jnp.clip(jnp.round(x), ends.min, ends.max).astype(dtype)


def is_calibrated(p: Params) -> bool:
    return p.min_calib_range is not None and p.max_calib_range is not None


def range_end(x: float | Array) -> Array:
    return jnp.reshape(jnp.asarray(x, jnp.float32), (1,))


def exact_product(
    product: Callable[[Array, Array], Array], data: Array, weight: Array, terms: int
) -> Array:
    """Computes ``product`` of 8-bit integers as int32; each entry is a sum of ``terms`` products.

    float32 holds integers up to 2^24, which 518 products may exceed; then the weight is multiplied
    in two halves, its high and its low bits.
    """
    data, kind = data.astype(jnp.float32), jnp.int32
    if terms * 255 * 128 < 2**24:
        return product(data, weight.astype(jnp.float32)).astype(kind)
    high = weight.astype(kind) >> 4
    low = weight.astype(kind) - (high << 4)
    halves = [product(data, w.astype(jnp.float32)).astype(kind) for w in (high, low)]
    return (halves[0] << 4) + halves[1]


def is_unsigned(out_type: OutType, min_calib_range: float | None) -> bool:
    """Returns whether the result is uint8: for ``auto``, if the range has nothing below 0."""
    calibrated = min_calib_range is not None and min_calib_range >= 0
    return out_type == "uint8" or (out_type == "auto" and calibrated)


def set_real_ranges(t: TypeFacts, first: int = 1) -> None:
    names = tuple(t)
    for name in (*(n for n in names[first:] if not n.startswith("out")), "out1", "out2"):
        t.set(name, "float32")


def default_to_unsigned(t: TypeFacts, *names: str) -> None:
    """Sets uint8 for inputs of unknown type that may be int8 or uint8, as MXNet does."""
    for name in names:
        t.set(name, t[name] or "uint8")


def product_range(steps: float, *ranges: Array) -> tuple[Array, Array]:
    """Returns the real numbers that the smallest and the largest int32 product stand for."""
    a, b = max_magnitude(*ranges[:2]), max_magnitude(*ranges[2:])
    magnitude = (a / steps) * (b / 127) * INT32
    return range_end(-magnitude), range_end(magnitude)


def infer_range_end_shape(s: ShapeFacts, p: Params) -> None:
    for name in s:
        if "min" in name or "max" in name:
            s.set(name, (1,), because="it is one end of a range")


def with_range_ends(rule: InferShape) -> InferShape:
    def infer_shape(s: ShapeFacts, p: Params) -> None:
        rule(s, p)
        infer_range_end_shape(s, p)

    return infer_shape


def infer_same_range_type(t: TypeFacts, p: Params) -> None:
    # The output has the type and the range of data.
    t.same("data", "out0")
    set_real_ranges(t)
