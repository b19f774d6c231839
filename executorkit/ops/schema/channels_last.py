"""Channels last: how operators run on data whose channels have moved from axis 1 to the end.

CPUs convolve, normalise and add up channels-last data in about two thirds of the time. So where a
convolution stands, lowering keeps its data that way, and what follows too as long as the operators
know how: each of these has one of the rules below (``register(..., last=rule)``). A rule is given
attributes and input shapes, as in the graph, and answers with a :class:`LayoutRewrite`, or None where the
operator has to run as it stands. No jax in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .attrs import Shape
from .inference import Params


class LayoutRewrite(NamedTuple):
    """An operator's form for channels-last data.

    params
        its attributes, for the moved axes.
    inputs
        which of its inputs have to be moved.
    outputs
        how many of its outputs then are, from the first one.
    enters
        whether it is worth moving data for this operator alone.
    function
        what stands in for the operator's function, if attributes cannot say it.
    """

    params: Params
    inputs: tuple[int, ...]
    outputs: int = 1
    profitable: bool = False
    function: Callable[..., Any] | None = None


LayoutRule = Callable[[Params, Sequence[Shape]], LayoutRewrite | None]


def channels_last_axis(axis: int, rank: int) -> int:
    """Where an axis of channels-first data is once the channels have moved to the end."""
    axis %= rank
    return rank - 1 if axis == 1 else axis - (axis > 1)


def _one_rank(shapes: Sequence[Shape]) -> int:
    """The rank that all inputs have, 0 if they differ or have no spatial axes."""
    ranks = {len(s) for s in shapes}
    rank = ranks.pop()
    return rank if not ranks and rank > 2 else 0


def layout_elementwise(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Inputs of one rank, broadcast against each other or not: the place of an element does not
    matter."""
    return LayoutRewrite(p, tuple(range(len(shapes)))) if _one_rank(shapes) else None


def layout_with_axis(attribute: str) -> LayoutRule:
    """Inputs of one rank, and an attribute that names one of their axes."""

    def rule(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
        rank = _one_rank(shapes)
        if not rank or not -rank <= p[attribute] < rank:
            return None
        moved = Params({**p, attribute: channels_last_axis(p[attribute], rank)})
        return LayoutRewrite(moved, tuple(range(len(shapes))))

    return rule


def layout_with_pad_width(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Data, and a ``pad_width`` with two entries per axis."""
    widths, rank = p.pad_width, len(shapes[0])
    if rank < 3 or len(widths) != 2 * rank:
        return None
    return LayoutRewrite(Params({**p, "pad_width": (*widths[:2], *widths[4:], *widths[2:4])}), (0,))


def layout_with_parts(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """As :func:`layout_with_axis` ``axis``, with ``num_outputs`` parts of the data."""
    moved = None if p.squeeze_axis else layout_with_axis("axis")(p, shapes)
    return moved and moved._replace(outputs=p.num_outputs)


def layout_per_channel(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Data, and vectors with an entry for every index of ``axis``."""
    rank = len(shapes[0])
    if rank < 3 or not -rank <= p.axis < rank:
        return None
    return LayoutRewrite(Params({**p, "axis": channels_last_axis(p.axis, rank)}), (0,))


def layout_with_windows(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Operators with a ``layout``, of data alone or of data and weight (the others are vectors)."""
    rank = len(shapes[0])
    if rank < 3 or p.get("layout") not in (None, "NCW", "NCHW", "NCDHW"):
        return None
    moved = Params({**p, "layout": {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]})
    return LayoutRewrite(moved, tuple(k for k, s in enumerate(shapes) if len(s) == rank))
