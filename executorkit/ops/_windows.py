"""Sums and maxima over windows of an array, with the gradients that pooling needs."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._attrs import Shape
from ._derivative import with_jvp


def reduce_windows(
    x: jax.Array, maximum: bool, axes: Shape, kernel: Shape, stride: Shape, pads: Sequence[Shape]
) -> jax.Array:
    """Maximum or sum over windows of the named axes; only windows that fit count."""
    sizes, steps, padding = [1] * x.ndim, [1] * x.ndim, [(0, 0)] * x.ndim
    for axis, k, s, (low, high) in zip(axes, kernel, stride, pads, strict=True):
        sizes[axis], steps[axis], padding[axis] = k, s, (low, high)
    if not maximum:
        return lax.reduce_window(x, np.zeros((), x.dtype), lax.add, sizes, steps, padding)
    floating = jnp.issubdtype(x.dtype, jnp.floating)
    lowest = np.asarray(-np.inf if floating else jnp.iinfo(x.dtype).min, x.dtype)
    return lax.reduce_window(x, lowest, lax.max, sizes, steps, padding)


def _routed(
    t: jax.Array, out: jax.Array, x: jax.Array, axes: Shape, kernel: Shape, stride: Shape,
    first_only: bool,
) -> jax.Array:  # fmt: skip
    """Sum of the entries of ``t`` at each window's maximum: at its first one, or at all of them."""
    total, taken = jnp.zeros_like(out), jnp.zeros(out.shape, bool)
    for offset in np.ndindex(*kernel):
        start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for axis, o, s in zip(axes, offset, stride, strict=True):
            start[axis], stop[axis], step[axis] = o, o + (out.shape[axis] - 1) * s + 1, s
        hit = lax.slice(x, start, stop, step) == out
        if first_only:
            hit, taken = hit & ~taken, taken | hit
        total += jnp.where(hit, lax.slice(t, start, stop, step), 0)
    return total


def window_maximum(
    x: jax.Array, axes: Shape, kernel: Shape, stride: Shape, first_only: bool
) -> jax.Array:
    """Maximum over windows, the gradient of which goes to the first maximum or to all of them.

    The gradient is written out window place by window place: on CPUs XLA's own (select and scatter)
    takes three to ten times as long. It keeps only the data and the result.
    """

    def fwd(x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        out = reduce_windows(x, True, axes, kernel, stride, [(0, 0)] * len(axes))
        return out, (x, out)

    def bwd(residuals: tuple[jax.Array, jax.Array], head: jax.Array) -> tuple[jax.Array]:
        x, out = residuals
        route = jax.linear_transpose(
            lambda t: _routed(t, out, x, axes, kernel, stride, first_only), x
        )
        return tuple(route(head))

    maximum = jax.custom_vjp(lambda x: fwd(x)[0])
    maximum.defvjp(fwd, bwd)
    return maximum(x)


def pad_axes(x: jax.Array, value: float, axes: Shape, pads: Sequence[Shape]) -> jax.Array:
    if not any(map(any, pads)):
        return x
    config = [(0, 0, 0)] * x.ndim
    for axis, (low, high) in zip(axes, pads, strict=True):
        config[axis] = (low, high, 0)
    return lax.pad(x, np.asarray(value, x.dtype), config)


def global_maximum(data: jax.Array, axes: Shape) -> jax.Array:
    """The maximum over whole axes, as axes of size 1; its first place gets the gradient."""

    def first_only(t: jax.Array, out: jax.Array, x: jax.Array) -> jax.Array:
        place = jnp.zeros(out.shape, "int32")
        for axis in axes:
            place = place * x.shape[axis] + lax.broadcasted_iota("int32", x.shape, axis)
        first = jnp.min(jnp.where(x == out, place, jnp.iinfo("int32").max), axes, keepdims=True)
        return jnp.sum(jnp.where(place == first, t, 0), axes, keepdims=True)

    return with_jvp(lambda x: jnp.max(x, axes, keepdims=True), first_only)(data)
