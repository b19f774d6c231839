"""Images (height, width, channels) prepared for a network: crops, flips, tensors, resizing.

Resizing follows OpenCV, in fixed point for uint8 images. Images in the host's memory are computed
there, by NumPy and OpenCV.
"""

import math
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._support.annotations import Raw, Tree
from ...errors import AttributeValueError, DTypeError, ShapeError
from ...opencv import flip_image, has_opencv, resize_image
from ..schema.attrs import Floats, Key, Shape
from ..schema.inference import output_dtype, same_shapes
from ..schema.operator_registry import named, register
from ..tensor.binary_arithmetic import through_float
from .image_draws import Words, coin


def check_image(data: Raw, ranks: tuple[int, ...] = (3,), any_channels: bool = False) -> None:
    """Raises a :class:`ShapeError` unless data is an image or a batch, of 1, 3 or any channels."""
    if data.ndim not in ranks:
        batch = " or (N, height, width, channels)" if 4 in ranks else ""
        raise ShapeError(f"'data' is {data.shape}, expected (height, width, channels){batch}")
    if not any_channels and data.shape[-1] not in (1, 3):
        raise ShapeError(f"'data' is {data.shape}, expected 1 or 3 channels at the end")


@register("_image_crop", host=True)
def crop(data: Array, *, x: int, y: int, width: int, height: int):
    """Crops images from column x and row y on, to ``height`` by ``width``.

    data (height, width, channels) or (N, height, width, channels), of any dtype.
    """
    check_image(data, (3, 4))
    rows, columns = data.shape[-3:-1]
    if min(x, y) < 0 or min(width, height) < 1 or x + width > columns or y + height > rows:
        problem = f"x={x}, y={y}, width={width}, height={height} is not inside {rows} by {columns}"
        raise AttributeValueError(problem)
    return data[..., y : y + height, x : x + width, :]


def _to_tensor_on_host(data: np.ndarray) -> np.ndarray | None:
    if data.ndim not in (3, 4) or data.dtype == np.float16:
        return None
    image = data.transpose((2, 0, 1) if data.ndim == 3 else (0, 3, 1, 2))
    out = np.empty(image.shape, np.float32)
    out[...] = image
    out /= 255
    return out


@register("_image_to_tensor", infer_type=output_dtype("float32"), host=_to_tensor_on_host)
def to_tensor(data: Array):
    """Converts images from 0 to 255 to float32 from 0 to 1, with channels first.

    data (height, width, channels) or (N, height, width, channels), of any dtype, gives
    (channels, height, width) or (N, channels, height, width). float16 is divided in float16.
    """
    check_image(data, (3, 4), any_channels=True)
    image = jnp.moveaxis(data, -1, -3)
    if data.dtype == jnp.float16:
        return (image / jnp.float16(255)).astype("float32")
    return image.astype("float32") / 255


def _normalize_on_host(data: Raw, **attrs: Floats) -> Tree:
    return normalize(data, **attrs) if data.dtype in (np.float32, np.float64) else None


@register("_image_normalize", infer_shape=same_shapes, host=_normalize_on_host)
def normalize(
    data: Array, *, mean: Floats = (0.0, 0.0, 0.0, 0.0), std: Floats = (1.0, 1.0, 1.0, 1.0)
):
    """Computes (data - mean) / std, channel by channel.

    data (channels, height, width) or (N, channels, height, width) with 1 or 3 channels; mean and
    std have a number for each channel, or one for all (MXNet refuses its own default). Returns
    data's shape and dtype; integers are computed in float32 and truncated.
    """
    if data.ndim not in (3, 4) or data.shape[-3] not in (1, 3):
        raise ShapeError(f"'data' is {data.shape}, expected (1 or 3 channels, height, width)")
    channels = data.shape[-3]

    def normalized(x: Array) -> Array:
        centre = _per_channel("mean", mean, channels, x.dtype)
        return (x - centre) / _per_channel("std", std, channels, x.dtype)

    return through_float(normalized)(data)


@lru_cache(maxsize=64)
def _per_channel(name: str, values: Floats, channels: int, dtype: np.dtype) -> np.ndarray:
    numbers = values[:1] * channels if len({*values}) == 1 else values
    if len(numbers) != channels:
        raise AttributeValueError(f"{name}={values}, expected 1 or {channels} numbers")
    return np.array(numbers, dtype)[:, None, None]


def _register_flips(side: str, axis: int) -> None:
    def flip(data: Array) -> Array:
        check_image(data)
        return lax.rev(data, (axis,))

    def random_flip(data: Array, *, key: Key) -> Array:
        return lax.select(coin(key), flip(data), data)

    def flip_on_host(data: np.ndarray) -> np.ndarray:
        check_image(data)
        return flip_image(data, axis)

    def random_flip_on_host(data: np.ndarray, *, key: Words) -> np.ndarray:
        check_image(data)
        return flip_image(data, axis) if coin(key) else data

    shape = "data (height, width, channels), of any dtype, gives the same shape and dtype."
    for kind, fn, host, share in (
        ("", flip, flip_on_host, ""),
        ("random_", random_flip, random_flip_on_host, ", in half of all calls"),
    ):
        name, doc = f"_image_{kind}flip_{side}", f"Images flipped, {side.replace('_', ' to ')}"
        fn = named(fn, name, f"{doc}{share}.\n\n{shape}")
        register(name, infer_shape=same_shapes, host=host)(fn)


