"""Pooling over one, two and three axes, and padding by reflection."""

from typing import Unpack

from ..._support.annotations import Attrs
from ..._support.described_arguments import DescribesArguments
from ...base import numeric_types
from ...errors import ArgumentValueError
from .._block import BlockOptions
from .._hybrid_block import HybridBlock
from .._parameter_dict import ParameterDict
from .._types import Ops, PerAxis, Tensor
from .layer_windows import check_layout, check_windows, per_axis


class _Pooling(DescribesArguments, HybridBlock):
    """Base of all poolings.

    pool_size
        The size of the window: a number, or one for each axis.
    strides
        The steps of the window: a number, or one for each axis; None: ``pool_size``.
    padding
        Positions added at both ends of each axis: zeros of an average, never a maximum.
    ceil_mode
        Whether a last window that covers the input in part counts.
    count_include_pad
        Whether an average counts the padding.
    layout
        The order of the axes of input and output.
    """

    #: The number of axes; 0: as many as ``pool_size`` has.
    _axes = 0

    def __init__(
        self,
        pool_size: PerAxis,
        strides: PerAxis | None,
        padding: PerAxis,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        count_include_pad: bool | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        where, axes = type(self).__name__, self._axes or len(per_axis(pool_size, 1))
        check_layout(where, axes, layout)
        pool_size = per_axis(pool_size, axes)
        check_windows(where, axes, pool_size=pool_size)
        super().__init__(prefix=prefix, params=params)
        self._kwargs: Attrs = {
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

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
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


class MaxPool1D(_Pooling):
    """Maxima of windows over one axis. The base class describes the arguments.

    Input: (N, C, W). Output: (N, C, W'), where
    ``W' = (W + 2 * padding - pool_size) // strides + 1``, rounded up in ``ceil_mode``.
    """

    _axes = 1

    def __init__(
        self,
        pool_size: PerAxis = 2,
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "max", layout=layout, **kwargs
        )


class MaxPool2D(_Pooling):
    """Maxima of windows over two axes: :class:`MaxPool1D` for an input (N, C, H, W). The base
    class describes the arguments."""

    _axes = 2

    def __init__(
        self,
        pool_size: PerAxis = (2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "max", layout=layout, **kwargs
        )


class MaxPool3D(_Pooling):
    """Maxima of windows over three axes: :class:`MaxPool1D` for an input (N, C, D, H, W). The
    base class describes the arguments."""

    _axes = 3

    def __init__(
        self,
        pool_size: PerAxis = (2, 2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "max", layout=layout, **kwargs
        )


class AvgPool1D(_Pooling):
    """Averages of windows over one axis: :class:`MaxPool1D` with averages in place of maxima.
    The base class describes the arguments."""

    _axes = 1

    def __init__(
        self,
        pool_size: PerAxis = 2,
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout=layout,
            count_include_pad=count_include_pad, **kwargs,
        )  # fmt: skip


class AvgPool2D(_Pooling):
    """Averages of windows over two axes, for an input (N, C, H, W). The base class describes the
    arguments."""

    _axes = 2

    def __init__(
        self,
        pool_size: PerAxis = (2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout=layout,
            count_include_pad=count_include_pad, **kwargs,
        )  # fmt: skip


class AvgPool3D(_Pooling):
    """Averages of windows over three axes, for an input (N, C, D, H, W). The base class describes
    the arguments."""

    _axes = 3

    def __init__(
        self,
        pool_size: PerAxis = (2, 2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout=layout,
            count_include_pad=count_include_pad, **kwargs,
        )  # fmt: skip


class GlobalMaxPool1D(_Pooling):
    """Maximum over one axis. Input: (N, C, W). Output: (N, C, 1)."""

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout=layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """Maximum over two axes. Input: (N, C, H, W). Output: (N, C, 1, 1)."""

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout=layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """Maximum over three axes. Input: (N, C, D, H, W). Output: (N, C, 1, 1, 1)."""

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "max", layout=layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """Average over one axis. Input: (N, C, W). Output: (N, C, 1)."""

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout=layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """Average over two axes. Input: (N, C, H, W). Output: (N, C, 1, 1)."""

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout=layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """Average over three axes. Input: (N, C, D, H, W). Output: (N, C, 1, 1, 1)."""

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(1, None, 0, True, True, "avg", layout=layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """The input with rows and columns appended that mirror it at its edges.

    padding
        a number for all four edges, or eight numbers: before and after each of the four axes.
        ArgumentValueError for anything else.

    Input: (N, C, H, W). Output: (N, C, H + 2 * padding, W + 2 * padding).
    """

    def __init__(self, padding: PerAxis = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, numeric_types):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if isinstance(padding, str) or len(padding) != 8:
            problem = f"padding must be a number or eight numbers, not {padding!r}"
            raise ArgumentValueError("ReflectionPad2D", problem)
        self._padding = padding

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.pad(x, mode="reflect", pad_width=self._padding)
