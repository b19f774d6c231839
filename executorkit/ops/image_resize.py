"""Images (height, width, channels) resized as OpenCV does it."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..errors import AttributeValueError, DTypeError
from ._attrs import Shape
from ._registry import register
from .image import check_image

#: Bits of the fixed-point weights for uint8 images.
_FIXED_POINT_BITS = 11


def _cubic(t: np.ndarray) -> np.ndarray:
    t, a = np.abs(t), -0.75
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _lanczos(t: np.ndarray) -> np.ndarray:
    return np.sinc(t) * np.sinc(t / 4)


def _taps(size: int, out: int, interp: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each new pixel of an axis: the old pixels that count, and their weights, (out, taps)."""
    scale = size / out
    place = np.arange(out)
    if interp == 0:
        low = np.floor(place * scale).astype(int)
        return np.minimum(low, size - 1)[:, None], np.ones((out, 1), "float32")
    if interp == 3:  # enlarging by areas: nearly nearest
        low = np.floor(place * scale).astype(int)
        part = (place + 1) - (low + 1) / scale
        part = np.where(part <= 0, 0, part - np.floor(part))
    else:
        centre = ((place + 0.5) * scale - 0.5).astype("float32")
        low = np.floor(centre).astype(int)
        part = centre - low
    if interp in (1, 3):
        if across:  # rows keep their two weights at the edges, which shows in fixed point
            part = np.where((low < 0) | (low >= size - 1), 0, part)
            low = np.clip(low, 0, size - 1)
        weights = np.stack([1 - part, part], 1)
    else:
        reach, kernel = (2, _cubic) if interp == 2 else (4, _lanczos)
        weights = kernel(part[:, None] - np.arange(1 - reach, reach + 1))
        weights /= weights.sum(1, keepdims=True)
        low = low + 1 - reach
    where = np.clip(low[:, None] + np.arange(weights.shape[1]), 0, size - 1)
    return where, weights.astype("float32")


def _weighted_sum(x: jax.Array, axis: int, where: np.ndarray, weights: np.ndarray) -> jax.Array:
    """Weighted sums of the pixels at ``where``: few terms, whatever the size of the image."""
    shape = [1] * x.ndim
    shape[axis] = -1
    total = None
    for at, weight in zip(where.T, weights.T, strict=True):
        term = jnp.take(x, jnp.asarray(at, "int32"), axis) * jnp.asarray(weight).reshape(shape)
        total = term if total is None else total + term
    assert total is not None
    return total


def _resize_by_taps(x: jax.Array, height: int, width: int, interp: int) -> jax.Array:
    """Interpolation between a fixed number of neighbours; uint8 in fixed point."""
    taps = [
        _taps(x.shape[-2], width, interp, across=True),
        _taps(x.shape[-3], height, interp, across=False),
    ]
    if interp == 0 or x.dtype != jnp.uint8:
        for axis, (where, weights) in zip((x.ndim - 2, x.ndim - 3), taps, strict=True):
            x = _weighted_sum(x, axis, where, weights.astype(x.dtype))
        return x
    (columns, across), (rows, down) = (
        (where, np.rint(weights * 2.0**_FIXED_POINT_BITS).astype("int32"))
        for where, weights in taps
    )
    wide = _weighted_sum(x.astype("int32"), x.ndim - 2, columns, across)
    axis = x.ndim - 3
    if interp in (1, 3):
        # OpenCV drops bits on the way, so that products fit into 16 bits.
        ones = [np.eye(2, dtype="int32")[i][None].repeat(len(rows), 0) for i in range(2)]
        shape = [1] * x.ndim
        shape[axis] = -1
        parts = [
            ((_weighted_sum(wide, axis, rows, one) >> 4) * jnp.asarray(down[:, i]).reshape(shape))
            >> 16
            for i, one in enumerate(ones)
        ]
        out = (parts[0] + parts[1] + 2) >> 2
    else:
        half = 1 << (2 * _FIXED_POINT_BITS - 1)
        out = (_weighted_sum(wide, axis, rows, down) + half) >> (2 * _FIXED_POINT_BITS)
    return jnp.clip(out, 0, 255).astype("uint8")


def _resize_by_area(x: jax.Array, height: int, width: int) -> jax.Array:
    """Averages over the areas that new pixels cover."""
    out = x.astype("float32") if x.dtype == jnp.uint8 else x
    quarter = (2 * height, 2 * width) == x.shape[-3:-1]
    for letters, axis, n in (("...hwc,Hh->...Hwc", -3, height), ("...hwc,Ww->...hWc", -2, width)):
        size = x.shape[axis]
        scale = size / n
        new = lax.broadcasted_iota("float64", (n, size), 0) * scale
        old = lax.broadcasted_iota("float64", (n, size), 1)
        cover = jnp.minimum(old + 1, new + scale) - jnp.maximum(old, new)
        weights = (jnp.maximum(cover, 0) / scale).astype(out.dtype)
        out = jnp.einsum(letters, out, weights, precision="highest")
    if x.dtype != jnp.uint8:
        return out
    return (jnp.floor(out + 0.5) if quarter else jnp.rint(out)).astype("uint8")


@register("_image_resize")
def resize(data: jax.Array, *, size: Shape = (), keep_ratio: bool = False, interp: int = 1):
    """Images resized to ``size``: (width, height), or one number for both.

    With ``keep_ratio`` one number is the length of the shorter side, and the longer one is scaled
    alike, rounded down. ``interp``: 0 nearest, 1 bilinear, 2 bicubic, 3 averages over areas (where
    both sides shrink), 4 Lanczos over eight pixels; other methods of OpenCV are not served. data
    (height, width, channels) or (N, height, width, channels), of uint8, float32 or float64, and of
    int8 or int32 for the nearest; the result has data's dtype. MXNet has no gradient for it.
    """
    check_image(data, (3, 4))
    if len(size) not in (1, 2) or min(size) < 1:
        raise AttributeValueError(f"size={size}, expected one or two positive numbers")
    if interp not in range(5):
        raise AttributeValueError(f"interp={interp}, expected 0 to 4")
    served = ("uint8", "float32", "float64", *(("int8", "int32") if interp == 0 else ()))
    if data.dtype.name not in served:
        raise DTypeError(f"'data' is {data.dtype.name}, expected one of {', '.join(served)}")
    rows, columns = data.shape[-3:-1]
    width, height = size * 2 if len(size) == 1 else size
    if keep_ratio and len(size) == 1:
        if rows > columns:
            height = math.floor(rows * width / columns)
        else:
            width = math.floor(columns * height / rows)
    if (height, width) == (rows, columns):
        return data
    if interp == 3 and height <= rows and width <= columns:
        return _resize_by_area(data, height, width)
    return _resize_by_taps(data, height, width, interp)
