"""Reshaping, and new, dropped and permuted axes: operators that only move elements."""

import math
from collections.abc import Sequence
from functools import partial

from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape
from ..schema.inference import (
    Params,
    ShapeFacts,
    dtype_of_first_input,
    is_fully_known,
    normal_axes,
    normal_axis,
)
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA


def resolve_shape(dims: Sequence[int], spec: Sequence[int]) -> Shape:
    """Returns the shape that ``spec`` (see :func:`reshape`) makes of ``dims``."""
    out, infer = _read_spec(dims, spec)
    size, partial_size = math.prod(dims), math.prod(out)
    if infer is not None and infer < len(out) and partial_size:
        out[infer] = size // partial_size
    if math.prod(out) != size:
        raise ShapeError(f"data {tuple(dims)} has {size} elements, which do not fit {tuple(spec)}")
    return tuple(out)


def _read_spec(dims: Sequence[int], spec: Sequence[int]) -> tuple[list[int], int | None]:
    out: list[int] = []
    infer = None
    source = 0

    def take(n: int) -> Sequence[int]:
        nonlocal source
        source += n
        if source > len(dims):
            raise ShapeError(f"shape={tuple(spec)} uses more axes than the {len(dims)} of {dims}")
        return dims[source - n : source]

    entries = iter(range(len(spec)))
    for i in entries:
        entry = spec[i]
        if entry == 0:
            out += take(1)
        elif entry == -1:
            if infer is not None:
                raise AttributeValueError(f"shape={tuple(spec)} has more than one -1")
            # As in MXNet, the deduced size goes to the index of -1 in the spec, which after a -2
            # or a -4 is another axis of the result.
            infer = i
            out.append(1)
            source += 1
        elif entry == -2:
            out += dims[source:]
            source = len(dims)
        elif entry == -3:
            out.append(math.prod(take(2)))
        elif entry == -4:
            out += _split_dim(take(1)[0], spec[i + 1 : i + 3])
            next(entries)
            next(entries)
        elif entry > 0:
            out.append(entry)
            source += 1
        else:
            raise AttributeValueError(f"shape={tuple(spec)}: {entry} has no meaning")
    return out, infer


