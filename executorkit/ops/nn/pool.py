"""Pooling: maximum, average, sum or p-norm over windows, with their gradients."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape, Tuning
from ..schema.channels_last import LayoutRewrite, layout_with_windows
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import NAMED_DATA
from ..tensor.derivatives import with_jvp
from ..tracing import at_least, for_platform, is_known
from .conv import Layout, data_layout, per_axis, spatial_axes
from .moments import at_least_float32
from .windows import can_write_out, is_padded, pad_axes, reduce_windows, window_maximum


def global_maximum(data: Array, axes: Shape) -> Array:
    """Returns the maximum over whole axes, with size 1; its first position gets the gradient."""

    def first_only(t: Array, out: Array, x: Array) -> Array:
        index = jnp.zeros(out.shape, "int32")
        for axis in axes:
            index = index * x.shape[axis] + lax.broadcasted_iota("int32", x.shape, axis)
        first = jnp.min(jnp.where(x == out, index, jnp.iinfo("int32").max), axes, keepdims=True)
        return jnp.sum(jnp.where(index == first, t, 0), axes, keepdims=True)

    def maximum(x: Array) -> Array:
        return lax.expand_dims(lax.reduce_max(x, axes), axes)

    return with_jvp(maximum, first_only)(data)


def _out_sizes(sizes: Shape, kernel: Shape, stride: Shape, pad: Shape, convention: str) -> Shape:
    if convention == "same":
        return tuple(-(-n // s) for n, s in zip(sizes, stride, strict=True))
    up = convention == "full"
    return tuple(
        (n + 2 * x - k + (s - 1 if up else 0)) // s + 1
        for n, k, s, x in zip(sizes, kernel, stride, pad, strict=True)
    )


def _stride_and_pad(stride: Shape, pad: Shape, rank: int) -> tuple[Shape, Shape]:
    # MXNet ignores surplus entries.
    return per_axis("stride", stride[:rank], rank, 1), per_axis("pad", pad[:rank], rank, 0)


def _infer_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if p.pool_type == "lp" and p.p_value is None:
        raise AttributeValueError("pool_type='lp' needs p_value, one of 1, 2, 3")
    if data is None or p.global_pool:
        return
    rank = len(p.kernel)
    layout = data_layout(p.get("layout"), rank)
    s.set("data", (0,) * len(layout), because=f"kernel={p.kernel} means data of layout {layout}")
    pad = per_axis("pad", p.pad[:rank], rank, 0)
    for axis, k, x in zip(spatial_axes(layout), p.kernel, pad, strict=True):
        if data[axis] and k > data[axis] + 2 * x and p.pooling_convention != "same":
            raise ShapeError(
                f"the kernel spans {k} on axis {axis} of data, which has only "
                f"{data[axis] + 2 * x} with padding",
                because=f"data is {data}, kernel={p.kernel}, pad={pad}",
            )


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    (data,) = shapes
    rank = len(data) - 2 if p.global_pool else len(p.kernel)
    axes = spatial_axes(data_layout(p.get("layout"), rank))
    if len(data) != rank + 2:
        return None
    out = list(data)
    if p.global_pool:
        counts = (1,) * rank
    else:
        stride, pad = _stride_and_pad(p.stride, p.pad, rank)
        if not all(0 <= x < k for x, k in zip(pad, p.kernel, strict=True)):
            return None
        sizes = tuple([data[axis] for axis in axes])
        counts = _out_sizes(sizes, p.kernel, stride, pad, p.pooling_convention)
    for axis, count in zip(axes, counts, strict=True):
        out[axis] = count
    return (tuple(out),) if min(counts) > 0 else None


def _pads(sizes: Shape, outs: Shape, kernel: Shape, stride: Shape, pad: Shape) -> list[Shape]:
    # Rows that no window covers may be cut off: symbolic sizes do not tell whether there are any.
    highs = [
        (o - 1) * s + k - n - x
        for n, o, k, s, x in zip(sizes, outs, kernel, stride, pad, strict=True)
    ]
    return [(x, 0 if at_least(0, h) else h) for x, h in zip(pad, highs, strict=True)]


def _counts(
    with_pad: bool, is_valid: bool, size: Any, out: Any, kernel: Any, stride: int, pad: int
) -> Any:
    # A number, perhaps symbolic, where it is the same for all windows.
    if is_valid and (with_pad or not pad):
        return kernel
    # At least 1, so that empty windows give 0.
    known = is_known(size)
    number = np if known else jnp
    start = number.arange(out) * stride - pad
    low, high = (-pad, size + pad) if with_pad else (0, size)
    counts = number.minimum(start + kernel, high) - number.maximum(start, low)
    counts = number.maximum(counts, 1)
    return int(counts[0]) if known and out and (counts == counts[0]).all() else counts


def _divide(total: Array, axes: Shape, counts: Callable[[], Iterable[Any]]) -> Array:
    # By the product of the axes' counts at once: whether these are the same for all windows, which
    # symbolic sizes leave open, makes no other numbers then.
    divisor: Any = 1
    for axis, count in zip(axes, counts(), strict=True):
        if isinstance(count, np.ndarray | Array):
            count = count.reshape([-1 if a == axis else 1 for a in range(total.ndim)])
        divisor = divisor * count
    number = np if isinstance(divisor, int | np.ndarray) else jnp
    return total / number.asarray(divisor, total.dtype)


def _computed_before(data: Array) -> Array:
    # XLA hands a sum, with everything that it is computed from, to a library: behind a depth-wise
    # layer or the sum of two branches, 7 x 7 positions of 1024 and 2048 channels, that took 1.1 of
    # the milliseconds of a MobileNet and a ResNet-50.
    return for_platform(data, cpu=lax.optimization_barrier, default=lambda x: x)


def _root(total: Array, power: int) -> Array:
    # The gradient at 0 is 0, not infinite times 0, as in MXNet.
    if power == 1:
        return total
    zero = total == 0
    safe = jnp.where(zero, jnp.ones_like(total), total)
    root = jnp.sqrt(safe) if power == 2 else jnp.cbrt(safe)
    return jnp.where(zero, jnp.zeros_like(total), root)


def _divides_gradient_by_window(
    convention: str, count_include_pad: bool | None, layout: str | None, dtype: object
) -> bool:
    # oneDNN, which MXNet may leave this gradient to, divides by the size of the whole window, also
    # where the window reaches over the edge.
    return (
        convention == "full"
        and count_include_pad is not False
        and layout in (None, "NCW", "NCHW", "NCDHW")
        and dtype == jnp.float32
    )


def _pooling_layout(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    # Averages that reach over the edge have another gradient channels last.
    if p.pool_type == "avg" and p.pooling_convention == "full":
        return None
    return layout_with_windows(p, shapes)


@register(
    "Pooling", infer_shape=_infer_shape, output_shapes=_output_shapes,
    layout_rule=_pooling_layout, traits={NAMED_DATA}, kind="pool",
    file_format=FileFormat(scratch_outputs=lambda p: int(p.pool_type == "max")),
)  # fmt: skip
def pooling(
    data: Array,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: Tuning[bool] = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: Literal[1, 2, 3] | None = None,
    count_include_pad: bool | None = None,
    layout: Layout | None = None,
):
    """Computes the maximum, average, sum or p-norm over windows of the spatial axes.

    data (N, C, spatial...), one to three spatial axes (channels last with such a ``layout``),
    floating. Returns the same with each spatial size replaced by
    ``floor((size + 2 pad - kernel) / stride) + 1``; ``pooling_convention="full"`` rounds up
    instead, so that the last windows may reach over the edge, and ``"same"`` gives
    ``ceil(size / stride)`` without padding at the start. ``global_pool`` takes the whole extent as
    one window and ignores kernel, stride and pad.

    * ``max``: padding never wins; a window of nothing but padding gives the lowest finite number.
      The gradient goes to the first maximum of a window only. NaN is the maximum of its windows
      (MXNet sometimes skips it).
    * ``avg``: divides by the window's size within the padded data, or within the data alone if
      ``count_include_pad=False``; positions that "full" adds beyond the padding never count. The
      gradient of "full" divides by the size of the whole window, where MXNet leaves it to oneDNN:
      for float32, channels first, padding included, if (outputs + 2 pad - kernel) is divisible by
      the stride.
    * ``sum``.
    * ``lp``: ``(sum x ** p_value) ** (1 / p_value)``, p_value 1, 2 or 3, without magnitudes; the
      third root of a negative sum is negative. Where the result is 0 its gradient is 0.

    MXNet accepts ``"same"`` in its signature but refuses every use of it.
    """
    rank = data.ndim - 2 if global_pool else len(kernel)
    axes = spatial_axes(data_layout(layout, rank))
    sizes = tuple(data.shape[a] for a in axes)
    if global_pool:
        kernel, stride, pad, pooling_convention = sizes, (), (), "valid"
    stride, pad = _stride_and_pad(stride, pad, rank)
    if not all(0 <= x < k for x, k in zip(pad, kernel, strict=True)):
        raise AttributeValueError(
            f"pad={pad}, expected at least 0 and less than kernel={kernel}: windows of nothing but "
            "padding have no maximum and no average"
        )
    outs = _out_sizes(sizes, kernel, stride, pad, pooling_convention)
    pads = _pads(sizes, outs, kernel, stride, pad)
    if pool_type == "max":
        if kernel == sizes and not any(pad):
            return global_maximum(_computed_before(data), axes)
        if not jnp.issubdtype(data.dtype, jnp.floating):
            return reduce_windows(data, True, axes, kernel, stride, pads)
        lowest = float(jnp.finfo(data.dtype).min)
        if can_write_out(kernel):
            return window_maximum(pad_axes(data, lowest, axes, pads), axes, kernel, stride, True)
        out = reduce_windows(data, True, axes, kernel, stride, pads)
        return jnp.maximum(out, lowest) if is_padded(pads) else out
    dtype, data = data.dtype, at_least_float32(data)
    if pool_type == "lp":
        data = lax.integer_pow(data, p_value or 1)
    if kernel == sizes and not any(pad):
        total = jnp.sum(_computed_before(data), axis=axes, keepdims=True)
    else:
        total = reduce_windows(data, False, axes, kernel, stride, pads)
    if pool_type == "lp":
        return _root(total, p_value or 1).astype(dtype)
    if pool_type == "sum":
        return total.astype(dtype)
    with_pad, is_valid = count_include_pad is not False, pooling_convention == "valid"
    windows = sizes, outs, kernel, stride, pad
    counts = partial(map, partial(_counts, with_pad, is_valid), *windows)
    if _divides_gradient_by_window(pooling_convention, count_include_pad, layout, dtype) and (
        all((o + 2 * x - k) % s == 0 for o, k, s, x in zip(outs, kernel, stride, pad, strict=True))
    ):
        size = np.asarray(math.prod(kernel), total.dtype)
        return with_jvp(lambda total: _divide(total, axes, counts), lambda t, *_: t / size)(total)
    return _divide(total, axes, counts).astype(dtype)


@register("Pooling_v1", infer_shape=_infer_shape, traits={NAMED_DATA})
def pooling_v1(
    data: Array,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
):
    """Pools as MXNet before 1.0 did, channels-first data of two or three spatial axes.

    Differs from :func:`pooling`: padding is zeros, which take part in a maximum; a maximum over
    nothing is -inf; an average always divides by the size of the kernel; every entry that equals
    its window's maximum receives that window's gradient.
    """
    rank = data.ndim - 2
    axes = tuple(range(2, data.ndim))
    sizes = data.shape[2:]
    if global_pool:
        kernel, stride, pad, pooling_convention = sizes, (), (), "valid"
    stride, pad = _stride_and_pad(stride, pad, rank)
    outs = _out_sizes(sizes, kernel, stride, pad, pooling_convention)
    pads = _pads(sizes, outs, kernel, stride, pad)
    if pool_type != "max":
        total = reduce_windows(data, False, axes, kernel, stride, pads)
        return total / math.prod(kernel) if pool_type == "avg" else total
    if global_pool:
        return with_jvp(
            lambda x: lax.expand_dims(lax.reduce_max(x, axes), axes),
            lambda t, out, x: jnp.sum(jnp.where(x == out, t, 0), axes, keepdims=True),
        )(data)
    data = pad_axes(data, 0, axes, [(x, x) for x in pad])
    beyond = [(0, max(0, high - x)) for (_, high), x in zip(pads, pad, strict=True)]
    return window_maximum(pad_axes(data, -np.inf, axes, beyond), axes, kernel, stride, False)
