"""Images (height, width, channels) prepared for a network: crops, flips, tensors."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import AttributeValueError, ShapeError
from ._arith import through_float
from ._attrs import Floats, Key
from ._registry import register
from ._rules import output_dtype, same_shapes


def check_image(data: jax.Array, ranks: tuple[int, ...] = (3,)) -> None:
    """Raises a :class:`ShapeError` for what is no image or batch of images."""
    if data.ndim not in ranks:
        batch = " or (N, height, width, channels)" if 4 in ranks else ""
        raise ShapeError(f"'data' is {data.shape}, expected (height, width, channels){batch}")


@register("_image_crop")
def crop(data: jax.Array, *, x: int, y: int, width: int, height: int):
    """The part of images from column x and row y on, of ``height`` by ``width``.

    data (height, width, channels) or (N, height, width, channels), of any dtype.
    """
    check_image(data, (3, 4))
    rows, columns = data.shape[-3:-1]
    if min(x, y) < 0 or min(width, height) < 1 or x + width > columns or y + height > rows:
        raise AttributeValueError(
            f"x={x}, y={y}, width={width}, height={height} is not inside {rows} by {columns}"
        )
    return data[..., y : y + height, x : x + width, :]


@register("_image_to_tensor", types=output_dtype("float32"))
def to_tensor(data: jax.Array):
    """Images from 0 to 255 as float32 from 0 to 1, with channels first.

    data (height, width, channels) or (N, height, width, channels), of any dtype, gives
    (channels, height, width) or (N, channels, height, width). float16 is divided in float16.
    """
    check_image(data, (3, 4))
    image = jnp.moveaxis(data, -1, -3)
    if data.dtype == jnp.float16:
        return (image / jnp.float16(255)).astype("float32")
    return image.astype("float32") / 255


@register("_image_normalize", infer_shape=same_shapes)
def normalize(
    data: jax.Array,
    *,
    mean: Floats = (0.0, 0.0, 0.0, 0.0),
    std: Floats = (1.0, 1.0, 1.0, 1.0),
):
    """(data - mean) / std, channel by channel.

    data (channels, height, width) or (N, channels, height, width) with 1 or 3 channels; mean and
    std have a number for each channel, or one for all (MXNet refuses its own default). Returns
    data's shape and dtype; integers are computed in float32 and truncated.
    """
    if data.ndim not in (3, 4) or data.shape[-3] not in (1, 3):
        raise ShapeError(f"'data' is {data.shape}, expected (1 or 3 channels, height, width)")
    channels = data.shape[-3]

    def each(name: str, values: Floats) -> jax.Array:
        if len(values) != 1 and len(values) < channels:
            raise AttributeValueError(f"{name}={values}, expected 1 or {channels} numbers")
        numbers = values * channels if len(values) == 1 else values[:channels]
        return jnp.asarray(numbers)[:, None, None]

    centre, width = each("mean", mean), each("std", std)
    return through_float(lambda x: (x - centre.astype(x.dtype)) / width.astype(x.dtype))(data)


def _register_flips(side: str, axis: int) -> None:
    def flip(data: jax.Array) -> jax.Array:
        check_image(data)
        return lax.rev(data, (axis,))

    def random_flip(data: jax.Array, *, key: Key) -> jax.Array:
        return lax.select(jax.random.bernoulli(key), flip(data), data)

    shape = "data (height, width, channels), of any dtype, gives the same shape and dtype."
    made: list[tuple[str, Callable[..., jax.Array], str]] = [
        (f"_image_flip_{side}", flip, f"Images flipped, {side.replace('_', ' to ')}."),
        (
            f"_image_random_flip_{side}",
            random_flip,
            f"Images flipped, {side.replace('_', ' to ')}, in half of all calls.",
        ),
    ]
    for name, fn, words in made:
        fn.__name__ = fn.__qualname__ = name
        fn.__doc__ = f"{words}\n\n{shape}"
        register(name, infer_shape=same_shapes)(fn)


_register_flips("left_right", 1)
_register_flips("top_bottom", 0)
