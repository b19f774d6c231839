"""Random numbers, categories, orders, rows of different numbers: pure functions of a key.

Every distribution comes in three forms. ``_random_X`` draws an array of a given shape,
``_random_X_like`` one like another array, ``_sample_X`` one block per element of its parameter
arrays. Numbers follow MXNet's distributions, not its generator: the same seed gives other numbers.
"""

from collections.abc import Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import DTypeLike

from ..._support.annotations import Attrs, Operands, Raw
from ...errors import AttributeValueError
from ..schema.attrs import Key, Shape, Tuning
from ..schema.calls import with_signature
from ..schema.inference import (
    Params,
    TypeFacts,
    output_dtype,
    same_dtype_among,
    same_shapes,
    same_shapes_among,
)
from ..schema.operator_registry import SHAPE_ATTRIBUTE, register
from ..value_checks import check_values
from .sampling_functions import DISTRIBUTIONS, DistributionSampler, sampling_dtype

FloatType = Literal["float16", "float32", "float64"] | None


def _draw(
    d: DistributionSampler, key: Array, shape: Shape, dtype: DTypeLike, values: Operands
) -> Array:
    kind = sampling_dtype(dtype)
    numbers = [jnp.asarray(v, kind) for v in values]
    return lax.stop_gradient(d.draw(key, shape, kind, *numbers).astype(dtype))


def _refused(name: str, reason: str, shape: Shape, dtype: DTypeLike) -> Array:
    check_values(jnp.asarray(False), f"operator {name}", reason)
    return jnp.zeros(shape, dtype)


def _draw_with_scalars(
    d: DistributionSampler,
    name: str,
    key: Array,
    shape: Shape,
    dtype: DTypeLike,
    attrs: Mapping[str, Any],
) -> Array:
    reason = d.refusal(attrs)
    if reason is not None:
        return _refused(name, reason, shape, dtype)
    return _draw(d, key, shape, dtype, tuple(attrs[n] for n in d.scalars))


def _typed(t: TypeFacts, p: Params) -> None:
    t.set("out0", p.dtype or "float32")


def _register_samplers(stem: str, d: DistributionSampler) -> None:
    def of_shape(_: tuple[object, ...], attrs: Attrs, key: Raw) -> Array:
        shape, dtype = attrs["shape"], attrs["dtype"] or "float32"
        shape = (1,) if shape is None else shape
        return _draw_with_scalars(d, f"_random_{stem}", key, shape, dtype, attrs)

    def like(arrays: tuple[Array, ...], attrs: Attrs, key: Raw) -> Array:
        (data,) = arrays
        return _draw_with_scalars(d, f"_random_{stem}_like", key, data.shape, data.dtype, attrs)

    def sample(arrays: Operands, attrs: Attrs, key: Raw) -> Array:
        shape = attrs["shape"]
        values = tuple(a.reshape(*a.shape, *(1 for _ in shape)) for a in arrays)
        return _draw(d, key, (*arrays[0].shape, *shape), attrs["dtype"] or "float32", values)

    def refused(p: Params) -> bool:
        return d.refusal(p) is not None

    words, dtype = d.words.format(*d.scalars), {"dtype": (FloatType, None)}
    attrs = {**d.scalars, "shape": (Shape | None, None), "ctx": (Tuning[str], ""), **dtype}
    doc = (
        f"{words}.\n\nThe result has ``shape``, of which sizes that are 0 are taken from the "
        "operators that use it, and ``dtype`` (default float32). ``ctx`` is accepted and has "
        "no effect."
    )
    names = f"_random_{stem}", f"random_{stem}", *d.aliases
    register(*names, infer_type=_typed, open_shape=SHAPE_ATTRIBUTE, checks_values=refused)(
        with_signature(of_shape, names[0], doc, (), attrs, random=True)
    )
    name = f"_random_{stem}_like"
    doc = f"{words}.\n\nThe result has the shape and dtype of data, which gets zero gradient."
    register(name, infer_shape=same_shapes, checks_values=refused)(
        with_signature(like, name, doc, ("data",), d.scalars, random=True)
    )
    name, attrs = f"_sample_{stem}", {"shape": (Shape, ()), **dtype}
    doc = (
        f"{d.words.format(*d.arrays)}.\n\n{' and '.join(d.arrays)} have one shape (s), the "
        "result (s, ``shape``): a block of numbers for each element. Its dtype is ``dtype`` "
        "(default float32). Gradients are zero."
    )
    register(
        name, name[1:], infer_shape=same_shapes_among(*d.arrays), infer_type=_infer_sample_type
    )(with_signature(sample, name, doc, d.arrays, attrs, random=True))


def _infer_sample_type(t: TypeFacts, p: Params) -> None:
    t.same(*(n for n in t if not n.startswith("out")))
    _typed(t, p)


