"""Convolutions over one, two and three axes and their transposes, poolings, and padding by
reflection."""

from functools import partial
from typing import Unpack

from ..._support.annotations import Attrs
from ..._support.described_arguments import DescribesArguments
from ...base import numeric_types
from ...errors import ArgumentValueError
from .._block import BlockOptions
from .._hybrid_block import HybridBlock as HybridBlock
from .._parameter import Parameter
from .._parameter_dict import ParameterDict
from .._types import Init, Ops, PerAxis, Tensor
from .activations import Activation as Activation, activation_of
from .layer_windows import check_layout, check_windows, convolution_text, per_axis, weight_shape


class _Conv(DescribesArguments, HybridBlock):
    """Base of all convolutions.

    channels
        The number of output channels.
    kernel_size
        The size of the window: a number, or one for each axis.
    strides
        The steps of the window: a number, or one for each axis.
    padding
        Zeros at both ends of each axis: a number, or one for each axis. A transposed convolution
        cuts them from its output.
    dilation
        The distance between the elements of a window: a number, or one for each axis.
    output_padding
        Of a transposed convolution: positions added at the end of each axis of the output, fewer
        than the strides.
    groups
        The number of groups of channels; a group's outputs depend on its inputs only.
    layout
        The order of the axes of input and output.
    activation
        The name of an :class:`Activation` of the output, or None.
    use_bias
        Whether ``bias`` is added to each channel.
    weight_initializer, bias_initializer
        The initializers of ``weight`` and ``bias``.
    in_channels
        The number of input channels. 0: taken from the first input.

    Raises ShapeError, as the operator does, for windows or groups that do not fit.
    """

    #: The number of axes; 0: as many as ``kernel_size`` has.
    _axes = 0
    bias: Parameter | None

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis,
        padding: PerAxis,
        dilation: PerAxis,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        op_name: str = "Convolution",
        adj: PerAxis | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        where, axes = type(self).__name__, self._axes or len(per_axis(kernel_size, 1))
        if adj is not None:
            self.outpad = adj = per_axis(adj, axes)
            check_windows(where, axes, output_padding=adj)
        check_layout(where, axes, layout, channels_last=axes > 1)
        kernel_size = per_axis(kernel_size, axes)
        check_windows(where, axes, kernel_size=kernel_size)
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self._channels = channels
            self._in_channels = in_channels
            self._op_name = op_name
            self._kwargs: Attrs = {
                "kernel": kernel_size,
                "stride": per_axis(strides, axes),
                "dilate": per_axis(dilation, axes),
                "pad": per_axis(padding, axes),
                "num_filter": channels,
                "num_group": groups,
                "no_bias": not use_bias,
                "layout": layout,
            }
            if adj is not None:
                self._kwargs["adj"] = adj
            parameter = partial(self.params.get, allow_deferred_init=True)
            shape = weight_shape(op_name, in_channels, self._kwargs)
            self.weight = parameter("weight", shape=shape, init=weight_initializer)
            self.bias = None
            if use_bias:
                self.bias = parameter("bias", shape=(channels,), init=bias_initializer)
            self.act = activation_of(activation)

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(
        self, F: Ops, x: Tensor, weight: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return convolution_text(self, self.weight.shape, self._kwargs)


class Conv1D(_Conv):
    """Convolution over one axis. The base class describes the arguments.

    Parameters: ``weight`` (channels, in_channels / groups, kernel), ``bias`` (channels,).
    Input: (N, in_channels, W). Output: (N, channels, W'), where
    ``W' = (W + 2 * padding - dilation * (kernel_size - 1) - 1) // strides + 1``.
    """

    _axes = 1

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip


class Conv2D(_Conv):
    """Convolution over two axes: :class:`Conv1D` for an input (N, in_channels, H, W). With the
    layout 'NHWC' the weight is (channels, kernel_h, kernel_w, in_channels / groups). The base class
    describes the arguments."""

    _axes = 2

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1),
        padding: PerAxis = (0, 0),
        dilation: PerAxis = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip


class Conv3D(_Conv):
    """Convolution over three axes: :class:`Conv1D` for an input (N, in_channels, D, H, W). With the
    layout 'NDHWC' the weight is (channels, kernel_d, kernel_h, kernel_w, in_channels / groups). The
    base class describes the arguments."""

    _axes = 3

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1, 1),
        padding: PerAxis = (0, 0, 0),
        dilation: PerAxis = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, **kwargs,
        )  # fmt: skip


class Conv1DTranspose(_Conv):
    """Transposed convolution over one axis: the gradient of :class:`Conv1D` with respect to its
    input. The base class describes the arguments.

    Parameters: ``weight`` (in_channels, channels / groups, kernel), ``bias`` (channels,).
    Input: (N, in_channels, W). Output: (N, channels, W'), where
    ``W' = (W - 1) * strides - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``.
    """

    _axes = 1

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = 1,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, op_name="Deconvolution", adj=output_padding,
            **kwargs,
        )  # fmt: skip


class Conv2DTranspose(_Conv):
    """Transposed convolution over two axes: :class:`Conv1DTranspose` for an input
    (N, in_channels, H, W). The base class describes the arguments."""

    _axes = 2

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1),
        padding: PerAxis = (0, 0),
        output_padding: PerAxis = (0, 0),
        dilation: PerAxis = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, op_name="Deconvolution", adj=output_padding,
            **kwargs,
        )  # fmt: skip


class Conv3DTranspose(_Conv):
    """Transposed convolution over three axes: :class:`Conv1DTranspose` for an input
    (N, in_channels, D, H, W). The base class describes the arguments."""

    _axes = 3

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1, 1),
        padding: PerAxis = (0, 0, 0),
        output_padding: PerAxis = (0, 0, 0),
        dilation: PerAxis = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(
            channels, kernel_size, strides=strides, padding=padding, dilation=dilation,
            groups=groups, layout=layout, in_channels=in_channels, activation=activation,
            use_bias=use_bias, weight_initializer=weight_initializer,
            bias_initializer=bias_initializer, op_name="Deconvolution", adj=output_padding,
            **kwargs,
        )  # fmt: skip


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
