"""Checks, sums of squares and zeroing of whole lists of arrays, for mixed precision training."""

from functools import reduce

import jax
import jax.numpy as jnp
from jax import Array

from ...errors import AttributeValueError
from ..schema.inference import Params, output_dtype
from ..schema.operator_registry import register
from ..schema.traits import MUTATES


def _all_finite(op: str, arrays: tuple[Array, ...], init_output: bool) -> Array:
    if not init_output:
        problem = "init_output=False is not served: results do not depend on what was in out"
        raise AttributeValueError(op, problem, hint="multiply the results of several calls")
    flags = [jnp.all(jnp.isfinite(x)) for x in arrays]
    return reduce(jnp.logical_and, flags).astype("float32").reshape(1)


@register("all_finite", infer_type=output_dtype("float32"))
def all_finite(data: Array, *, init_output: bool = True):
    """Returns 1 if every element of data is finite, else 0: float32 of shape (1,).

    data has any shape and a floating dtype; it gets zero gradient. ``init_output=False``, with
    which MXNet multiplies the result into the contents of ``out``, is refused.
    """
    return _all_finite("all_finite", (data,), init_output)


def _multi_tensor_inputs(p: Params) -> tuple[str, ...]:
    return tuple(f"array_{i}" for i in range(p.num_arrays))


@register("multi_all_finite", inputs=_multi_tensor_inputs, infer_type=output_dtype("float32"))
def multi_all_finite(*data: Array, num_arrays: int = 1, init_output: bool = True):
    """Returns 1 if every element of all ``num_arrays`` arrays is finite, else 0: float32 (1,).

    data have any shapes and floating dtypes; they get zero gradients. ``init_output=False`` is
    refused, see ``all_finite``.
    """
    return _all_finite("multi_all_finite", data, init_output)


@register("multi_sum_sq", inputs=_multi_tensor_inputs, infer_type=output_dtype("float32"))
def multi_sum_sq(*data: Array, num_arrays: int):
    """Returns the sum of squares of each of ``num_arrays`` arrays: float32 of shape (num_arrays,).

    data have any shapes and one floating dtype; squares are added in float32. They get zero
    gradients (MXNet has none).
    """
    wide = [jax.lax.stop_gradient(x).astype("float32") for x in data]
    return jnp.stack([jnp.sum(jnp.square(x)) for x in wide])


@register(
    "reset_arrays",
    traits={MUTATES},
    inputs=_multi_tensor_inputs,
    outputs=(),
    aux=_multi_tensor_inputs,
    infer_type=lambda t, p: None,
)
def reset_arrays(*data: Array, num_arrays: int):
    """Fills ``num_arrays`` arrays of any shapes and dtypes with zeros, in place.

    Returns an empty list. For arrays only; not part of graphs.
    """
    return tuple(jnp.zeros_like(x) for x in data)
