"""Channels last: how operators run on data whose channels have moved from axis 1 to the end.

CPUs convolve, normalise and add up channels-last data in about two thirds of the time. So lowering
keeps a convolution's data that way, as long as the operators after it have a rule (``register(...,
layout_rule=rule)``). A rule takes attributes and input shapes, as in the graph, and returns a
:class:`LayoutRewrite`, or None to run the operator channels first.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .attrs import Shape
from .inference import Params


class LayoutRewrite(NamedTuple):
    """The form of an operator for channels-last data.

    inputs
        positions of the inputs that have to be channels last.
    outputs
        number of outputs that then are channels last, from the first one.
    profitable
        True if it is worth moving data for this operator alone.
    function
        substitute for the operator's function, if attributes cannot say it.
    """

    params: Params
    inputs: tuple[int, ...]
    outputs: int = 1
    profitable: bool = False
    function: Callable[..., Any] | None = None


LayoutRule = Callable[[Params, Sequence[Shape]], LayoutRewrite | None]


def channels_last_axis(axis: int, rank: int) -> int:
    """Returns the position of a channels-first axis after the channels have moved to the end."""
    axis %= rank
    return rank - 1 if axis == 1 else axis - (axis > 1)


def _common_rank(shapes: Sequence[Shape]) -> int:
    # 0 if ranks differ, or without spatial axes.
    ranks = {len(s) for s in shapes}
    rank = ranks.pop()
    return rank if not ranks and rank > 2 else 0


def layout_elementwise(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Rewrites operators on inputs of one rank where an element's position does not matter."""
    return LayoutRewrite(p, tuple(range(len(shapes)))) if _common_rank(shapes) else None


def layout_with_axis(attribute: str) -> LayoutRule:
    def rule(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
        rank = _common_rank(shapes)
        if not rank or not -rank <= p[attribute] < rank:
            return None
        params = Params({**p, attribute: channels_last_axis(p[attribute], rank)})
        return LayoutRewrite(params, tuple(range(len(shapes))))

    return rule


def layout_with_pad_width(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    widths, rank = p.pad_width, len(shapes[0])
    if rank < 3 or len(widths) != 2 * rank:
        return None
    return LayoutRewrite(Params({**p, "pad_width": (*widths[:2], *widths[4:], *widths[2:4])}), (0,))


def layout_with_parts(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    rewrite = None if p.squeeze_axis else layout_with_axis("axis")(p, shapes)
    return rewrite and rewrite._replace(outputs=p.num_outputs)


def layout_per_channel(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Rewrites operators on data, and vectors with an entry for every index of ``axis``."""
    rank = len(shapes[0])
    if rank < 3 or not -rank <= p.axis < rank:
        return None
    return LayoutRewrite(Params({**p, "axis": channels_last_axis(p.axis, rank)}), (0,))


def layout_with_windows(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    """Rewrites operators with a ``layout``, on data and perhaps a weight (others are vectors)."""
    rank = len(shapes[0])
    if rank < 3 or p.get("layout") not in (None, "NCW", "NCHW", "NCDHW"):
        return None
    params = Params({**p, "layout": {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]})
    return LayoutRewrite(params, tuple(k for k, s in enumerate(shapes) if len(s) == rank))
