"""Two-argument arithmetic with broadcasting, and broadcasting itself."""

from collections.abc import Callable
from itertools import zip_longest

import jax.numpy as jnp
import numpy as np
from jax import Array

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape
from ..schema.channels_last import layout_elementwise
from ..schema.inference import Params, ShapeFacts, dtype_of_first_input
from ..schema.operator_registry import named, register
from ..tracing import is_known
from .binary_arithmetic import BINARY, BinaryFunction

#: Stem of the function: operator names besides ``broadcast_`` and the stem.
_ALIASES = {"add": ("broadcast_plus",), "sub": ("broadcast_minus",)}


def broadcast_op(name: str, rule: BinaryFunction) -> Callable[[Array, Array], Array]:
    def op(lhs: Array, rhs: Array) -> Array:
        if lhs.shape == rhs.shape:
            return rule.fn(lhs, rhs)
        try:
            shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
        except ValueError:
            problem = f"lhs {lhs.shape} and rhs {rhs.shape} do not broadcast together"
            raise ShapeError(name, problem) from None
        return rule.fn(jnp.broadcast_to(lhs, shape), jnp.broadcast_to(rhs, shape))

    equation, note = rule.words("lhs", "rhs")
    doc = (
        f"{equation}, with broadcasting.\n\n"
        "Axes of lhs and rhs are matched from the last one; of each pair the sizes are equal or "
        "one of them is 1, and that one is stretched. Both have one dtype, the result too. "
        f"Gradients are summed over stretched axes. {note}"
    )
    return named(op, name, doc)


def infer_broadcast_shape(s: ShapeFacts, p: Params) -> None:
    # The result of partly known shapes: an unknown size against a larger one than 1 is that one or
    # 1, so the result has the larger one.
    lhs, rhs = s["lhs"], s["rhs"]
    if lhs is None or rhs is None or (0 not in lhs and 0 not in rhs):
        return
    pairs = list(zip_longest(lhs[::-1], rhs[::-1], fillvalue=1))
    s.set("out0", [0 if {a, b} == {0, 1} else max(a, b) for a, b in pairs][::-1])


def broadcast_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    try:
        known = is_known(*[size for shape in shapes for size in shape])
        return ((np if known else jnp).broadcast_shapes(*shapes),)
    except ValueError:
        return None


for _stem, _rule in BINARY.items():
    _name = f"broadcast_{_stem}"
    register(
        _name,
        *_ALIASES.get(_stem, ()),
        infer_shape=infer_broadcast_shape,
        output_shapes=broadcast_shapes,
        layout_rule=layout_elementwise,
        traits=_rule.traits,
    )(broadcast_op(_name, _rule))


def _stretch(where: str, data: Array, shape: tuple[int, ...]) -> Array:
    if len(shape) != data.ndim or any(
        a not in (1, b) for a, b in zip(data.shape, shape, strict=True)
    ):
        problem = f"'data' {data.shape} cannot be stretched to {shape}"
        because = "only axes of size 1 are stretched, and their number stays"
        raise ShapeError(where, problem, because=because)
    return jnp.broadcast_to(data, shape)


@register("broadcast_to")
def broadcast_to(data: Array, *, shape: Shape = ()) -> Array:
    """Broadcasts data to ``shape``.

    Each axis of data has the size in ``shape`` or size 1; a 0 in ``shape`` keeps data's size.
    The gradient is summed over broadcast axes.
    """
    if len(shape) != data.ndim:
        return _stretch("broadcast_to", data, shape)
    stretched = tuple(b or a for a, b in zip(data.shape, shape, strict=True))
    return _stretch("broadcast_to", data, stretched)


@register("broadcast_axis", "broadcast_axes")
def broadcast_axis(data: Array, *, axis: Shape = (), size: Shape = ()) -> Array:
    """Broadcasts each axis in ``axis``, of size 1, to the matching entry of ``size``.

    The result has as many axes as data. The gradient is summed over broadcast axes.
    """
    if len(axis) != len(size) or any(not 0 <= a < data.ndim for a in axis):
        problem = f"axis={axis} and size={size} for 'data' {data.shape}"
        because = "axis and size go together, and axes are counted from 0"
        raise AttributeValueError("broadcast_axis", problem, because=because)
    new = list(data.shape)
    for a, n in zip(axis, size, strict=True):
        if new[a] != 1:
            raise ShapeError("broadcast_axis", f"axis {a} of 'data' {data.shape} has not size 1")
        new[a] = n
    return jnp.broadcast_to(data, new)


@register("broadcast_like", infer_type=dtype_of_first_input)
def broadcast_like(
    lhs: Array, rhs: Array, *, lhs_axes: Shape | None = None, rhs_axes: Shape | None = None
) -> Array:
    """Broadcasts lhs to the shape of rhs, or each axis in ``lhs_axes`` to the one in ``rhs_axes``.

    Broadcast axes of lhs have size 1; negative axes count from the end. Without axes, both have
    as many. The result has the dtype of lhs. rhs may be of any dtype and gets zero gradient.
    """
    if lhs_axes is None and rhs_axes is None:
        return _stretch("broadcast_like", lhs, rhs.shape)
    ours, theirs = lhs_axes or (), rhs_axes or ()
    if (
        len(ours) != len(theirs)
        or not ours
        or any(not -lhs.ndim <= a < lhs.ndim for a in ours)
        or any(not -rhs.ndim <= a < rhs.ndim for a in theirs)
    ):
        raise AttributeValueError(
            "broadcast_like",
            f"lhs_axes={lhs_axes} and rhs_axes={rhs_axes} for lhs {lhs.shape} and rhs {rhs.shape}",
            because="both are given, of one length, and name axes that there are",
        )
    new = list(lhs.shape)
    for a, b in zip(ours, theirs, strict=True):
        new[a] = rhs.shape[b]
    return _stretch("broadcast_like", lhs, tuple(new))
