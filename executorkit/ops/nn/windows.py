"""Maxima and sums over windows, and their gradients.

XLA's CPU backend reduces windows element by element. A few shifted slices of the data, combined,
are one loop over whole vectors instead, with the same results. Maxima of windows that do not
overlap stay XLA's: the loop takes in the function that makes the data, such as a tanh, and computes
it number by number (LeNet's inference took 1.36 ms for 1.17). Measured on one core, channels last,
milliseconds:

| windows                    | data               | XLA's | slices | gradient, XLA's | blocks |
| -------------------------- | ------------------ | ----- | ------ | --------------- | ------ |
| sums, 3 x 3                | 4 x 35 x 35 x 288  | 2.9   | 0.4    | 3.0             | 0.4    |
| maxima, 3 x 3, stride 2    | 4 x 147 x 147 x 64 | 9.0   | 1.2    |                 | 4.1    |
| the same                   | 4 x 71 x 71 x 192  | 7.8   | 0.5    |                 | 2.7    |
| maxima, 2 x 2, stride 2    | 32 x 24 x 24 x 20  | 0.1   | 0.1    |                 | 0.13   |
| maxima, channels first, 3 x 3, stride 2 | 4 x 64 x 147 x 147 | 24 | 1.0 |    |        |
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._support.annotations import Arrays, Tree
from ..schema.attrs import Shape
from ..tensor.derivatives import with_jvp
from ..tensor.reverse_rules import linear_with_transpose, with_vjp
from ..tracing import at_least, for_platform, is_known, varying_struct

#: Maximum number of elements of a window that is written out.
_MAX_WRITTEN_OUT = 32


def can_write_out(kernel: Shape) -> bool:
    return is_known(*kernel) and math.prod(kernel) <= _MAX_WRITTEN_OUT


class WindowGrid(NamedTuple):
    """Windows of the size ``kernel`` at each ``stride`` along some axes of unpadded data."""

    axes: Shape
    kernel: Shape
    stride: Shape

    def counts(self, shape: Shape) -> Shape:
        axes = zip(self.axes, self.kernel, self.stride, strict=True)
        return tuple((shape[a] - k) // s + 1 for a, k, s in axes)

    def certain(self, shape: Shape) -> bool:
        """Tells whether there are windows, whatever the values of symbolic sizes."""
        try:
            return all(n >= 1 for n in self.counts(shape))
        except jax.errors.InconclusiveDimensionOperation:
            return False

    def slices(self, x: Array) -> Tree:
        counts = self.counts(x.shape)
        for offset in np.ndindex(*self.kernel):
            start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
            for a, o, n, s in zip(self.axes, offset, counts, self.stride, strict=True):
                start[a], stop[a], step[a] = o, o + (n - 1) * s + 1, s
            yield lax.slice(x, start, stop, step)


def _combine(x: Array, maximum: bool, windows: WindowGrid) -> Array:
    first, *others = windows.slices(x)
    for part in others:
        first = lax.max(first, part) if maximum else first + part
    return first


def _reduce_windows(x: Array, maximum: bool, windows: WindowGrid) -> Array:
    sizes, steps = [1] * x.ndim, [1] * x.ndim
    for axis, k, s in zip(*windows, strict=True):
        sizes[axis], steps[axis] = k, s
    padding = [(0, 0)] * x.ndim
    if not maximum:
        return lax.reduce_window(x, np.zeros((), x.dtype), lax.add, sizes, steps, padding)
    return lax.reduce_window(x, _lowest(x.dtype), lax.max, sizes, steps, padding)


def _lowest(dtype: Any) -> np.ndarray:
    floating = jnp.issubdtype(dtype, jnp.floating)
    return np.asarray(-np.inf if floating else jnp.iinfo(dtype).min, dtype)


def _spread(
    entries: Sequence[tuple[Array, Any]], shape: Shape, windows: WindowGrid,
    term: Callable[[Sequence[Array], np.ndarray], Array],
) -> Array:  # fmt: skip
    # Position ``b stride + o`` is in the windows ``b``, ``b - 1`` and so on, as far as the kernel
    # reaches: a fixed number of terms for each ``o``, none of them for the gaps of a stride.
    # ``entries`` are arrays with an entry per window, each with its value outside; ``term(entries,
    # element)`` is the contribution of windows to the positions that are their element of this
    # number, -2 for none.
    axes, kernel, stride = windows
    ndim = len(shape)
    blocks = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    sizes = [n + b - 1 for n, b in zip(windows.counts(shape), blocks, strict=True)]
    # Each axis of windows is followed by one of the offsets within a block.
    offset_axes = [a + 1 + sum(other < a for other in axes) for a in axes]
    margins = [(0, 0, 0)] * ndim
    for a, b in zip(axes, blocks, strict=True):
        margins[a] = (b - 1, b - 1, 0)
    padded = [_padded(x, outside, margins) for x, outside in entries]

    def terms() -> Any:
        for block in itertools.product(*map(range, blocks)):
            start, stop = [0] * ndim, list(padded[0].shape)
            for a, i, b, size in zip(axes, block, blocks, sizes, strict=True):
                start[a], stop[a] = b - 1 - i, b - 1 - i + size
            parts = padded if max(blocks) == 1 else [lax.slice(x, start, stop) for x in padded]
            parts = [lax.expand_dims(x, offset_axes) for x in parts]
            element = np.zeros((), np.int32)
            inside = np.ones((), bool)
            for i, k, s, axis in zip(block, kernel, stride, offset_axes, strict=True):
                along = np.arange(s, dtype=np.int32) + i * s
                along = along.reshape([-1 if n == axis else 1 for n in range(ndim + len(axes))])
                element, inside = element * k + along, inside & (along < k)
            yield term(parts, np.where(inside, element, np.int32(-2)))

    first, *others = terms()
    for other in others:
        first = first + other
    covered, edges = list(shape), [(0, 0, 0)] * ndim
    for a, size, s in zip(axes, sizes, stride, strict=True):
        covered[a] = size * s
        edges[a] = (0, shape[a] - covered[a], 0)
    return _padded(first.reshape(covered), 0, edges)


def _padded(x: Array, outside: Any, edges: Sequence[tuple[Any, Any, int]]) -> Array:
    if not is_padded([edge[:2] for edge in edges]):
        return x
    return lax.pad(x, np.asarray(outside, x.dtype), edges)


def _add_to_windows(g: Array, shape: Shape, windows: WindowGrid) -> Array:
    # The transpose of sums over windows of data of this shape: each position's sum of the entries
    # of the windows that contain it.
    def term(parts: Sequence[Array], element: np.ndarray) -> Array:
        if (element >= 0).all():
            return jnp.broadcast_to(parts[0], jnp.broadcast_shapes(parts[0].shape, element.shape))
        return jnp.where(element >= 0, parts[0], np.zeros((), g.dtype))

    return _spread([(g, 0)], shape, windows, term)


def _window_sums(x: Array, windows: WindowGrid) -> Array:
    # Written out, on CPUs with their gradient.
    shape = x.shape

    def cpu(x: Array) -> Array:
        return _combine(x, False, windows)

    def default(x: Array) -> Array:
        return _reduce_windows(x, False, windows)

    def by_xla(g: Array) -> Array:
        return jax.linear_transpose(default, varying_struct(shape, g.dtype, g))(g)[0]

    def transposed(g: Array) -> Array:
        return for_platform(g, cpu=lambda g: _add_to_windows(g, shape, windows), default=by_xla)

    def forward(x: Array) -> Array:
        return for_platform(x, cpu=cpu, default=default)

    if not windows.certain(shape):
        return default(x)  # JAX cannot pad slices of unknown sizes, which their gradient does
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return forward(x)
    return linear_with_transpose(forward, transposed)(x)


def is_padded(pads: Sequence[Shape]) -> bool:
    """Tells whether there is any padding; a symbolic size leaves open whether it is 0."""
    return any(not is_known(x) or x for pair in pads for x in pair)


def pad_axes(x: Array, value: object, axes: Shape, pads: Sequence[Shape]) -> Array:
    config = [(0, 0, 0)] * x.ndim
    for axis, (low, high) in zip(axes, pads, strict=True):
        config[axis] = (low, high, 0)
    return _padded(x, value, config)


def reduce_windows(
    x: Array, maximum: bool, axes: Shape, kernel: Shape, stride: Shape, pads: Sequence[Shape]
) -> Array:
    windows = WindowGrid(tuple(axes), tuple(kernel), tuple(stride))
    x = pad_axes(x, _lowest(x.dtype) if maximum else 0, axes, pads)
    if not can_write_out(kernel) or not all(
        at_least(n, 1, otherwise=True) for n in windows.counts(x.shape)
    ):
        return _reduce_windows(x, maximum, windows)
    if not maximum:
        return _window_sums(x, windows)
    if all(step >= size for step, size in zip(stride, kernel, strict=True)):
        return _reduce_windows(x, True, windows)
    return for_platform(
        x,
        cpu=lambda x: _combine(x, True, windows),
        default=lambda x: _reduce_windows(x, True, windows),
    )


def _places_of_maxima(x: Array, windows: WindowGrid) -> Array:
    # For each window the number of its first maximum among its positions; -1 if that is NaN.
    best, *others = windows.slices(x)
    place = lax.full_like(best, 0, np.int32)
    for number, part in enumerate(others, 1):
        place = lax.select(lax.gt(part, best), lax.full_like(place, number), place)
        best = lax.max(best, part)
    return lax.select(lax.ne(best, best), lax.full_like(place, -1), place)


def _at_places(t: Array, place: Array, windows: WindowGrid) -> Array:
    total = jnp.zeros(place.shape, t.dtype)
    for number, part in enumerate(windows.slices(t)):
        total += lax.select(place == np.int32(number), part, lax.full_like(part, 0))
    return total


def _at_maxima(t: Array, out: Array, x: Array, windows: WindowGrid) -> Array:
    total = jnp.zeros_like(out)
    for part, tangent in zip(windows.slices(x), windows.slices(t), strict=True):
        total += lax.select(part == out, tangent, lax.full_like(tangent, 0))
    return total


def window_maximum(x: Array, axes: Shape, kernel: Shape, stride: Shape, first_only: bool) -> Array:
    """Returns the maximum over windows; its gradient goes to the first maximum or to all of them.

    The gradient is a sum over the windows of a position, or over the offsets in a window: on CPUs
    XLA's own (select and scatter) takes three to ten times as long. The first maximum is found by
    its place: XLA may compute the data again for backward, rounded differently.
    """
    windows = WindowGrid(tuple(axes), tuple(kernel), tuple(stride))
    shape = x.shape

    def fn(x: Array) -> Array:
        return reduce_windows(x, True, axes, kernel, stride, [(0, 0)] * len(axes))

    if not first_only:
        return with_jvp(fn, lambda t, out, x: _at_maxima(t, out, x, windows))(x)

    def fwd(x: Array) -> tuple[Array, Array]:
        return fn(x), _places_of_maxima(x, windows)

    def by_offsets(head: Array, place: Array) -> Array:
        zeros = jax.ShapeDtypeStruct(shape, head.dtype)
        return jax.linear_transpose(lambda t: _at_places(t, place, windows), zeros)(head)[0]

    def by_places(head: Array, place: Array) -> Array:
        def term(parts: Sequence[Array], element: np.ndarray) -> Array:
            place, head = parts
            is_first = lax.eq(place, element)
            head = lax.broadcast_in_dim(head, is_first.shape, range(head.ndim))
            return lax.select(is_first, head, lax.full_like(head, 0))

        return _spread([(place, -1), (head, 0)], shape, windows, term)

    def bwd(place: Array, head: Array) -> tuple[Array]:
        if not windows.certain(shape):
            return (by_offsets(head, place),)
        return (for_platform(head, place, cpu=by_places, default=by_offsets),)

    def tangent(place: Array, tangents: Arrays) -> Array:
        return _at_places(tangents[0], place, windows)

    return with_vjp(fn, fwd, bwd, tangent)(x)
