"""Pooling over one, two and three axes, and padding by reflection.

>>> import executorkit as mx
>>> mx.gluon.nn.MaxPool1D()(mx.nd.array([[[1, 2, 3, 4]]])).asnumpy().tolist()
[[[2.0, 4.0]]]
"""

from typing import Any

from ...errors import ArgumentValueError
from .._hybrid_block import HybridBlock
from .._layer_windows import PerAxis, check_layout, check_windows, over_axes, per_axis


class _Pooling(HybridBlock):
    """Base of all poolings.

    pool_size
        of the window: a number, or one for each axis.
    strides
        of the window; None: ``pool_size``.
    padding
        at both ends of each axis: numbers that are no maximum, or zeros of an average.
    ceil_mode
        whether a last window that the input fills in part is taken too.
    count_include_pad
        whether an average counts the padding.
    layout
        order of the axes of input and output.
    """

    _axes: int
    _kind: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._construct(*args, **kwargs)

    def _construct(
        self,
        pool_size: Any,
        strides: PerAxis | None,
        padding: PerAxis,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """``__init__`` with arguments for any number of axes."""
        HybridBlock.__init__(self, **kwargs)
        axes = len(pool_size)
        self._kwargs = {
            "kernel": pool_size,
            "stride": per_axis(pool_size if strides is None else strides, axes),
            "pad": per_axis(padding, axes),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def _pool(self, pool_size: Any, layout: str, **options: Any) -> None:
        """``__init__`` of a layer of a kind over its axes."""
        where, axes = type(self).__name__, self._axes
        check_layout(where, axes, layout)
        pool_size = per_axis(pool_size, axes)
        check_windows(where, axes, pool_size=pool_size)
        self._construct(pool_size, layout=layout, pool_type=self._kind, **options)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return (
            "{}(size={kernel}, stride={stride}, padding={pad}, ceil_mode={ceil_mode}, "
            "global_pool={global_pool}, pool_type={pool_type}, layout={layout})"
        ).format(
            type(self).__name__,
            ceil_mode=self._kwargs["pooling_convention"] == "full",
            **self._kwargs,
        )


# MXNet's order of layout and ceil_mode depends on the layer.


def max_pooling(
    self: _Pooling,
    pool_size: PerAxis = 2,
    strides: PerAxis | None = None,
    padding: PerAxis = 0,
    layout: str = "NCW",
    ceil_mode: bool = False,
    **kwargs: Any,
) -> None:
    self._pool(
        pool_size, layout, strides=strides, padding=padding, ceil_mode=ceil_mode,
        global_pool=False, **kwargs,
    )  # fmt: skip


def max_pooling_layout_last(
    self: _Pooling,
    pool_size: PerAxis = 2,
    strides: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    layout: str = "NCW",
    **kwargs: Any,
) -> None:
    max_pooling(self, pool_size, strides, padding, layout, ceil_mode, **kwargs)


def avg_pooling(
    self: _Pooling,
    pool_size: PerAxis = 2,
    strides: PerAxis | None = None,
    padding: PerAxis = 0,
    layout: str = "NCW",
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    **kwargs: Any,
) -> None:
    kwargs["count_include_pad"] = count_include_pad
    max_pooling(self, pool_size, strides, padding, layout, ceil_mode, **kwargs)


def avg_pooling_ceil_mode_first(
    self: _Pooling,
    pool_size: PerAxis = 2,
    strides: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
    **kwargs: Any,
) -> None:
    kwargs["count_include_pad"] = count_include_pad
    max_pooling(self, pool_size, strides, padding, layout, ceil_mode, **kwargs)


def global_pooling(self: _Pooling, layout: str = "NCW", **kwargs: Any) -> None:
    self._pool(1, layout, strides=None, padding=0, ceil_mode=True, global_pool=True, **kwargs)


class MaxPool1D(_Pooling):
    """Maxima of windows over one axis; arguments are those of its base class.

    Input: (N, C, W). Output: (N, C, W'), where
    ``W' = (W + 2 * padding - pool_size) // strides + 1``, rounded up in ``ceil_mode``.
    """

    _axes, _kind = 1, "max"
    __init__ = max_pooling


class MaxPool2D(_Pooling):
    """Maxima of windows over two axes; as :class:`MaxPool1D`, with (N, C, H, W) as input."""

    _axes, _kind = 2, "max"
    __init__ = over_axes(max_pooling, 2, ["pool_size"])


class MaxPool3D(_Pooling):
    """Maxima of windows over three axes; as :class:`MaxPool1D`, with (N, C, D, H, W) as input."""

    _axes, _kind = 3, "max"
    __init__ = over_axes(max_pooling_layout_last, 3, ["pool_size"])


class AvgPool1D(_Pooling):
    """Averages of windows over one axis; arguments are those of its base class.

    Input: (N, C, W). Output: (N, C, W'), where
    ``W' = (W + 2 * padding - pool_size) // strides + 1``, rounded up in ``ceil_mode``.
    """

    _axes, _kind = 1, "avg"
    __init__ = avg_pooling


class AvgPool2D(_Pooling):
    """Averages of windows over two axes; as :class:`AvgPool1D`, with (N, C, H, W) as input."""

    _axes, _kind = 2, "avg"
    __init__ = over_axes(avg_pooling_ceil_mode_first, 2, ["pool_size"])


class AvgPool3D(_Pooling):
    """Averages of windows over three axes; as :class:`AvgPool1D`, with (N, C, D, H, W) as input."""

    _axes, _kind = 3, "avg"
    __init__ = over_axes(avg_pooling_ceil_mode_first, 3, ["pool_size"])


class GlobalMaxPool1D(_Pooling):
    """Maximum over one axis. Input: (N, C, W). Output: (N, C, 1)."""

    _axes, _kind = 1, "max"
    __init__ = global_pooling


class GlobalMaxPool2D(_Pooling):
    """Maximum over two axes. Input: (N, C, H, W). Output: (N, C, 1, 1)."""

    _axes, _kind = 2, "max"
    __init__ = over_axes(global_pooling, 2)


class GlobalMaxPool3D(_Pooling):
    """Maximum over three axes. Input: (N, C, D, H, W). Output: (N, C, 1, 1, 1)."""

    _axes, _kind = 3, "max"
    __init__ = over_axes(global_pooling, 3)


class GlobalAvgPool1D(_Pooling):
    """Average over one axis. Input: (N, C, W). Output: (N, C, 1)."""

    _axes, _kind = 1, "avg"
    __init__ = global_pooling


class GlobalAvgPool2D(_Pooling):
    """Average over two axes. Input: (N, C, H, W). Output: (N, C, 1, 1)."""

    _axes, _kind = 2, "avg"
    __init__ = over_axes(global_pooling, 2)


class GlobalAvgPool3D(_Pooling):
    """Average over three axes. Input: (N, C, D, H, W). Output: (N, C, 1, 1, 1)."""

    _axes, _kind = 3, "avg"
    __init__ = over_axes(global_pooling, 3)


class ReflectionPad2D(HybridBlock):
    """The input with rows and columns appended that mirror it at its edges.

    padding
        a number for all four edges, or eight numbers: before and after each of the four axes.
        ArgumentValueError for anything else.

    Input: (N, C, H, W). Output: (N, C, H + 2 * padding, W + 2 * padding).
    """

    def __init__(self, padding: PerAxis = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if isinstance(padding, str) or len(padding) != 8:
            problem = f"padding must be a number or eight numbers, not {padding!r}"
            raise ArgumentValueError("ReflectionPad2D", problem)
        self._padding = padding

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
