"""Arguments of layers with windows over one, two and three axes, and shapes of their weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import symbol as sym
from ..._support.annotations import Attrs
from ...errors import ArgumentValueError
from .._types import Shape

#: Layouts of arrays with one, two and three axes beside batch and channels.
_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def per_axis(value: Any, axes: int) -> Any:
    """Repeats a number for each axis; an array becomes a list, and other values stay."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return (value,) * axes if isinstance(value, (int, float, np.generic)) else value


def check_windows(where: str, axes: int, **windows: Any) -> None:
    """Raises ArgumentValueError unless each argument has an integer for each axis."""
    for name, value in windows.items():
        if (
            not isinstance(value, Sequence)
            or len(value) != axes
            or not all(isinstance(n, (int, np.integer)) for n in value)
        ):
            problem = f"{name} must be an integer or {axes} of them, not {value!r}"
            raise ArgumentValueError(where, problem)


def check_layout(where: str, axes: int, layout: str, channels_last: bool = True) -> None:
    """Raises ArgumentValueError for a layout that does not fit the number of axes."""
    layouts = _LAYOUTS[axes] if channels_last else _LAYOUTS[axes][:1]
    if layout not in layouts:
        problem = f"layout must be {' or '.join(map(repr, layouts))}, not {layout!r}"
        raise ArgumentValueError(where, problem)


def weight_shape(op_name: str, in_channels: int, attributes: Attrs) -> Shape:
    """Returns the shape of a convolution's weight, with 0 where channels are unknown."""
    groups = attributes["num_group"]
    if (
        in_channels
        or not isinstance(groups, int)
        or groups < 2
        or attributes["num_filter"] % groups
    ):
        return _inferred_weight_shape(op_name, in_channels, attributes)
    # Of channels that groups divide everything is known by rules; unknown ones would be traced.
    one, two = (_inferred_weight_shape(op_name, n * groups, attributes) for n in (1, 2))
    return tuple(a if a == b else 0 for a, b in zip(one, two, strict=True))


def _inferred_weight_shape(op_name: str, in_channels: int, attributes: Attrs) -> Shape:
    layout = attributes["layout"]
    data = [0] * len(layout)
    data[layout.index("N")] = 1
    data[layout.index("C")] = in_channels
    out = getattr(sym, op_name)(sym.var("data", shape=tuple(data)), **attributes)
    return out.infer_shape_partial()[0][1]


def convolution_text(layer: Any, weight: Shape | None, attributes: Attrs) -> str:
    """Returns the ``repr`` of a convolution."""
    assert weight is not None
    axes = len(attributes["kernel"])
    parts = [
        f"{weight[1] or None} -> {weight[0]}",
        f"kernel_size={attributes['kernel']}",
        f"stride={attributes['stride']}",
    ]
    if attributes["pad"] != (0,) * axes:
        parts.append(f"padding={attributes['pad']}")
    if attributes["dilate"] != (1,) * axes:
        parts.append(f"dilation={attributes['dilate']}")
    if attributes["num_group"] != 1:
        parts.append(f"groups={attributes['num_group']}")
    if attributes["no_bias"]:
        parts.append("bias=False")
    if layer.act is not None:
        parts.append(repr(layer.act))
    return f"{type(layer).__name__}({', '.join(parts)})"
