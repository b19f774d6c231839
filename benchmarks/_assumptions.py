"""Choices of form that depend on the platform, and the other form of each, to be timed on a device.

On CPUs convolutions run channels last, small kernels by Winograd's algorithm, gradients and groups
by algorithms of their own, loops of cells are unrolled. For accelerators the plain forms are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from executorkit.ops.nn.conv_kernels.conv_dims import ConvDims
from executorkit.ops.nn.conv_kernels.dispatch import cpu_kernels, xla_conv
from executorkit.ops.nn.conv_kernels.winograd import Winograd

Shape = tuple[int, ...]


class Assumption(NamedTuple):
    """Two forms of the same work, each with its arrays: ``(function, arrays)``."""

    name: str
    plain: tuple[Callable[..., Any], list[jax.Array]]
    cpu: tuple[Callable[..., Any], list[jax.Array]]


def _random(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.RandomState(0).standard_normal(shape), jnp.float32)


def _dims(pad: int, groups: int = 1, layout: str = "NHWC") -> ConvDims:
    return ConvDims((1, 1), (pad, pad), (1, 1), groups, layout)


def _gradients(data: Shape, weight: Shape, dims: ConvDims) -> tuple[Callable, Callable]:
    """XLA's gradients ``(g, weight)`` and ``(data, g)``."""

    def input_grad(g: jax.Array, w: jax.Array) -> jax.Array:
        (grad,) = jax.linear_transpose(
            lambda x: xla_conv(x, w, dims), jax.ShapeDtypeStruct(data, g.dtype)
        )(g)
        return grad

    def weight_grad(x: jax.Array, g: jax.Array) -> jax.Array:
        (grad,) = jax.linear_transpose(
            lambda w: xla_conv(x, w, dims), jax.ShapeDtypeStruct(weight, g.dtype)
        )(g)
        return grad

    return input_grad, weight_grad


def _of_kernels(
    name: str, data: Shape, weight: Shape, dims: ConvDims, rows: tuple[int, ...] = ()
) -> Iterator[Assumption]:
    """The forms that CPUs have for a convolution, forward and both gradients, where they differ."""
    x, w = _random(*data), _random(*weight)
    kernels = cpu_kernels(data, weight, dims, Winograd(rows))
    g = _random(*jax.eval_shape(partial(xla_conv, dims=dims), x, w).shape)
    forward, input_grad, weight_grad = kernels
    plain_input_grad, plain_weight_grad = _gradients(data, weight, dims)
    if forward:
        plain = partial(xla_conv, dims=dims)
        yield Assumption(f"{name}, forward", (plain, [x, w]), (forward, [x, w]))
    if input_grad:
        cpu = partial(_with_shape, input_grad, data)
        yield Assumption(f"{name}, input gradient", (plain_input_grad, [g, w]), (cpu, [g, w]))
    if weight_grad:
        cpu = partial(_with_shape, weight_grad, weight)
        yield Assumption(f"{name}, weight gradient", (plain_weight_grad, [x, g]), (cpu, [x, g]))


def _with_shape(kernel: Callable[..., Any], shape: Shape, a: jax.Array, b: jax.Array) -> jax.Array:
    return kernel(a, b, shape)


def _channels_last(batch: int, channels: int, size: int) -> Assumption:
    first, last = _dims(1, layout="NCHW"), _dims(1)
    x, w = _random(batch, channels, size, size), _random(channels, channels, 3, 3)
    forms = [
        (partial(xla_conv, dims=dims), [jnp.transpose(a, axes) for a in (x, w)])
        for dims, axes in ((first, (0, 1, 2, 3)), (last, (0, 2, 3, 1)))
    ]
    return Assumption("channels last instead of first", *forms)


def _unrolled(rows: int, hidden: int, steps: int) -> Assumption:
    weight, xs = _random(hidden, hidden) / hidden, _random(steps, rows, hidden)

    def run(unroll: int, weight: jax.Array, xs: jax.Array) -> jax.Array:
        def cell(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(x + h @ weight)
            return h, h

        return lax.scan(cell, xs[0], xs, unroll=unroll)[1]

    arrays = [weight, xs]
    return Assumption(
        "two steps of a loop per iteration", (partial(run, 1), arrays), (partial(run, 2), arrays)
    )


def assumptions(small: bool) -> Iterator[Assumption]:
    """All pairs of forms, at the sizes of a ResNet (``small``: of a test)."""
    batch, size = (1, 14) if small else (32, 56)
    yield _channels_last(batch, 64, size)
    for rows in (2, 4):
        name = f"3 x 3 by Winograd's F({rows})"
        yield from (
            a
            for a in _of_kernels(name, (batch, size, size, 64), (64, 3, 3, 64), _dims(1), (rows,))
            if not a.name.endswith("weight gradient")
        )
    names = "depthwise as shifted products", "a convolution per group"
    for name, groups in zip(names, (64, 4), strict=True):
        weight = (64, 3, 3, 64 // groups)
        if groups == 4:
            data, weight, layout = (batch, 64, size, size), (64, 16, 3, 3), "NCHW"
        else:
            data, layout = (batch, size, size, 64), "NHWC"
        yield from _of_kernels(name, data, weight, _dims(1, groups, layout))
    data = batch, size, size, 64
    (*_, weight_grad) = [None, *_of_kernels("3 x 3", data, (64, 3, 3, 64), _dims(1))]
    if weight_grad and weight_grad.name.endswith("weight gradient"):
        yield weight_grad._replace(name="3 x 3, weight gradient by tiles")
    yield _unrolled(32, 200, 10 if small else 60)
