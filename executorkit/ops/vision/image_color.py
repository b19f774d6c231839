"""Random changes of the colours of images (height, width, channels), 1 or 3 channels from 0 to 255.

Computations are in float32, or float64 for float64 images; integers are clipped to their range and
truncated.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._support.annotations import Function, Raw, Tree
from ...errors import AttributeValueError
from ..schema.attrs import Floats, Key
from ..schema.calls import with_signature
from ..schema.inference import same_shapes
from ..schema.operator_registry import register
from ..tensor.binary_arithmetic import is_floating
from .image_draws import Words, normals, order, split, uniform
from .image_transforms import check_image

#: Luma weights of red, green and blue (ITU-R BT.601).
LUMA = (0.299, 0.587, 0.114)
#: Standard deviations of ImageNet's colours along their principal axes, and these axes, as columns
#: (Krizhevsky et al., 2012).
IMAGENET_SPREAD = (55.46, 4.794, 1.148)
IMAGENET_AXES = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))

#: Number of pixels that NumPy turns at a time: its intermediate results stay in the cache.
_PART_PIXELS = 8192


def _apply_in_float(change: Function, data: Raw, *arguments: object) -> Tree:
    # Images are JAX's or NumPy's, here and below.
    check_image(data)
    out = change(data if data.dtype == jnp.float64 else data.astype("float32"), *arguments)
    if not is_floating(data):
        limits = np.iinfo(data.dtype)
        out = (np if isinstance(out, np.ndarray) else jnp).clip(out, limits.min, limits.max)
    return out.astype(data.dtype)


def _on_host(fn: Function) -> Function:
    usual = (np.uint8, np.float32, np.float64)
    return lambda data, **attrs: fn(data, **attrs) if data.dtype in usual else None


@lru_cache(maxsize=16)
def _constant(values: tuple[Any, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(values, dtype)


def _gray(x: Array) -> Array:
    if x.shape[-1] != 3:
        return x
    if isinstance(x, np.ndarray):
        return (x @ _constant(LUMA, x.dtype))[..., None]
    return jnp.sum(x * jnp.asarray(LUMA, x.dtype), -1, keepdims=True)


def _contrast(x: Array, alpha: Array) -> Array:
    return x * alpha + (1 - alpha) * _gray(x).mean()


def _saturation(x: Array, alpha: Array) -> Array:
    # MXNet computes gray from the blue channel alone here, and so do published augmentations.
    gray = x[..., 2:] * LUMA[2] if x.shape[-1] == 3 else x
    return _plus_per_channel(x * alpha, (1 - alpha) * gray)


def _plus_per_channel(x: object, part: Raw) -> Tree:
    # NumPy is given one channel at a time: it takes ten times as long for the short axis.
    if not isinstance(x, np.ndarray):
        return x + part
    for i in range(x.shape[-1]):
        x[..., i] += part[..., min(i, part.shape[-1] - 1)]
    return x


def _hue(x: Raw, alpha: Raw) -> Tree:
    if x.shape[-1] != 3:
        return x
    if isinstance(x, np.ndarray):
        out = np.empty_like(x)
        rows = max(1, _PART_PIXELS // max(1, x.shape[1]))
        for start in range(0, len(x), rows):
            part = np.moveaxis(x[start : start + rows], -1, 0)
            colours = _turned(np, np.ascontiguousarray(part), alpha)
            for i in range(3):
                out[start : start + rows, :, i] = colours[i]
        return out
    return jnp.stack(_turned(jnp, [x[..., i] for i in range(3)], alpha), -1)


def _turned(xp: Any, planes: Raw, alpha: Raw) -> list[Raw]:
    red, green, blue = planes
    high = xp.maximum(xp.maximum(red, green), blue)
    low = xp.minimum(xp.minimum(red, green), blue)
    chroma = high - low
    per = xp.where(chroma == 0, 1, chroma)
    reds, greens, blues = (green - blue) / per, (blue - red) / per + 2, (red - green) / per + 4
    sixth = xp.where(high == red, reds, xp.where(high == green, greens, blues))
    turned = 2 * sixth + 12 * alpha
    middle, half = (high + low) / 2, chroma / 2

    def channel(n: int) -> Tree:
        k = n + turned
        k = k - 12 * xp.floor(k / 12)
        return middle - half * xp.clip(xp.minimum(k - 3, 9 - k), -1, 1)

    return [channel(0), channel(8), channel(4)]


_CHANGES = {
    "brightness": (lambda x, alpha: x * alpha, "x a", "Brightness"),
    "contrast": (_contrast,
        "x a + (1 - a) m, with m the mean of 0.299 red + 0.587 green + 0.114 blue", "Contrast"),
    "saturation": (_saturation, "x a + (1 - a) g, with g 0.114 of blue, as MXNet has it",
        "Saturation"),
    "hue": (_hue, "x with its hue turned by the part a of the full circle", "Hue"),
}  # fmt: skip


def _register_random_change(
    stem: str, change: Callable[..., Array], equation: str, title: str
) -> None:
    def run(arrays: tuple[Array, ...], attrs: dict[str, float], key: Array) -> Array:
        low, high = attrs["min_factor"], attrs["max_factor"]
        if low < 0 or high < 0:
            raise AttributeValueError(f"min_factor={low}, max_factor={high}: a negative factor")
        if low > high:
            raise AttributeValueError(f"min_factor={low} is above max_factor={high}")
        (data,) = arrays
        alpha = uniform(key, low, high)
        return _apply_in_float(lambda x, a: change(x, a.astype(x.dtype)), data, alpha)

    name = f"_image_random_{stem}"
    doc = (
        f"{title} changed at random: {equation}; a is uniform in [min_factor, max_factor].\n\n"
        "data (height, width, channels) gives the same shape and dtype; integers are clipped to "
        "their range and truncated."
    )
    empty = inspect.Parameter.empty
    attrs = {"min_factor": (float, empty), "max_factor": (float, empty)}
    run = with_signature(run, name, doc, ("data",), attrs, random=True)
    register(name, infer_shape=same_shapes, host=_on_host(run))(run)


for _stem, _row in _CHANGES.items():
    _register_random_change(_stem, *_row)


def _jitter_steps(
    widths: tuple[float, ...], keys: Sequence[object]
) -> list[Callable[[Array], Array]]:
    steps = []
    for (stem, (change, *_)), width, key in zip(_CHANGES.items(), widths, keys, strict=True):
        middle = 0.0 if stem == "hue" else 1.0
        alpha = uniform(key, middle - width, middle + width)

        def step(x: Array, change=change, alpha=alpha, width=width) -> Array:
            if width == 0:
                return x
            return _apply_in_float(lambda y, a: change(y, a.astype(y.dtype)), x, alpha)

        steps.append(step)
    return steps


@_on_host
def _jitter_on_host(
    data: Raw, *, brightness: float, contrast: float, saturation: float, hue: float, key: Words
) -> Tree:
    permutation, *keys = split(key, 5)
    steps = _jitter_steps((brightness, contrast, saturation, hue), keys)
    check_image(data)
    for i in order(permutation, len(steps)):
        data = steps[i](data)
    return data


@register("_image_random_color_jitter", infer_shape=same_shapes, host=_jitter_on_host)
def random_color_jitter(
    data: Array, *, brightness: float, contrast: float, saturation: float, hue: float, key: Key
):
    """Changes brightness, contrast, saturation and hue randomly, in random order.

    The factors of the first three are uniform in [1 - b, 1 + b] for the attribute b, the rotation
    of hue in [-hue, hue]; 0 leaves a property unchanged. data (height, width, channels) gives the
    same shape and dtype.
    """
    permutation, *keys = split(key, 5)
    steps = _jitter_steps((brightness, contrast, saturation, hue), keys)
    steps_in_order = jax.random.permutation(permutation, len(steps))
    return lax.fori_loop(0, len(steps), lambda i, x: lax.switch(steps_in_order[i], steps, x), data)


def _lighting(x: Array, alpha: Array) -> Array:
    if x.shape[-1] != 3:
        return x
    spread = _constant(IMAGENET_SPREAD, x.dtype) * alpha.astype(x.dtype)
    shift = _constant(IMAGENET_AXES, x.dtype) @ spread
    return _plus_per_channel(x.copy() if isinstance(x, np.ndarray) else x, shift)


def adjust_lighting(data: Array, *, alpha: Floats):
    """Adds a colour to images: alpha, of three numbers, along the principal axes of ImageNet's.

    One standard deviation is 1. data (height, width, 3) gives the same shape and dtype; images of
    one channel stay. Source: Krizhevsky et al., 2012.
    """
    if len(alpha) != 3:
        raise AttributeValueError(f"alpha={alpha}, expected three numbers")
    return _apply_in_float(_lighting, data, np.asarray(alpha, "float32"))


def random_lighting(data: Array, *, alpha_std: float = 0.05, key: Key):
    """Applies ``adjust_lighting`` with random alpha: normal, with standard deviation ``alpha_std``.

    data (height, width, 3) gives the same shape and dtype.
    """
    return _apply_in_float(_lighting, data, alpha_std * normals(key, 3))


for _fn in (adjust_lighting, random_lighting):
    register(f"_image_{_fn.__name__}", infer_shape=same_shapes, host=_on_host(_fn))(_fn)
