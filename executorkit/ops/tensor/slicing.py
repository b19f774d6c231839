"""Slices of arrays, and assignment to slices."""

import math

import jax.numpy as jnp
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import OptShape, Shape
from ..schema.inference import (
    Params,
    ShapeFacts,
    dtype_of_first_input,
    is_fully_known,
    normal_axis,
    same_shapes,
)
from ..schema.operator_registry import register
from ..schema.traits import CUTS_AXES
from ..tracing import at_least


def _slices(shape: Shape, begin: OptShape, end: OptShape, step: OptShape) -> tuple[slice, ...]:
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise AttributeValueError(f"begin={begin}, end={end}, step={step} are of different lengths")
    if 0 in step:
        raise AttributeValueError(f"step={step} must not be 0")
    if len(begin) > len(shape):
        raise ShapeError(f"begin={begin} has more entries than data {shape} has axes")
    steps = step or (None,) * len(begin)
    return tuple(slice(*bounds) for bounds in zip(begin, end, steps, strict=True))


def _infer_slice_shape(s: ShapeFacts, p: Params) -> None:
    data, out = s["data"], s["out0"]
    if data is not None and out is not None and len(data) == len(out):
        steps = p.step or (None,) * len(p.begin)
        uncut = [
            b is None and e is None and t in (None, 1, -1)
            for b, e, t in zip(p.begin, p.end, steps, strict=False)
        ]
        uncut += [True] * (len(data) - len(uncut))
        s.set("data", (d if same else 0 for d, same in zip(out, uncut, strict=False)))


@register("slice", "crop", infer_shape=_infer_slice_shape, traits={CUTS_AXES}, kind="shape")
def slice_(data: Array, *, begin: OptShape, end: OptShape, step: OptShape = ()):
    """Returns data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...].

    data may have any shape; axes beyond ``begin`` are kept whole. None, negative numbers and
    numbers beyond the axis have the same meaning as in Python.
    """
    return data[_slices(data.shape, begin, end, step)]


def _infer_slice_axis_shape(s: ShapeFacts, p: Params) -> None:
    data, out = s["data"], s["out0"]
    if data is not None and out is not None and -len(data) <= p.axis < len(data):
        at = p.axis % len(data)
        s.set("data", (0 if i == at else d for i, d in enumerate(out)))


@register("slice_axis", infer_shape=_infer_slice_axis_shape, traits={CUTS_AXES}, kind="shape")
def slice_axis(data: Array, *, axis: int, begin: int, end: int | None):
    """Returns entries ``begin`` to ``end`` of one axis of data, which may have any shape.

    ``end=None`` means to the last entry; negative numbers count from the end. The range must lie
    in the axis, and must not be empty unless the axis is.
    """
    at = normal_axis(axis, data.ndim)
    size = data.shape[at]
    first = begin + size * (begin < 0)
    last = size if end is None else end + size * (end < 0)
    bounds = (0, first), (first + (size != 0), last), (last, size)
    if not all(at_least(high, low, otherwise=True) for low, high in bounds):
        raise ShapeError(
            f"begin={begin}, end={end} are not a range in axis {at} of data {data.shape}"
        )
    return lax.slice_in_dim(data, first, last, axis=at)


@register("slice_like", infer_type=dtype_of_first_input)
def slice_like(data: Array, shape_like: Array, *, axes: Shape = ()):
    """Returns the leading entries of data, as many along each axis as shape_like has.

    data and shape_like have the same number of axes, or ``axes`` names the ones to cut (the others
    are kept whole). No axis of shape_like may be larger. Its values do not matter, and its
    gradient is zero.
    """
    if not axes and data.ndim != shape_like.ndim:
        problem = f"data {data.shape} and shape_like {shape_like.shape} differ"
        raise ShapeError(f"{problem} in their number of axes", because="axes is not given")
    limits = list(data.shape)
    for axis in axes or range(data.ndim):
        at = normal_axis(axis, data.ndim, "axes")
        if at >= shape_like.ndim or shape_like.shape[at] > data.shape[at]:
            problem = f"cannot be cut as in shape_like {shape_like.shape}"
            raise ShapeError(f"axis {at} of data {data.shape} {problem}")
        limits[at] = shape_like.shape[at]
    return lax.slice(data, (0,) * data.ndim, limits)


@register("Crop", kind="shape")
def crop(
    *data: Array,
    num_args: int,
    offset: Shape = (0, 0),
    h_w: Shape = (0, 0),
    center_crop: bool = False,
):
    """Crops a window out of the images data (N, C, H, W).

    Height and width are the second input's (any N and C, zero gradient), or with one input ``h_w``.
    The upper left corner is ``offset`` (y, x); ``center_crop`` centres the window.
    """
    image = data[0]
    if image.ndim != 4 or any(x.ndim != 4 for x in data) or len(data) > 2:
        raise ShapeError(f"inputs are {[x.shape for x in data]}, expected one or two (N, C, H, W)")
    size = data[1].shape[2:] if len(data) == 2 else h_w
    if len(size) != 2 or min(size) < 1:
        raise AttributeValueError(f"h_w={h_w}, expected height and width of the window")
    room = [have - want for have, want in zip(image.shape[2:], size, strict=True)]
    corner = tuple(r // 2 for r in room) if center_crop else offset
    if len(corner) != 2 or any(not 0 <= c <= r for c, r in zip(corner, room, strict=True)):
        window = f"a window of {tuple(size)} at {corner}"
        raise ShapeError(f"{window} does not fit into images of {image.shape[2:]}")
    (y, x), (h, w) = corner, size
    return image[:, :, y : y + h, x : x + w]


def _infer_slice_assign_shape(s: ShapeFacts, p: Params) -> None:
    s.same("lhs", "out0")
    if is_fully_known(s["lhs"]):
        box = _slices(s["lhs"], p.begin, p.end, p.step)
        cut = [len(range(*b.indices(d))) for b, d in zip(box, s["lhs"], strict=False)]
        s.set("rhs", (*cut, *s["lhs"][len(cut) :]), because=f"lhs is {s['lhs']}")


@register("_slice_assign", "_crop_assign", infer_shape=_infer_slice_assign_shape)
def slice_assign(lhs: Array, rhs: Array, *, begin: OptShape, end: OptShape, step: OptShape = ()):
    """Replaces the box that ``slice`` would cut out of lhs by rhs.

    lhs may have any shape, rhs has the shape of the box. MXNet has no gradient for it.
    """
    box = _slices(lhs.shape, begin, end, step)
    if math.prod(lhs[box].shape) != rhs.size:
        problem = f"rhs is {rhs.shape}, expected {lhs[box].shape}"
        raise ShapeError(problem, because=f"lhs is {lhs.shape}")
    return lhs.at[box].set(rhs)


@register("_slice_assign_scalar", "_crop_assign_scalar", infer_shape=same_shapes)
def slice_assign_scalar(
    data: Array, *, scalar: float = 0.0, begin: OptShape, end: OptShape, step: OptShape = ()
):
    """Sets every element of the box that ``slice`` would cut out of data, of any shape, to a
    number.

    MXNet has no gradient for it.
    """
    box = _slices(data.shape, begin, end, step)
    return data.at[box].set(jnp.asarray(scalar).astype(data.dtype))
