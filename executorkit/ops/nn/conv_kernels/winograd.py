"""Convolutions with kernels of three rows by Winograd's minimal filtering along the rows.

``F(m, 3)`` computes m rows of the result from m + 2 rows of the data by m + 2 products in place of
3 m. With matrices B, G and A that depend on m only (``transforms``), rows d of the data, rows g of
the kernel and rows y of the result::

    y = A^T [(G g) * (B^T d)]

where each of the m + 2 products is a convolution of one row of kernel elements, over all rows of
the data that have the same place in their block. F(4, 3) takes half of the multiplications, F(2, 3)
two thirds; both cost sums of rows. G g depends on the weight only.

Only the rows are transformed. Tiles of two axes save more multiplications (F(2x2, 3x3) takes 0.44
of them, F(4x4, 3x3) 0.25), but write four and two and a quarter times the data, in 16 and 36 small
products. Measured on two cores with AVX-512, relative to XLA's convolution with a weight in XLA's
order; inference, weights transformed before, float32:

| images | pixels | channels | XLA     | F(4, 3) | F(2, 3) | F(2x2, 3x3) | F(4x4, 3x3) |
| ------ | ------ | -------- | ------- | ------- | ------- | ----------- | ----------- |
| 1      | 56     | 64       | 0.59 ms | 0.74    | 0.91    | 1.05        | 0.92        |
| 1      | 28     | 128      | 0.53 ms | 0.64    | 0.82    | 0.95        | 0.77        |
| 1      | 14     | 256      | 0.60 ms | 0.76    | 0.83    | 0.76        | 1.23        |
| 1      | 7      | 512      | 0.91 ms | 0.52    | 0.70    | 0.60        | 0.75        |
| 4      | 56     | 64       | 2.58 ms | 0.65    | 0.79    | 0.86        | 0.91        |
| 4      | 14     | 256      | 2.10 ms | 0.70    | 0.76    | 0.61        | 1.42        |
| 1      | 224    | 64       | 10.8 ms | 0.70    | 0.87    | 3.2         | 1.2         |
| 1      | 112    | 32       | 0.68 ms | 0.93    | 1.20    | 1.24        |             |
| 1      | 32     | 32       | 0.08 ms | 0.98    | 1.24    | 1.33        |             |

The error grows with m and depends on the points that the matrices are made of. Largest error
relative to the largest result, normal data and weights, float32, 64 to 512 channels: XLA 4e-7 to
9e-7; F(2, 3) 4e-7 to 7e-7; F(4, 3) at the points 0, 3/4, -3/4, 3/2, -3/2 and infinity 9e-7 to
1.5e-6, at the usual 0, 1, -1, 2, -2 and infinity 2e-6 to 4e-6; F(4x4, 3x3) at the usual points 5e-6
to 1e-5. An infinite or NaN element makes all rows of its block NaN.

Source: A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308; for
the points B. Barabasz and others, Error Analysis and Improving the Accuracy of Winograd Convolution
for Deep Neural Networks, arXiv:1803.10986.

data (N, H, W, C), weight (F, 3, kernel width, C), result (N, H', W', F).
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial, reduce
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ....errors import ArgumentValueError
from ...schema.attrs import Shape
from ...tracing import is_known
from .composite_primitives import composite_primitive
from .conv_dims import ConvDims

#: Rows per block that each setting allows.
_ALLOWED_ROWS = {"exact": (), "F2": (2,), "F4": (4, 2)}
#: The settings of ``winograd``.
WINOGRAD_SETTINGS = ("auto", *_ALLOWED_ROWS)
#: The setting where nothing else is said: its error stays under 2e-6.
_DEFAULT = "auto"
_VARIABLE = "EXECUTORKIT_WINOGRAD"
#: The finite points of each algorithm, by rows per block.
_POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
#: Maximum number of filters times channels of a weight that is read in the convolution's order for
#: each of the sums. With 512 of both that takes 5 ms, in the other order and turned afterwards 2
#: ms, but there are twice as many loops to compile.
_MAX_DIRECT = 128 * 128
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Costs(NamedTuple):
    """The cost of the transformations, in multiplications of a convolution (5e-12 s each on two
    cores). ``prepared_call`` and ``call`` are per convolution, with the weight transformed before
    or not: the loops take 40 ms to compile, or 100 ms with the weight's, which a few hundred or a
    thousand calls should save. ``element`` is per element that a sum of rows reads or writes.
    ``weight`` is per element of the transformed weight, beyond XLA's own transposition;
    ``gradient_weight`` is the same for the input gradient, whose weight is in a better order."""

    prepared_call: float = 8e6
    call: float = 6e7
    element: float = 30
    weight: float = 110
    gradient_weight: float = 50


class Winograd(NamedTuple):
    """The choice of algorithms of a convolution; hashable: the allowed numbers of rows per block,
    and whether expressions of the weight alone are computed before."""

    rows: tuple[int, ...] = ()
    prepared: bool = False


_costs = Costs()
_setting: ContextVar[str | None] = ContextVar("executorkit_winograd", default=None)
_prepared: ContextVar[bool] = ContextVar("executorkit_prepared_weights", default=False)


def winograd_default() -> str:
    """Returns the setting of the environment variable ``EXECUTORKIT_WINOGRAD``, or the default."""
    setting = os.environ.get(_VARIABLE) or _DEFAULT
    if setting not in WINOGRAD_SETTINGS:
        problem = f"{setting!r}, expected " + ", ".join(map(repr, WINOGRAD_SETTINGS))
        raise ArgumentValueError(_VARIABLE, problem)
    return setting


@contextmanager
def use_winograd(setting: str) -> Iterator[None]:
    token = _setting.set(setting)
    try:
        yield
    finally:
        _setting.reset(token)


@contextmanager
def prepared_weights() -> Iterator[None]:
    """Marks traces of split functions: transformed weights are computed once, and cost nothing."""
    token = _prepared.set(True)
    try:
        yield
    finally:
        _prepared.reset(token)


def winograd_in(setting: str, training: bool) -> str:
    """Returns the setting itself; for 'auto' 'F4' in inference, 'exact' in training. By 'F4' a
    training step of ResNet-18 (four images of 224 x 224) takes 6 % less time and half as long again
    to compile, and gradients carry the rounding of all layers."""
    if setting != "auto":
        return setting
    return "exact" if training else "F4"


def current_winograd(dtype: object) -> Winograd:
    if dtype not in _DTYPES:
        return Winograd()
    setting = winograd_in(_setting.get() or winograd_default(), training=False)
    return Winograd(_ALLOWED_ROWS[setting], _prepared.get())


class Transforms(NamedTuple):
    """The matrices B^T, G and A^T of F(m, 3): (m + 2, m + 2), (m + 2, 3) and (m, m + 2)."""

    data: np.ndarray
    kernel: np.ndarray
    result: np.ndarray


@lru_cache(maxsize=4)
def transforms(rows: int) -> Transforms:
    """Returns the matrices for ``rows`` rows per block. A product of polynomials, the kernel's of
    degree 2 and one of degree m - 1, follows from its values at m + 1 points and its highest
    coefficient ("at infinity"); filtering is its transpose."""
    points = np.array(_POINTS[rows])
    others = [np.delete(points, i) for i in range(len(points))]
    distances = np.array([np.prod(p - q) for p, q in zip(points, others, strict=True)])
    data = np.zeros((rows + 2, rows + 2))
    for i, roots in enumerate(others):
        data[i, :-1] = np.poly(roots)[::-1]
    data[-1] = np.poly(points)[::-1]
    kernel = np.vstack([np.vander(points, 3, increasing=True) / distances[:, None], [0, 0, 1]])
    result = np.vstack([np.vander(points, rows, increasing=True), np.eye(rows)[-1]]).T
    return Transforms(data, kernel, result)


def winograd_kernels(
    data: Shape, weight: Shape, dims: ConvDims, choice: Winograd
) -> tuple[Callable[..., Array] | None, Callable[..., Array] | None]:
    if (
        not choice.rows
        or dims.layout != "NHWC"
        or weight[1] != 3
        or dims.groups * max(*dims.strides, *dims.dilation) > 1
        or not is_known(*data[1:])
    ):
        return None, None
    images = data[0] if is_known(data[0]) else 1
    out = dims.output_sizes(data[1:-1], weight[1:-1])
    rows = _best_rows((images, *out), weight, choice, _costs.weight)
    direct = choice.prepared or weight[0] * weight[-1] <= _MAX_DIRECT
    forward = rows and partial(_convolve_rows, pads=dims.pads, rows=rows, direct=direct)
    pads = tuple(k - 1 - p for k, p in zip(weight[1:-1], dims.pads, strict=True))
    rows = _best_rows((images, *data[1:-1]), weight, choice, _costs.gradient_weight)
    if not rows or min(pads) < 0:
        return forward or None, None
    return forward or None, partial(_input_grad_rows, pads=pads, rows=rows)


def _best_rows(result: Shape, weight: Shape, choice: Winograd, weight_cost: float) -> int:
    # 0 for a convolution as it is. ``result`` is the number of images, rows and columns of the
    # result.
    saved = {
        rows: _saved(rows, result, weight, choice.prepared, weight_cost) for rows in choice.rows
    }
    best = max(saved, key=lambda rows: saved[rows])
    return best if saved[best] > 0 else 0


def _saved(rows: int, result: Shape, weight: Shape, prepared: bool, weight_cost: float) -> float:
    # Estimated multiplications that F(rows, 3) saves, less the cost of its transformations.
    images, height, width = result
    filters, _, kernel_width, channels = weight
    blocks, products = math.ceil(height / rows), rows + 2
    per_row = images * width * kernel_width * channels * filters
    elements = images * blocks * width * (products + rows) * (channels + filters)
    transformed = 0 if prepared else products * kernel_width * channels * filters
    return (
        per_row * (3 * height - products * blocks)
        - _costs.element * elements
        - weight_cost * transformed
        - (_costs.prepared_call if prepared else _costs.call)
    )


def _written_out(*arrays: Array, matrix: tuple[tuple[float, ...], ...]) -> list[Array]:
    def term(factor: float, array: Array) -> Array:
        return array if factor == 1 else lax.mul(array, np.asarray(factor, array.dtype))

    sums = []
    for row in matrix:
        first, *others = (term(f, x) for f, x in zip(row, arrays, strict=True) if f)
        sums.append(reduce(lax.add, others, first))
    return sums


#: Sums of arrays times the entries of the rows of a matrix.
weighted_sums_p = composite_primitive(
    "executorkit_weighted_sums",
    _written_out,
    lambda *arrays, matrix: [arrays[0].update(weak_type=False)] * len(matrix),
    several=True,
)


def combine(matrix: np.ndarray, arrays: Sequence[Array]) -> list[Array]:
    return weighted_sums_p.bind(*arrays, matrix=tuple(map(tuple, matrix.tolist())))


def _transformed_weight(kernel: Array, rows: int) -> list[Array]:
    # G g: (1, kernel width, ...) for each product, from the kernel (3, kernel width, ...).
    return combine(transforms(rows).kernel, list(kernel[:, None]))


def _filter_rows(data: Array, weights: list[Array], layout: str, pads: Shape, rows: int) -> Array:
    matrices = transforms(rows)
    n, height, width, channels = data.shape
    above, left = pads
    out = height + 2 * above - 2
    blocks = -(-out // rows)
    edges = [(0, 0), (above, (blocks + 1) * rows - above - height), (0, 0), (0, 0)]
    padded = lax.pad(data, np.zeros((), data.dtype), [(*edge, 0) for edge in edges])
    blocked = padded.reshape(n, blocks + 1, rows, width, channels)
    # The last two rows of each block's data are the first of the next block; F(2, 3) has two.
    own, following = (lax.slice_in_dim(blocked, i, i + blocks, axis=1) for i in range(2))
    places = [*((own, i) for i in range(rows)), (following, 0), (following, 1)]
    parts = [lax.index_in_dim(part, i, axis=2, keepdims=False) for part, i in places]
    products = [
        lax.conv_general_dilated(
            part, weight, (1, 1), [(0, 0), (left, left)],
            dimension_numbers=("NHWC", layout, "NHWC"),
        )
        for part, weight in zip(combine(matrices.data, parts), weights, strict=True)
    ]  # fmt: skip
    result = jnp.stack(combine(matrices.result, products), axis=2)
    return result.reshape(n, blocks * rows, *result.shape[3:])[:, :out]


def _convolve_rows(data: Array, weight: Array, pads: Shape, rows: int, direct: bool) -> Array:
    if direct:
        weights = _transformed_weight(jnp.transpose(weight, (1, 2, 3, 0)), rows)
        return _filter_rows(data, weights, "HWIO", pads, rows)
    weights = _transformed_weight(jnp.transpose(weight, (1, 2, 0, 3)), rows)
    # Without the barrier the compiler moves the transposition to the front of the sums again.
    return _filter_rows(data, lax.optimization_barrier(weights), "HWOI", pads, rows)


def _input_grad_rows(g: Array, weight: Array, shape: Shape, pads: Shape, rows: int) -> Array:
    # A convolution too: with the kernel turned around, its filters as channels.
    kernel = lax.rev(jnp.transpose(weight, (1, 2, 0, 3)), (0, 1))
    weights = lax.optimization_barrier(_transformed_weight(kernel, rows))
    return _filter_rows(g, weights, "HWIO", pads, rows)