_register_flips("left_right", 1)
_register_flips("top_bottom", 0)


#: Bits of the fixed-point weights for uint8 images.
_FIXED_POINT_BITS = 11


def _cubic(t: np.ndarray) -> np.ndarray:
    t, a = np.abs(t), -0.75
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    return np.where(t <= 1, near, np.where(t < 2, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a, 0))


def _taps(size: int, out: int, interp: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    # Old pixels that contribute to each new pixel of an axis, and their weights: (out, taps).
    scale = size / out
    position = np.arange(out)
    if interp == 0:
        low = np.floor(position * scale).astype(int)
        return np.minimum(low, size - 1)[:, None], np.ones((out, 1), "float32")
    if interp == 3:  # enlarging by areas: nearly nearest
        low = np.floor(position * scale).astype(int)
        part = (position + 1) - (low + 1) / scale
        part = np.where(part <= 0, 0, part - np.floor(part))
    else:
        centre = ((position + 0.5) * scale - 0.5).astype("float32")
        low = np.floor(centre).astype(int)
        part = centre - low
    if interp in (1, 3):
        if across:  # rows keep their two weights at the edges, which shows in fixed point
            part = np.where((low < 0) | (low >= size - 1), 0, part)
            low = np.clip(low, 0, size - 1)
        weights = np.stack([1 - part, part], 1)
    else:
        reach, kernel = (2, _cubic) if interp == 2 else (4, lambda t: np.sinc(t) * np.sinc(t / 4))
        weights = kernel(part[:, None] - np.arange(1 - reach, reach + 1))
        weights /= weights.sum(1, keepdims=True)
        low = low + 1 - reach
    pixels = np.clip(low[:, None] + np.arange(weights.shape[1]), 0, size - 1)
    return pixels, weights.astype("float32")


def _weighted_sum(x: Array, axis: int, where: np.ndarray, weights: np.ndarray) -> Array:
    shape = [1] * x.ndim
    shape[axis] = -1
    total = None
    for at, weight in zip(where.T, weights.T, strict=True):
        term = jnp.take(x, jnp.asarray(at, "int32"), axis) * jnp.asarray(weight).reshape(shape)
        total = term if total is None else total + term
    assert total is not None
    return total


def _resize_by_taps(x: Array, height: int, width: int, interp: int) -> Array:
    sides = (x.shape[-2], width, interp, True), (x.shape[-3], height, interp, False)
    taps = [_taps(*side) for side in sides]
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
            (
                (_weighted_sum(wide, axis, rows, row_weights) >> 4)
                * jnp.asarray(down[:, i]).reshape(shape)
            )
            >> 16
            for i, row_weights in enumerate(ones)
        ]
        out = (parts[0] + parts[1] + 2) >> 2
    else:
        half = 1 << (2 * _FIXED_POINT_BITS - 1)
        out = (_weighted_sum(wide, axis, rows, down) + half) >> (2 * _FIXED_POINT_BITS)
    return jnp.clip(out, 0, 255).astype("uint8")


def _resize_by_area(x: Array, height: int, width: int) -> Array:
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


def _resize_on_host(
    data: np.ndarray, *, size: Shape, keep_ratio: bool, interp: int
) -> np.ndarray | None:
    if not has_opencv() or not data.size:
        return None
    height, width = _new_size(data, size, keep_ratio, interp)
    if data.ndim == 3:
        return resize_image(data, width, height, interp)
    return np.stack([resize_image(image, width, height, interp) for image in data])


@register("_image_resize", host=_resize_on_host)
def resize(data: Array, *, size: Shape = (), keep_ratio: bool = False, interp: int = 1):
    """Resizes images to ``size``: (width, height), or one number for both.

    With ``keep_ratio`` one number is the length of the shorter side, and the longer one is scaled
    alike, rounded down. ``interp``: 0 nearest, 1 bilinear, 2 bicubic, 3 averages over areas (where
    both sides shrink), 4 Lanczos over eight pixels; OpenCV's other methods are not supported. data
    (height, width, channels) or (N, height, width, channels), of uint8, float32 or float64, and of
    int8 or int32 for the nearest; the result has data's dtype. MXNet has no gradient for it.
    """
    height, width = _new_size(data, size, keep_ratio, interp)
    if (height, width) == data.shape[-3:-1]:
        return data
    if interp == 3 and height <= data.shape[-3] and width <= data.shape[-2]:
        return _resize_by_area(data, height, width)
    return _resize_by_taps(data, height, width, interp)


def _new_size(data: Raw, size: Shape, keep_ratio: bool, interp: int) -> tuple[int, int]:
    check_image(data, (3, 4), any_channels=True)
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
    return height, width
