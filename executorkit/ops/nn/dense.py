"""Fully connected layers."""

import math

from jax import Array, lax

from ..schema.attrs import Count, Shape
from ..schema.inference import Params, ShapeFacts, is_fully_known
from ..schema.operator_registry import register
from ..schema.traits import FILTERS_FIRST, MATMUL, SHARED_PRODUCT, TRANSPOSED_WEIGHT


def infer_dense_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("bias", (p.num_hidden,), because=f"num_hidden={p.num_hidden}")
    features = 0
    if data is not None:
        sizes = data[1:] if p.flatten else data[-1:]
        features = math.prod(sizes) if is_fully_known(sizes) else 0
    because = f"num_hidden={p.num_hidden} and data is {data}"
    because += f", flattened to {features}" if p.flatten else ""
    s.set("weight", (p.num_hidden, features), because)
    weight = s["weight"]
    if data is not None and weight is not None and (not p.flatten or len(data) == 2):
        s.set("data", (*data[:-1], weight[1]))
        data = s["data"]
    out = s["out0"]
    if data is not None and out is not None:
        s.set("data", (out[0], *data[1:]) if p.flatten else (*out[:-1], data[-1]))


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    data, weight = shapes[:2]
    rows, features = (data[:1], math.prod(data[1:])) if p.flatten else (data[:-1], data[-1])
    return ((*rows, p.num_hidden),) if weight == (p.num_hidden, features) else None


@register(
    "FullyConnected",
    inputs=lambda p: ("data", "weight") if p.no_bias else ("data", "weight", "bias"),
    infer_shape=infer_dense_shape,
    output_shapes=_output_shapes,
    traits={MATMUL, SHARED_PRODUCT, TRANSPOSED_WEIGHT, FILTERS_FIRST},
    kind="dense",
)
def fully_connected(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    num_hidden: Count,
    no_bias: bool = False,
    flatten: bool = True,
):
    """Computes the affine map ``y = x W^T + b``.

    data (N, ...) is flattened to (N, K), or with ``flatten=False`` (..., K) keeps its leading
    axes; weight (num_hidden, K); bias (num_hidden,), absent with ``no_bias``. Returns
    (N, num_hidden) or (..., num_hidden), in the dtype of data (floating).
    """
    if flatten and data.ndim != 2:
        data = data.reshape(data.shape[0], -1)
    out = lax.dot_general(data, weight, (((data.ndim - 1,), (1,)), ((), ())))
    if bias is None:
        return out
    if bias.dtype != out.dtype:
        return out + bias
    # JAX traces this in a third of the time that ``+`` takes.
    return lax.add(out, lax.broadcast_in_dim(bias, out.shape, (out.ndim - 1,)))
