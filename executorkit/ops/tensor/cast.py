"""Copies, gradient stops and conversions between dtypes."""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError
from ..schema.channels_last import layout_elementwise
from ..schema.inference import (
    Params,
    ShapeFacts,
    TypeFacts,
    output_dtype,
    same_shapes,
    shape_of_data,
)
from ..schema.operator_registry import register
from ..schema.traits import AMP_CAST, IDENTITY, STOPS_GRADIENT
from .binary_arithmetic import convert, is_floating

_AMP = ("float16", "bfloat16", "float32", "float64")
#: Types among which ``amp_multicast`` chooses, by width.
_WIDTH = {"float16": 16, "bfloat16": 15, "float32": 32}


@register(
    "_copy", "identity", infer_shape=same_shapes, output_shapes=shape_of_data,
    layout_rule=layout_elementwise, traits={IDENTITY},
)  # fmt: skip
def copy(data: Array) -> Array:
    """Returns data, of any shape and dtype."""
    return data


@register("_identity_with_attr_like_rhs", infer_shape=same_shapes)
def identity_with_attr_like_rhs(lhs: Array, rhs: Array) -> Array:
    """Returns lhs; rhs, of the same shape and dtype, informs inference and gets zero gradient."""
    return lhs


@register(
    "BlockGrad", "stop_gradient", infer_shape=same_shapes, output_shapes=shape_of_data, loss=True,
    traits={STOPS_GRADIENT},
)  # fmt: skip
def block_grad(data: Array) -> Array:
    """Returns data, of any shape and dtype; its gradient is zero."""
    return lax.stop_gradient(data)


@register("cast_storage", infer_shape=same_shapes)
def cast_storage(data: Array, *, stype: Literal["csr", "default", "row_sparse"]) -> Array:
    """Returns data, of any shape and dtype. Arrays are dense: a sparse ``stype`` is an error."""
    if stype != "default":
        problem = f"stype={stype!r} is sparse, expected 'default'"
        hint = "leave the operator out: dense arrays hold the same numbers"
        raise AttributeValueError("cast_storage", problem, hint=hint)
    return data


#: Maximum number of elements that NumPy converts: to float16 it takes five times as long.
_HOST_ELEMENTS, _HOST_HALVES = 1 << 21, 1 << 18


def _cast_on_host(data: np.ndarray, *, dtype: str) -> np.ndarray | None:
    # None for conversions that are not NumPy's own, and for many elements.
    usual = dtype.startswith("float") or (data.dtype.kind in "iu" and "int" in dtype)
    limit = _HOST_HALVES if dtype == "float16" else _HOST_ELEMENTS
    return data.astype(dtype) if usual and data.size <= limit else None


@register(
    "Cast",
    "cast",
    host=_cast_on_host,
    infer_shape=same_shapes,
    infer_type=output_dtype("dtype"),
    layout_rule=layout_elementwise,
    kind="shape",
)
def cast(
    data: Array,
    *,
    dtype: Literal[
        "float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "bfloat16"
    ],
) -> Array:
    """Converts data, of any shape and dtype, to ``dtype``.

    Floating numbers lose their fraction on the way to integers and wrap in uint8 and int8 (300
    gives 44, -1 gives 255); everything but 0 is True. The head gradient is converted to the dtype
    of data. An integer result has none in JAX, so data gets zero gradient; MXNet passes on the
    contents of the integer head gradient.
    """
    return convert(data, dtype)


def _infer_amp_cast_type(t: TypeFacts, p: Params) -> None:
    if t["data"] is not None:
        t.set("out0", p.dtype if t["data"] in _AMP else t["data"])


@register(
    "amp_cast",
    infer_shape=same_shapes,
    infer_type=_infer_amp_cast_type,
    layout_rule=layout_elementwise,
    traits={AMP_CAST},
)
def amp_cast(
    data: Array,
    *,
    dtype: Literal["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bfloat16"],
) -> Array:
    """Converts data, of any shape, to ``dtype`` if it is floating; otherwise returns it unchanged.

    Automatic mixed precision puts it in front of operators. float32 is rounded to integers, halves
    to even, and saturates them (300 gives 127 for int8; NaN is undefined); float16 becomes integers
    as in ``Cast``. The head gradient is converted back.
    """
    if data.dtype == jnp.float32 and jnp.issubdtype(dtype, jnp.integer):
        return jnp.round(data).astype(dtype)  # XLA's conversion saturates
    return convert(data, dtype) if is_floating(data) else data


def _common_dtype(dtypes: list[str | None], narrow: bool) -> str | None:
    floating = [d for d in dtypes if d in _WIDTH]  # float64 takes no part
    return (min if narrow else max)(floating, key=_WIDTH.__getitem__) if floating else None


def _infer_amp_multicast_type(t: TypeFacts, p: Params) -> None:
    dtypes = [t[f"data_{i}"] for i in range(p.num_outputs)]
    if None in dtypes:
        return
    common = _common_dtype(dtypes, p.cast_narrow)
    for i, dtype in enumerate(dtypes):
        t.set(f"out{i}", common if dtype in _WIDTH else dtype)


def _infer_amp_multicast_shape(s: ShapeFacts, p: Params) -> None:
    for i in range(p.num_outputs):
        s.same(f"data_{i}", f"out{i}")


@register(
    "amp_multicast",
    count="num_outputs",
    inputs=lambda p: tuple(f"data_{i}" for i in range(p.num_outputs)),
    outputs=lambda p: tuple(f"output{i}" for i in range(p.num_outputs)),
    infer_shape=_infer_amp_multicast_shape,
    infer_type=_infer_amp_multicast_type,
    traits={AMP_CAST},
)
def amp_multicast(*data: Array, num_outputs: int, cast_narrow: bool = False) -> tuple[Array, ...]:
    """Converts the float16 and float32 ones of ``num_outputs`` arrays of any shapes to one dtype.

    It is the wider, or with ``cast_narrow`` the narrower of their dtypes; other dtypes, float64
    too, stay. Head gradients are converted back.
    """
    common = _common_dtype([x.dtype.name for x in data], cast_narrow)
    chosen = _WIDTH if common else ()
    return tuple(x.astype(common) if x.dtype.name in chosen else jnp.asarray(x) for x in data)
