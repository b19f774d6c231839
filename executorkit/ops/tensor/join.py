"""Concatenation, stacking and splitting of arrays along an axis."""

import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Count, Shape
from ..schema.channels_last import layout_with_axis, layout_with_parts
from ..schema.inference import Params, ShapeFacts, merge_shapes, normal_axis, shape_text
from ..schema.operator_registry import register
from ..schema.traits import CONCAT, NAMED_DATA, SPLIT, STACK


def _infer_concat_shape(s: ShapeFacts, p: Params) -> None:
    names = [n for n in s if n != "out0"]
    boxes = [s[n] for n in s if s[n] is not None]
    if not boxes:
        return
    ndim = len(boxes[0])
    if any(len(b) != ndim for b in boxes):
        return
    at = normal_axis(p.dim, ndim, "dim")
    common = None
    for name in s:
        if s[name] is not None:
            box = tuple(0 if i == at else d for i, d in enumerate(s[name]))
            try:
                common = merge_shapes(common, box)
            except ValueError:
                problem = f"{name!r} is {s[name]}, expected {shape_text(common)}"
                raise ShapeError(problem, f"only axis {at} may differ", name) from None
    for name in names:
        s.set(name, common)
    _share_the_rest(s, names, at, limit=1)


def _share_the_rest(s: ShapeFacts, names: list[str], at: int, limit: int | None = None) -> None:
    # Inputs of unknown size, at most ``limit``, get equal shares of the output's rest.
    unknown = [n for n in names if s[n] is not None and s[n][at] == 0]
    out = s["out0"]
    if unknown and len(unknown) <= (limit or len(unknown)) and out is not None and out[at]:
        left = out[at] - sum(s[n][at] for n in names)
        for name in unknown:
            size = max(left, 0) // len(unknown)
            s.set(name, (size if i == at else 0 for i in range(len(out))))


def _infer_parameters_shape(s: ShapeFacts, p: Params) -> None:
    _infer_concat_shape(s, p)
    names = [n for n in s if n != "out0"]
    if all(s[n] is not None for n in names):
        _share_the_rest(s, names, p.dim)


def _infer_concatenation(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    first = shapes[0]
    at = normal_axis(p.dim, len(first), "dim")
    others = (*first[:at], *first[at + 1 :])
    if any(len(s) != len(first) or (*s[:at], *s[at + 1 :]) != others for s in shapes):
        return None
    return ((*first[:at], sum([s[at] for s in shapes]), *first[at + 1 :]),)


@register(
    "Concat",
    "concat",
    infer_shape=_infer_concat_shape,
    output_shapes=_infer_concatenation,
    layout_rule=layout_with_axis("dim"),
    traits={CONCAT},
    kind="shape",
)
@register("_rnn_param_concat", infer_shape=_infer_parameters_shape)
def concat(*data: Array, num_args: Count, dim: int = 1):
    """Concatenates the inputs along axis ``dim``.

    Inputs have one shape, except for the size of axis ``dim``, which adds up in the result. The
    shape of one input may be deduced from the output and the other inputs.
    """
    first, *others = data
    at = normal_axis(dim, first.ndim, "dim")
    return lax.concatenate(data, at) if others else first


def _infer_stack_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    names = [n for n in s if n != "out0"]
    if out is not None and -len(out) <= p.axis < len(out):
        at = p.axis % len(out)
        s.set(names[0], (*out[:at], *out[at + 1 :]))
    s.same(*names)


def _stack_on_host(*data: np.ndarray, axis: int, num_args: int) -> np.ndarray | None:
    first = data[0]
    if len(data) != num_args or any(x.shape != first.shape or x.dtype != first.dtype for x in data):
        return None
    return np.stack(data, normal_axis(axis, first.ndim + 1))


@register(
    "stack", infer_shape=_infer_stack_shape, traits={STACK}, kind="shape", host=_stack_on_host
)
def stack(*data: Array, axis: int = 0, num_args: Count):
    """Stacks the inputs, all of one shape (d0, d1, ...), along a new axis at position ``axis``."""
    at = normal_axis(axis, data[0].ndim + 1)
    return lax.concatenate([lax.expand_dims(x, (at,)) for x in data], at)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(n))


