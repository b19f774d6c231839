"""Correlation of two images: similarity of their patches over a range of displacements."""

import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..nn.windows import reduce_windows
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from ..tensor.derivatives import with_jvp


def _sign_of_difference(difference: Array) -> Array:
    return jnp.where(difference >= 0, 1, -1).astype(difference.dtype)


#: ``|x - y|``, with the derivative of x > y where both are equal.
_distance = with_jvp(
    lambda x, y: jnp.abs(x - y),
    lambda t, out, x, y: t * _sign_of_difference(x - y),
    lambda t, out, x, y: -t * _sign_of_difference(x - y),
)


def _infer_correlation_shape(s: ShapeFacts, p: Params) -> None:
    s.set("data1", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.same("data1", "data2")


@register(
    "Correlation",
    outputs=("output", "tmp1", "tmp2"),
    visible=1,
    infer_shape=_infer_correlation_shape,
    kind="dense",
)
def correlation(
    data1: Array,
    data2: Array,
    *,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
):
    """Computes the mean product of the patches of two images, for every position and displacement.

    data1, data2 (N, C, H, W), floating, both padded by ``pad_size`` zeros. For a patch of data1
    (C, k, k), k = ``kernel_size`` (odd), at every ``stride1``-th position, and each of D x D
    displacements of data2 (multiples of ``stride2`` up to ``max_displacement`` each way, y before
    x), the mean of the products, or with ``is_multiply=False`` of the absolute differences. Returns
    (N, D * D, H', W') over the positions from which no displacement leaves the padded image; hidden
    outputs are the padded images, channels last. Dosovitskiy et al., FlowNet, 2015.
    """
    radius = (kernel_size - 1) // 2
    reach = max_displacement // stride2
    side = 2 * reach + 1
    border = ((0, 0), (pad_size, pad_size), (pad_size, pad_size), (0, 0))
    first, second = (jnp.pad(jnp.moveaxis(x, 1, 3), border) for x in (data1, data2))
    channels, size = first.shape[3], first.shape[1:3]
    out_size = [-(-(n - 2 * (max_displacement + radius)) // stride1) for n in size]
    if min(out_size) < 1:
        raise ShapeError(
            f"the padded image is {size}, too small for max_displacement={max_displacement} "
            f"and kernel_size={kernel_size}"
        )
    # Extent of the patches: the last one may end within the border on the far side.
    extent = [(n - 1) * stride1 + kernel_size for n in out_size]
    spare = max_displacement - reach * stride2
    start = max_displacement
    missing = [max(start + e + reach * stride2 - n, 0) for e, n in zip(extent, size, strict=True)]
    edges = ((0, 0), *((0, m) for m in missing), (0, 0))
    patch = jnp.pad(first, edges)[:, start : start + extent[0], start : start + extent[1]]
    window = jnp.pad(second, edges)

    def compare(patch: Array, window: Array) -> Array:
        if is_multiply:  # a product of matrices: on CPUs a sum of products takes ten times as long
            return jnp.einsum("nyxc,nyxc->nyx", patch, window)
        return jnp.sum(_distance(patch, window), axis=3)

    def at(displacement: Array) -> Array:
        y, x = displacement // side * stride2 + spare, displacement % side * stride2 + spare
        zero = jnp.zeros((), jnp.int32)
        alike = compare(patch, lax.dynamic_slice(window, (zero, y, x, zero), patch.shape))
        kernel, stride = (kernel_size,) * 2, (stride1,) * 2
        return reduce_windows(alike, False, (1, 2), kernel, stride, [(0, 0)] * 2)

    out = lax.map(at, jnp.arange(side * side, dtype=jnp.int32))
    out = jnp.moveaxis(out, 0, 1) / (kernel_size**2 * channels)
    return out, first, second
