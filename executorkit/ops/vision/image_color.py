"""Random changes of the colours of images (height, width, channels), 1 or 3 channels from 0 to 255.

Computations are in float32, or float64 for float64 images; integers are clipped to their range and
truncated.
"""

import inspect
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...errors import AttributeValueError
from ..schema.attrs import Floats, Key
from ..schema.calls import with_signature
from ..schema.inference import same_shapes
from ..schema.operator_registry import register
from ..tensor.binary_arithmetic import is_floating
from .image_transforms import check_image

#: Luma weights of red, green and blue (ITU-R BT.601).
LUMA = (0.299, 0.587, 0.114)
#: Standard deviations of ImageNet's colours along their principal axes, and these axes, as columns
#: (Krizhevsky et al., 2012).
IMAGENET_SPREAD = (55.46, 4.794, 1.148)
IMAGENET_AXES = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


def _apply_in_float(change: Callable[..., Array], data: Array, *arguments: Array) -> Array:
    """``change`` of an image in float32 or float64, converted back to the image's dtype."""
    check_image(data)
    out = change(data if data.dtype == jnp.float64 else data.astype("float32"), *arguments)
    if not is_floating(data):
        limits = jnp.iinfo(data.dtype)
        out = jnp.clip(out, limits.min, limits.max)
    return out.astype(data.dtype)


def _gray(x: Array) -> Array:
    if x.shape[-1] != 3:
        return x
    return jnp.sum(x * jnp.asarray(LUMA, x.dtype), -1, keepdims=True)


def _contrast(x: Array, alpha: Array) -> Array:
    return x * alpha + (1 - alpha) * jnp.mean(_gray(x))


def _saturation(x: Array, alpha: Array) -> Array:
    # MXNet computes gray from the blue channel alone here, and so do published augmentations.
    gray = x[..., 2:] * LUMA[2] if x.shape[-1] == 3 else x
    return x * alpha + (1 - alpha) * gray


def _hue(x: Array, alpha: Array) -> Array:
    """Rotates the hue by ``alpha`` of the full circle and preserves lightness and chroma."""
    if x.shape[-1] != 3:
        return x
    high, low = jnp.max(x, -1), jnp.min(x, -1)
    chroma = high - low
    red, green, blue = (x[..., i] for i in range(3))
    per = jnp.where(chroma == 0, 1, chroma)
    sixth = jnp.where(
        high == red,
        (green - blue) / per,
        jnp.where(high == green, 2 + (blue - red) / per, 4 + (red - green) / per),
    )
    turned = 2 * sixth + 12 * alpha

    def channel(n: int) -> Array:
        k = jnp.mod(n + turned, 12)
        return (high + low) / 2 - chroma / 2 * jnp.clip(jnp.minimum(k - 3, 9 - k), -1, 1)

    return jnp.stack([channel(0), channel(8), channel(4)], -1)


_CHANGES = {
    "brightness": (lambda x, alpha: x * alpha, "x a", "Brightness"),
    "contrast": (
        _contrast,
        "x a + (1 - a) m, with m the mean of 0.299 red + 0.587 green + 0.114 blue",
        "Contrast",
    ),
    "saturation": (
        _saturation,
        "x a + (1 - a) g, with g 0.114 of blue, as MXNet has it",
        "Saturation",
    ),
    "hue": (_hue, "x with its hue turned by the part a of the full circle", "Hue"),
}


def _uniform(key: Array, low: float, high: float) -> Array:
    return jax.random.uniform(key, (), jnp.float32, low, high)


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
        alpha = _uniform(key, low, high)
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
    register(name, infer_shape=same_shapes)(run)


for _stem, _row in _CHANGES.items():
    _register_random_change(_stem, *_row)


@register("_image_random_color_jitter", infer_shape=same_shapes)
def random_color_jitter(
    data: Array, *, brightness: float, contrast: float, saturation: float, hue: float, key: Key
):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    The factors of the first three are uniform in [1 - b, 1 + b] for the attribute b, the rotation
    of hue in [-hue, hue]; 0 leaves a property alone. data (height, width, channels) gives the same
    shape and dtype.
    """
    order, *keys = jax.random.split(key, 5)
    widths = (brightness, contrast, saturation, hue)
    steps = []
    for (stem, (change, *_)), width, step_key in zip(_CHANGES.items(), widths, keys, strict=True):
        middle = 0.0 if stem == "hue" else 1.0
        alpha = _uniform(step_key, middle - width, middle + width)

        def step(x: Array, change=change, alpha=alpha, width=width) -> Array:
            if width == 0:
                return x
            return _apply_in_float(lambda y, a: change(y, a.astype(y.dtype)), x, alpha)

        steps.append(step)
    permutation = jax.random.permutation(order, len(steps))
    return lax.fori_loop(0, len(steps), lambda i, x: lax.switch(permutation[i], steps, x), data)


def _lighting(x: Array, alpha: Array) -> Array:
    if x.shape[-1] != 3:
        return x
    shift = jnp.asarray(IMAGENET_AXES, x.dtype) @ (
        jnp.asarray(IMAGENET_SPREAD, x.dtype) * alpha.astype(x.dtype)
    )
    return x + shift


@register("_image_adjust_lighting", infer_shape=same_shapes)
def adjust_lighting(data: Array, *, alpha: Floats):
    """Adds a colour to images: alpha, of three numbers, along the principal axes of ImageNet's.

    One standard deviation is 1. data (height, width, 3) gives the same shape and dtype; images of
    one channel stay. Source: Krizhevsky et al., 2012.
    """
    if len(alpha) != 3:
        raise AttributeValueError(f"alpha={alpha}, expected three numbers")
    return _apply_in_float(_lighting, data, jnp.asarray(alpha, "float32"))


@register("_image_random_lighting", infer_shape=same_shapes)
def random_lighting(data: Array, *, alpha_std: float = 0.05, key: Key):
    """``adjust_lighting`` with random alpha: normal, with standard deviation ``alpha_std``.

    data (height, width, 3) gives the same shape and dtype.
    """
    return _apply_in_float(_lighting, data, alpha_std * jax.random.normal(key, (3,), jnp.float32))
