"""Random choices: categories, orders, rows of different numbers; pure functions of a key."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import AttributeValueError
from ._attrs import Key, Shape
from ._distributions import wide
from ._facts import Params, TypeFacts
from ._registry import register
from ._rules import same_shapes


def _infer_multinomial_type(t: TypeFacts, p: Params) -> None:
    t.set("out0", p.dtype)
    t.same("data", "out1")


@register(
    "_sample_multinomial",
    "sample_multinomial",
    outputs=lambda p: ("output0", "output1") if p.get_prob else ("output",),
    types=_infer_multinomial_type,
)
def sample_multinomial(
    data: jax.Array,
    *,
    shape: Shape = (),
    get_prob: bool = False,
    dtype: Literal["uint8", "int32", "float16", "float32", "float64"] = "int32",
    key: Key,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """Indices drawn with the probabilities in data's last axis.

    data (..., K), each row summing to 1, gives ``dtype`` of shape (..., ``shape``); a row alone
    gives shape (1,) by default. ``get_prob`` adds the logarithms of the drawn probabilities, in
    data's dtype and the same shape, through which data gets its gradient (1 / probability where
    an index was drawn).
    """
    rows = data.shape[:-1]
    wanted = (*rows, *shape) or (1,)
    logits = jnp.log(lax.stop_gradient(data).astype(wide(data.dtype)))
    count = (1,) * (len(wanted) - len(rows))
    drawn = jax.random.categorical(key, logits.reshape(*rows, *count, data.shape[-1]), shape=wanted)
    if not get_prob:
        return drawn.astype(dtype)
    flat = drawn.reshape(*rows, -1)
    probability = jnp.take_along_axis(data, flat, -1).reshape(wanted)
    return drawn.astype(dtype), jnp.log(probability)


@register("_shuffle", "shuffle", infer_shape=same_shapes)
def shuffle(data: jax.Array, *, key: Key) -> jax.Array:
    """data (N, ...) with its N rows in a random order.

    The gradient follows the rows (MXNet refuses to compute one).
    """
    return jax.random.permutation(key, data, axis=0)


def _infer_zipfian_type(t: TypeFacts, p: Params) -> None:
    t.set("out0", "int64")
    t.set("out1", "int64")


@register("_sample_unique_zipfian", outputs=("output0", "output1"), types=_infer_zipfian_type)
def sample_unique_zipfian(*, range_max: int, shape: Shape | None = None, key: Key):
    """Rows of different integers in [0, range_max), small ones more likely, and how many draws
    each row took.

    Integer k is drawn with probability log((k + 2) / (k + 1)) / log(range_max + 1), and drawn again
    if the row has it already. ``shape`` is (rows, numbers), with no more numbers than range_max.
    Returns int64 (rows, numbers) and int64 (rows,).
    """
    if shape is None or len(shape) != 2 or shape[1] > range_max:
        raise AttributeValueError(
            f"shape={shape}, expected (rows, numbers) with up to range_max={range_max} numbers"
        )
    rows, numbers = shape

    def draw(state: tuple[Any, ...]) -> tuple[Any, ...]:
        key, found, count, tries = state
        key, own = jax.random.split(key)
        power = jax.random.uniform(own, (), jnp.float64) * jnp.log(range_max + 1.0)
        number = jnp.clip(jnp.exp(power).astype(jnp.int64) - 1, 0, range_max - 1)
        new = jnp.all(found != number)
        return key, found.at[count].set(jnp.where(new, number, -1)), count + new, tries + 1

    def row(key: Any) -> tuple[jax.Array, jax.Array]:
        zero = jnp.zeros((), jnp.int64)
        start = key, jnp.full(numbers, -1, jnp.int64), zero, zero
        _, found, _, tries = lax.while_loop(lambda state: state[2] < numbers, draw, start)
        return found, tries

    return jax.vmap(row)(jax.random.split(key, rows))