def _split_dim(dim: int, parts: Sequence[int]) -> tuple[int, int]:
    if len(parts) != 2 or any(p < 1 and p != -1 for p in parts) or tuple(parts) == (-1, -1):
        raise AttributeValueError(f"-4 in shape is followed by {tuple(parts)}, expected two sizes")
    first, second = parts
    first, second = (dim // second if first == -1 else first), second
    second = dim // first if second == -1 and first else second
    if first * second != dim:
        raise ShapeError(f"-4 in shape cannot split an axis of {dim} into {tuple(parts)}")
    return first, second


def _resolve_target_shape(dims: Shape, target: Shape, keep_highest: bool) -> Shape:
    # The attributes of MXNet before 0.9, in which one 0 is deduced.
    out = [dims[0], *target[1:]] if keep_highest else list(target)
    free = [i for i, d in enumerate(out) if d == 0]
    if len(free) > 1:
        raise AttributeValueError(f"target_shape={target} has more than one 0")
    if free:
        out[free[0]] = math.prod(dims) // max(math.prod(d for d in out if d), 1)
    if math.prod(out) != math.prod(dims):
        raise ShapeError(f"data {dims} does not fit target_shape={target}")
    return tuple(out)


def _infer_reshape_shape(s: ShapeFacts, p: Params) -> None:
    data, out = s["data"], s["out0"]
    if data is None or is_fully_known(data):
        return
    if is_fully_known(out) and p.shape:
        spec = p.shape[::-1] if p.reverse else p.shape
        copied = next((i for i, entry in enumerate(spec) if entry), len(spec))
        copied = len(data) if spec[copied : copied + 1] == (-2,) else min(copied, len(data))
        way = -1 if p.reverse else 1
        same = [*out[::way][:copied], *[0] * (len(data) - copied)]
        s.set("data", same[::way], because=f"shape={p.shape}, output {out}")
        data = s["data"]
    size = math.prod(out) if is_fully_known(out) else 0
    if p.shape and all(d > 0 for d in p.shape):
        size = math.prod(p.shape)
    partial_size = math.prod(d for d in data if d)
    if size and data.count(0) == 1 and size % partial_size == 0:
        because = f"the output has {size} elements"
        s.set("data", (d or size // partial_size for d in data), because=because)


def _reshaped(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    if not p.shape:
        return None
    way = -1 if p.reverse else 1
    return (resolve_shape(shapes[0][::way], p.shape[::way])[::way],)


@register(
    "Reshape", "reshape", infer_shape=_infer_reshape_shape, output_shapes=_reshaped, kind="shape"
)
def reshape(
    data: Array,
    *,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape = (),
    keep_highest: bool = False,
):
    """Reshapes data, of any shape; elements keep their order.

    The entries of ``shape`` are read from left to right, each using axes of data: a positive number
    is the size of an axis; 0 keeps an axis; -1 (once) is deduced from the number of elements
    (after a -2 or a -4 MXNet counts wrongly and deduces another axis, as we do); -2 keeps all
    remaining axes; -3 joins two axes; -4 splits one into the two sizes that follow, one of which
    may be -1. With ``reverse`` shape and data are read from right to left (so that the sizes come
    before their -4).

    ``target_shape`` and ``keep_highest`` are MXNet 0.8's, used when ``shape`` is not given: one 0
    is inferred, and ``keep_highest`` keeps the first axis. Where the number of elements differs
    MXNet cuts off or reads beyond the data; we refuse.
    """
    if shape:
        way = -1 if reverse else 1
        return lax.reshape(data, resolve_shape(data.shape[::way], shape[::way])[::way])
    if not target_shape:
        raise AttributeValueError("'shape' is not given")
    return lax.reshape(data, _resolve_target_shape(data.shape, target_shape, keep_highest))


def _axis_range(begin: int | None, end: int | None, ndim: int, side: str) -> tuple[int, int]:
    first = 0 if begin is None else begin + ndim * (begin < 0)
    last = ndim if end is None else end + ndim * (end < 0)
    if not 0 <= first < last <= ndim:
        ends = f"{side}_begin={begin}, {side}_end={end}"
        raise ShapeError(f"{ends} name no axes of an array with {ndim} axes")
    return first, last


@register("reshape_like", infer_type=dtype_of_first_input)
def reshape_like(
    lhs: Array,
    rhs: Array,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
):
    """Reshapes the axes ``lhs_begin`` to ``lhs_end`` of lhs as axes of rhs.

    lhs and rhs may have any shapes; rhs gives sizes only (its type does not matter, its gradient
    is zero). None means from the first, or to the last axis; negative numbers count from the end.
    Returns lhs.shape[:lhs_begin] + rhs.shape[rhs_begin:rhs_end] + lhs.shape[lhs_end:].
    """
    first, last = _axis_range(lhs_begin, lhs_end, lhs.ndim, "lhs")
    other_first, other_last = _axis_range(rhs_begin, rhs_end, rhs.ndim, "rhs")
    shape = lhs.shape[:first] + rhs.shape[other_first:other_last] + lhs.shape[last:]
    if math.prod(shape) != lhs.size:
        raise ShapeError(f"lhs {lhs.shape} cannot be reshaped to {shape}")
    return lax.reshape(lhs, shape)


def _infer_flatten_shape(s: ShapeFacts, p: Params) -> None:
    data, out = s["data"], s["out0"]
    if data is not None and out is not None:
        s.set("data", (out[0], *data[1:]))


@register(
    "Flatten", "flatten", infer_shape=_infer_flatten_shape, kind="shape",
    output_shapes=lambda p, shapes: ((shapes[0][0], math.prod(shapes[0][1:])),),
)  # fmt: skip
def flatten(data: Array):
    """Reshapes data (N, ...) to a matrix (N, K); a vector (N,) becomes (N, 1)."""
    return lax.reshape(data, (data.shape[0], math.prod(data.shape[1:])))


def _infer_expand_dims_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    if out is not None and -len(out) <= p.axis < len(out):
        at = p.axis % len(out)
        s.set("data", (*out[:at], *out[at + 1 :]), because=f"axis={p.axis} and the output is {out}")


@register("expand_dims", infer_shape=_infer_expand_dims_shape, kind="shape")
def expand_dims(data: Array, *, axis: int):
    """Inserts an axis of size 1 into data, of any shape, at position ``axis`` of the result."""
    return lax.expand_dims(data, (normal_axis(axis, data.ndim + 1),))


@register("squeeze", traits={NAMED_DATA}, kind="shape")
def squeeze(data: Array, *, axis: Shape | None = None):
    """Drops the axes named, of size 1, from data of any shape (None: all axes of size 1).

    Where every axis goes, one stays: the result has shape (1,), as MXNet has no scalars.
    """
    ones = tuple(i for i, d in enumerate(data.shape) if d == 1)
    axes = ones if axis is None else normal_axes(axis, data.ndim, "axis")
    if not set(axes) <= set(ones):
        raise ShapeError(f"axis={axis}: not every axis named of data {data.shape} is of size 1")
    return lax.reshape(data, tuple(d for i, d in enumerate(data.shape) if i not in axes) or (1,))


def _set_permuted_shape(s: ShapeFacts, axes: Sequence[int]) -> None:
    # Deduces the shape of data from the output, whose axis i is axis ``axes[i]`` of data.
    out = s["out0"]
    if out is not None and len(out) == len(axes):
        data_shape = [0] * len(axes)
        for i, axis in enumerate(axes):
            data_shape[axis] = out[i]
        s.set("data", data_shape, because=f"the output is {out}")


def _infer_transpose_shape(s: ShapeFacts, p: Params) -> None:
    shape = s["data"] if s["data"] is not None else s["out0"]
    axes = p.axes or tuple(reversed(range(len(shape or ()))))
    if sorted(axes) == list(range(len(axes))):
        _set_permuted_shape(s, axes)


def _transposed(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    (data,) = shapes
    order = p.axes or tuple(reversed(range(len(data))))
    return (tuple([data[i] for i in order]),) if sorted(order) == list(range(len(data))) else None


@register("transpose", infer_shape=_infer_transpose_shape, output_shapes=_transposed, kind="shape")
def transpose(data: Array, *, axes: Shape = ()):
    """Permutes the axes of data, of any shape, into the order ``axes`` (none given: reversed)."""
    order = axes or tuple(reversed(range(data.ndim)))
    if sorted(order) != list(range(data.ndim)):
        problem = f"axes={axes}, expected each of 0 to {data.ndim - 1} once: data is {data.shape}"
        raise ShapeError(problem)
    return lax.transpose(data, order)


def _swapped_axes(dim1: int, dim2: int, ndim: int) -> list[int]:
    first, second = normal_axis(dim1, ndim, "dim1"), normal_axis(dim2, ndim, "dim2")
    order = list(range(ndim))
    order[first], order[second] = second, first
    return order


def _infer_swapaxes_shape(s: ShapeFacts, p: Params) -> None:
    shape = s["data"] if s["data"] is not None else s["out0"]
    if shape is not None:
        _set_permuted_shape(s, _swapped_axes(p.dim1, p.dim2, len(shape)))


@register(
    "SwapAxis", "swapaxes", infer_shape=_infer_swapaxes_shape, traits={NAMED_DATA}, kind="shape"
)
def swapaxes(data: Array, *, dim1: int = 0, dim2: int = 0):
    """Exchanges axes ``dim1`` and ``dim2`` of data, of any shape."""
    return lax.transpose(data, _swapped_axes(dim1, dim2, data.ndim))


def _infer_blocks(s: ShapeFacts, p: Params, to_depth: bool) -> None:
    out, b = s["out0"], p.block_size
    if out is not None and len(out) == 4 and b > 0:
        n, c, h, w = out
        blocks = (c // (b * b), h * b, w * b) if to_depth else (c * b * b, h // b, w // b)
        s.set("data", (n, *blocks))


@register("depth_to_space", infer_shape=partial(_infer_blocks, to_depth=False), traits={NAMED_DATA})
def depth_to_space(data: Array, *, block_size: int):
    """Moves channels into blocks of pixels.

    data (N, b*b*C, H, W) with b = ``block_size``. Returns (N, C, H*b, W*b), in which
    out[n, c, h*b + i, w*b + j] = data[n, (i*b + j)*C + c, h, w].
    """
    b = block_size
    if data.ndim != 4 or b < 1 or 0 in data.shape or data.shape[1] % (b * b):
        expected = f"(N, C, H, W), none of them 0, with C divisible by {b * b}"
        problem = f"data is {data.shape}, expected {expected}"
        raise ShapeError(problem, because=f"block_size={b}")
    n, c, h, w = data.shape
    blocks = data.reshape(n, b, b, c // (b * b), h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


@register("space_to_depth", infer_shape=partial(_infer_blocks, to_depth=True), traits={NAMED_DATA})
def space_to_depth(data: Array, *, block_size: int):
    """Stacks blocks of pixels as channels, the inverse of ``depth_to_space``.

    data (N, C, H*b, W*b) with b = ``block_size``. Returns (N, b*b*C, H, W).
    """
    b = block_size
    if data.ndim != 4 or b < 1 or 0 in data.shape or data.shape[2] % b or data.shape[3] % b:
        expected = f"(N, C, H, W), none of them 0, with H and W divisible by block_size={b}"
        raise ShapeError(f"data is {data.shape}, expected {expected}")
    n, c, h, w = data.shape
    blocks = data.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)
