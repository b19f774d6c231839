"""Eight-bit integers that stand for real numbers: scales, rounding, exact products.

A quantised array comes with two arrays of one element, the ends of the range of real numbers that
it covers. Only the larger of their magnitudes counts: 0 always stands for 0. Whole numbers are
multiplied as floating-point numbers, which every backend does fastest, and which is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from ..schema.inference import Params, ShapeFacts, TypeFacts

#: How many steps of each type make up the larger end of its range, as MXNet counts them; a little
#: more than the type holds, so that the last step is as wide as the others.
STEPS = {"int8": 127.5, "uint8": 255.5}
INT32 = 2147483647.0
#: Outputs of most layers on bytes: the bytes, and the ends of the range that they cover.
OUTPUTS = ("output", "min_output", "max_output")

OutType = Literal["int8", "uint8", "auto"]


def largest(low: jax.Array, high: jax.Array) -> jax.Array:
    """The larger magnitude of a range, as a scalar."""
    return jnp.maximum(jnp.abs(low), jnp.abs(high)).reshape(())


def scale_of(dtype: str, low: jax.Array, high: jax.Array) -> jax.Array:
    """Steps per unit of a range."""
    return STEPS[dtype] / largest(low, high)


def scale_of_array(data: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Steps per unit of a quantised array."""
    return scale_of(data.dtype.name, low, high)


def rounded(x: jax.Array, dtype: str) -> jax.Array:
    """The nearest whole numbers that ``dtype`` holds, halves to even."""
    ends = jnp.iinfo(dtype)
    return jnp.clip(jnp.round(x), ends.min, ends.max).astype(dtype)


def one(x: float | jax.Array) -> jax.Array:
    """The end of a range."""
    return jnp.reshape(jnp.asarray(x, jnp.float32), (1,))


def exactly(
    product: Callable[[jax.Array, jax.Array], jax.Array],
    data: jax.Array,
    weight: jax.Array,
    terms: int,
) -> jax.Array:
    """``product`` of whole numbers, int32; each entry of it is a sum of ``terms`` products.

    Single precision holds whole numbers up to 2^24, which 518 products of bytes may exceed; then
    the weight is multiplied in two halves, of its high and of its low bits.
    """
    data, kind = data.astype(jnp.float32), jnp.int32
    if terms * 255 * 128 < 2**24:
        return product(data, weight.astype(jnp.float32)).astype(kind)
    high = weight.astype(kind) >> 4
    low = weight.astype(kind) - (high << 4)
    halves = [product(data, w.astype(jnp.float32)).astype(kind) for w in (high, low)]
    return (halves[0] << 4) + halves[1]


def is_unsigned(out_type: OutType, min_calib_range: float | None) -> bool:
    """Whether the result is uint8: for ``auto``, where the calibrated range has nothing below 0."""
    calibrated = min_calib_range is not None and min_calib_range >= 0
    return out_type == "uint8" or (out_type == "auto" and calibrated)


def ranges_are_real(t: TypeFacts, first: int = 1) -> None:
    """Everything but the quantised arrays, which come first, is float32."""
    names = tuple(t)
    for name in (*(n for n in names[first:] if not n.startswith("out")), "out1", "out2"):
        t.set(name, "float32")


def unsigned_unless_known(t: TypeFacts, *names: str) -> None:
    """Inputs that may be of either type are uint8 where nothing says otherwise, as in MXNet."""
    for name in names:
        t.set(name, t[name] or "uint8")


def product_range(steps: float, *ranges: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What the smallest and the largest 32-bit product of bytes stand for."""
    a, b = largest(*ranges[:2]), largest(*ranges[2:])
    most = (a / steps) * (b / 127) * INT32
    return one(-most), one(most)


def fill_ends(s: ShapeFacts, p: Params) -> None:
    """The ends of ranges, all inputs with ``min`` or ``max`` in their names, are of one element."""
    for name in s:
        if "min" in name or "max" in name:
            s.set(name, (1,), because="it is one end of a range")


def kept_types(t: TypeFacts, p: Params) -> None:
    """The output is of the type of data, and covers its range."""
    t.same("data", "out0")
    ranges_are_real(t)