def _infer_split_shape(s: ShapeFacts, p: Params) -> None:
    outs = [s[n] for n in s if n != "data"]
    out = None
    for box in outs:
        try:
            out = merge_shapes(out, box)
        except ValueError:
            raise ShapeError(f"outputs are {out} and {box}, expected one shape") from None
    if out is None:
        return
    ndim = len(out) + p.squeeze_axis
    if not -ndim <= p.axis < ndim:
        return
    at = p.axis % ndim
    size = p.num_outputs * (1 if p.squeeze_axis else out[at])
    trailing = out[at:] if p.squeeze_axis else out[at + 1 :]
    s.set("data", (*out[:at], size, *trailing), because=f"num_outputs={p.num_outputs}, each {out}")


def _parts(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...] | None:
    (data,) = shapes
    at = normal_axis(p.axis, len(data))
    size, remainder = divmod(data[at], max(p.num_outputs, 1))
    if p.num_outputs < 1 or remainder or (p.squeeze_axis and size != 1):
        return None
    return ((*data[:at], *(() if p.squeeze_axis else (size,)), *data[at + 1 :]),) * p.num_outputs


@register(
    "SliceChannel",
    "split",
    outputs=lambda p: _numbered(p.num_outputs),
    infer_shape=_infer_split_shape,
    output_shapes=_parts,
    layout_rule=layout_with_parts,
    traits={NAMED_DATA, SPLIT},
    kind="shape",
)
def split(data: Array, *, num_outputs: Count, axis: int = 1, squeeze_axis: bool = False):
    """Cuts data, of any shape, into ``num_outputs`` equal parts along ``axis``.

    The size of the axis must be a multiple of ``num_outputs``. With ``squeeze_axis`` it must be
    ``num_outputs`` itself, and the parts come without that axis.
    """
    at = normal_axis(axis, data.ndim)
    size = data.shape[at]
    if num_outputs < 1 or size % num_outputs or (squeeze_axis and size != num_outputs):
        raise ShapeError(
            f"axis {at} of data {data.shape} has {size} entries, expected "
            + (f"{num_outputs}" if squeeze_axis else f"a multiple of {num_outputs}"),
            because=f"num_outputs={num_outputs}, squeeze_axis={squeeze_axis}",
        )
    parts = lax.split(data, [size // num_outputs] * num_outputs, at)
    return tuple(lax.squeeze(x, (at,)) if squeeze_axis else x for x in parts)


def _split_v2_outputs(p: Params) -> tuple[str, ...]:
    n = p.sections or len(p.indices)
    return _numbered(n) if n > 1 else ("output",)


@register("_split_v2", outputs=_split_v2_outputs, traits={NAMED_DATA})
def split_v2(
    data: Array, *, indices: Shape, axis: int = 1, squeeze_axis: bool = False, sections: int = 0
):
    """Cuts data, of any shape, along ``axis`` at ``indices``, or into ``sections`` parts.

    ``indices`` are the beginnings of the parts, so the first is 0 (the Python function
    ``split_v2`` puts it there). Given ``sections``, the parts are as equal as they can be, larger
    ones first. With ``squeeze_axis`` every part must be of size 1 and comes without that axis.
    """
    at = normal_axis(axis, data.ndim)
    size = data.shape[at]
    if sections:
        small, larger = divmod(size, sections)
        sizes = [small + (i < larger) for i in range(sections)]
    else:
        if not indices or indices[0] != 0:
            raise AttributeValueError(f"indices={indices}, expected 0 first: where a part begins")
        sizes = [end - begin for begin, end in zip(indices, (*indices[1:], size), strict=True)]
    if min(sizes) < 0:
        problem = f"indices={indices} are not ascending numbers up to {size}, the axis' size"
        raise ShapeError(problem)
    if squeeze_axis and set(sizes) != {1}:
        problem = f"parts along axis {at} have sizes {sizes}, expected 1"
        raise ShapeError(problem, because="squeeze_axis=True")
    return tuple(lax.squeeze(x, (at,)) if squeeze_axis else x for x in lax.split(data, sizes, at))
