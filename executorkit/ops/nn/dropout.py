"""Dropout, with one draw of 32 bits per element."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Key, Shape, Train, Tuning
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA


def _infer_shape(s: ShapeFacts, p: Params) -> None:
    if not 0 <= p.p <= 1:
        raise AttributeValueError(f"p={p.p}, expected a probability between 0 and 1")
    s.same("data", "out0")
    data = s["data"]
    if data is not None and p.axes and not 0 <= min(p.axes) <= max(p.axes) < len(data):
        raise ShapeError(f"axes={p.axes}, expected 0 to {len(data) - 1}", f"data is {data}")


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    (data,) = shapes
    return data, tuple([1 if i in p.axes else n for i, n in enumerate(data)])


@register(
    "Dropout",
    outputs=("output", "mask"),
    visible=1,
    infer_shape=_infer_shape,
    output_shapes=_output_shapes,
    uses_rng=lambda p, train: p.p > 0 and (train or p.mode == "always"),
    traits={NAMED_DATA},
    kind="act",
)
def dropout(
    data: Array,
    *,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Shape = (),
    cudnn_off: Tuning[bool | None] = False,
    key: Key,
    train: Train = False,
):
    """Sets elements of data to 0 with probability p and multiplies the others by 1 / (1 - p).

    data of any shape and floating dtype; so is the result. Without ``mode="always"``, inference
    returns data. All elements along each of ``axes`` share one draw. The hidden second output,
    mask, has size 1 on ``axes`` and holds the factors. With p=1 everything becomes NaN, as in
    MXNet: 0 times 1 / 0.
    """
    shape = tuple(1 if i in axes else n for i, n in enumerate(data.shape))
    if not (train or mode == "always") or p == 0:
        return data, jnp.ones(shape, data.dtype)
    if p == 1:
        mask = jnp.full(shape, jnp.nan, data.dtype)
    else:
        limit = np.uint32(min(round((1 - p) * 2**32), 2**32 - 1))
        kept = jax.random.bits(key, shape, "uint32") < limit
        mask = jnp.where(kept, 1 / (1 - p), 0).astype(data.dtype)
    return data * mask, mask