for _stem, _distribution in DISTRIBUTIONS.items():
    _register_samplers(_stem, _distribution)


@register(
    "_random_randint",
    "random_randint",
    infer_type=lambda t, p: t.set("out0", p.dtype or "int32"),
    open_shape=SHAPE_ATTRIBUTE,
    checks_values=lambda p: p.low >= p.high,
)
def randint(
    *,
    low: int,
    high: int,
    shape: Shape | None = None,
    ctx: Tuning[str] = "",
    dtype: Literal["int32", "int64"] | None = None,
    key: Key,
) -> Array:
    """Draws uniformly distributed integers in [low, high).

    The result has ``shape`` (sizes of 0 follow from the operators that use it) and ``dtype``
    (default int32). ``ctx`` has no effect. Reading a result raises MXNetError unless low < high
    (for low = high MXNet ends the process).
    """
    shape, dtype = (1,) if shape is None else shape, dtype or "int32"
    if low >= high:
        return _refused("_random_randint", f"low={low} is not below high={high}", shape, dtype)
    return jax.random.randint(key, shape, low, high, dtype)


@register(
    "_sample_multinomial",
    "sample_multinomial",
    outputs=lambda p: ("output0", "output1") if p.get_prob else ("output",),
    infer_type=same_dtype_among("data", "out1", out0="dtype"),
)
def sample_multinomial(
    data: Array,
    *,
    shape: Shape = (),
    get_prob: bool = False,
    dtype: Literal["uint8", "int32", "float16", "float32", "float64"] = "int32",
    key: Key,
) -> Array | tuple[Array, Array]:
    """Draws indices with the probabilities in data's last axis.

    data (..., K), each row summing to 1, gives ``dtype`` of shape (..., ``shape``); a single row
    gives shape (1,) by default. ``get_prob`` adds the logarithms of the drawn probabilities, in
    data's dtype and the same shape, through which data gets its gradient (1 / probability where
    an index was drawn).
    """
    rows = data.shape[:-1]
    sample_shape = (*rows, *shape) or (1,)
    logits = jnp.log(lax.stop_gradient(data).astype(sampling_dtype(data.dtype)))
    count = (1,) * (len(sample_shape) - len(rows))
    logits = logits.reshape(*rows, *count, data.shape[-1])
    drawn = jax.random.categorical(key, logits, shape=sample_shape)
    if not get_prob:
        return drawn.astype(dtype)
    probability = jnp.take_along_axis(data, drawn.reshape(*rows, -1), -1).reshape(sample_shape)
    return drawn.astype(dtype), jnp.log(probability)


@register("_shuffle", "shuffle", infer_shape=same_shapes)
def shuffle(data: Array, *, key: Key) -> Array:
    """Returns data (N, ...) with its N rows in random order.

    The gradient follows the rows (MXNet refuses to compute one).
    """
    return jax.random.permutation(key, data, axis=0)


@register(
    "_sample_unique_zipfian", outputs=("output0", "output1"), infer_type=output_dtype("int64")
)
def sample_unique_zipfian(*, range_max: int, shape: Shape | None = None, key: Key):
    """Draws rows of different integers in [0, range_max), small ones more likely; counts the draws.

    Integer k is drawn with probability log((k + 2) / (k + 1)) / log(range_max + 1), and drawn again
    if the row has it already. ``shape`` is (rows, numbers), numbers at most range_max. Returns
    int64 (rows, numbers) and the number of draws of each row, int64 (rows,).
    """
    if shape is None or len(shape) != 2 or shape[1] > range_max:
        expected = f"(rows, numbers) with up to range_max={range_max} numbers"
        raise AttributeValueError(f"shape={shape}, expected {expected}")
    rows, numbers = shape

    def draw(state: Operands) -> Operands:
        key, numbers_drawn, count, tries = state
        key, draw_key = jax.random.split(key)
        power = jax.random.uniform(draw_key, (), jnp.float64) * jnp.log(range_max + 1.0)
        number = jnp.clip(jnp.exp(power).astype(jnp.int64) - 1, 0, range_max - 1)
        new = jnp.all(numbers_drawn != number)
        return key, numbers_drawn.at[count].set(jnp.where(new, number, -1)), count + new, tries + 1

    def row(key: object) -> tuple[Array, Array]:
        zero = jnp.zeros((), jnp.int64)
        init = key, jnp.full(numbers, -1, jnp.int64), zero, zero
        _, numbers_drawn, _, tries = lax.while_loop(lambda state: state[2] < numbers, draw, init)
        return numbers_drawn, tries

    # Row by row: a batch of loops could not be part of a program with checks.
    return lax.map(row, jax.random.split(key, rows))
