"""Random numbers: pure functions of a key.

Every distribution comes in three forms. ``_random_X`` draws an array of a given shape,
``_random_X_like`` one like another array, ``_sample_X`` one block per element of its parameter
arrays. Numbers follow MXNet's distributions, not its generator: the same seed gives other numbers.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import Key, Shape, Tuning
from ._distributions import DISTRIBUTIONS, Distribution, wide
from ._facts import Params, ShapeFacts, TypeFacts
from ._registry import register
from ._rules import same_shapes
from ._signature import with_signature

FloatType = Literal["float16", "float32", "float64"] | None


def _draw(
    d: Distribution, key: Any, shape: Shape, dtype: Any, values: tuple[Any, ...]
) -> jax.Array:
    kind = wide(dtype)
    numbers = [jnp.asarray(v, kind) for v in values]
    return lax.stop_gradient(d.draw(key, shape, kind, *numbers).astype(dtype))


def _typed(t: TypeFacts, p: Params) -> None:
    t.set("out0", p.dtype or "float32")


def _register_samplers(stem: str, d: Distribution) -> None:
    shaped = {
        **d.scalars,
        "shape": (Shape | None, None),
        "ctx": (Tuning[str], ""),
        "dtype": (FloatType, None),
    }

    def of_shape(_: tuple[Any, ...], attrs: dict[str, Any], key: Any) -> jax.Array:
        values = tuple(attrs[n] for n in d.scalars)
        return _draw(d, key, attrs["shape"] or (1,), attrs["dtype"] or "float32", values)

    def like(arrays: tuple[Any, ...], attrs: dict[str, Any], key: Any) -> jax.Array:
        (data,) = arrays
        return _draw(d, key, data.shape, data.dtype, tuple(attrs[n] for n in d.scalars))

    def sample(arrays: tuple[Any, ...], attrs: dict[str, Any], key: Any) -> jax.Array:
        shape = attrs["shape"]
        values = tuple(a.reshape(*a.shape, *(1 for _ in shape)) for a in arrays)
        return _draw(d, key, (*arrays[0].shape, *shape), attrs["dtype"] or "float32", values)

    words = d.words.format(*d.scalars)
    register(f"_random_{stem}", f"random_{stem}", *d.aliases, types=_typed, shape_attr="shape")(
        with_signature(
            of_shape,
            f"_random_{stem}",
            f"{words}.\n\nThe result has ``shape``, of which sizes that are 0 are taken from the "
            "operators that use it, and ``dtype`` (default float32). ``ctx`` is accepted and has "
            "no effect.",
            (),
            shaped,
            random=True,
        )
    )
    register(f"_random_{stem}_like", infer_shape=same_shapes)(
        with_signature(
            like,
            f"_random_{stem}_like",
            f"{words}.\n\nThe result has the shape and dtype of data, which gets zero gradient.",
            ("data",),
            dict(d.scalars),
            random=True,
        )
    )
    register(
        f"_sample_{stem}", f"sample_{stem}", infer_shape=_same_parameters, types=_infer_sample_type
    )(
        with_signature(
            sample,
            f"_sample_{stem}",
            f"{d.words.format(*d.arrays)}.\n\n{' and '.join(d.arrays)} have one shape (s), the "
            "result (s, ``shape``): a block of numbers for each element. Its dtype is ``dtype`` "
            "(default float32). Gradients are zero.",
            d.arrays,
            {"shape": (Shape, ()), "dtype": (FloatType, None)},
            random=True,
        )
    )


def _same_parameters(s: ShapeFacts, p: Params) -> None:
    s.same(*(n for n in s if not n.startswith("out")))


def _infer_sample_type(t: TypeFacts, p: Params) -> None:
    t.same(*(n for n in t if not n.startswith("out")))
    t.set("out0", p.dtype or "float32")


for _stem, _distribution in DISTRIBUTIONS.items():
    _register_samplers(_stem, _distribution)


def _infer_randint_type(t: TypeFacts, p: Params) -> None:
    t.set("out0", p.dtype or "int32")


@register("_random_randint", "random_randint", types=_infer_randint_type, shape_attr="shape")
def randint(
    *,
    low: int,
    high: int,
    shape: Shape | None = None,
    ctx: Tuning[str] = "",
    dtype: Literal["int32", "int64"] | None = None,
    key: Key,
) -> jax.Array:
    """Uniformly distributed integers in [low, high).

    The result has ``shape``, of which sizes that are 0 are taken from the operators that use it,
    and ``dtype`` (default int32). ``ctx`` is accepted and has no effect.
    """
    return jax.random.randint(key, shape or (1,), low, high, dtype or "int32")
