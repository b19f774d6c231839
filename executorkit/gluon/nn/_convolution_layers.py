"""Convolutions over one, two and three axes, and their transposes.

>>> import executorkit as mx
>>> layer = mx.gluon.nn.Conv2D(8, kernel_size=3, padding=1)
>>> layer.initialize()
>>> layer(mx.nd.ones((2, 4, 6, 5))).shape
(2, 8, 6, 5)
>>> layer
Conv2D(4 -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
"""

from typing import Any

from .._hybrid_block import HybridBlock
from .._layer_windows import (
    PerAxis,
    check_layout,
    check_windows,
    convolution_text,
    over_axes,
    per_axis,
    weight_shape,
)
from ._activations import activation_of

#: Arguments whose defaults MXNet repeats for each axis.
_REPEATED = ("strides", "padding", "dilation", "output_padding")


class _Conv(HybridBlock):
    """Base of all convolutions.

    channels
        number of output channels.
    kernel_size, strides, padding, dilation
        of the window: a number, or one for each axis. Transposed: padding is cut from the output.
    output_padding
        (transposed) added to the output at the end of each axis; less than the stride.
    groups
        number of groups of channels that do not see each other.
    layout
        order of the axes of input and output.
    activation
        name of an :class:`Activation` of the output; None for none.
    use_bias
        whether ``bias`` is added to each channel.
    weight_initializer, bias_initializer
        of the parameters.
    in_channels
        number of input channels; 0: known when the layer is first called.

    Errors are those of the operator, at once: ShapeError for windows or groups that do not fit.
    """

    _axes: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._construct(*args, **kwargs)

    def _construct(
        self,
        channels: int,
        kernel_size: Any,
        strides: PerAxis,
        padding: PerAxis,
        dilation: PerAxis,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        op_name: str = "Convolution",
        adj: PerAxis | None = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        """``__init__`` with arguments for any number of axes."""
        HybridBlock.__init__(self, prefix=prefix, params=params)
        axes = len(kernel_size)
        with self.name_scope():
            self._channels = channels
            self._in_channels = in_channels
            self._op_name = op_name
            self._kwargs = {
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
            self.weight: Any = self.params.get(
                "weight",
                shape=weight_shape(op_name, in_channels, self._kwargs),
                init=weight_initializer,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = activation_of(activation)

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return convolution_text(self, self.weight.shape, self._kwargs)


def convolution(
    self: _Conv,
    channels: int,
    kernel_size: PerAxis,
    strides: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    layout: str = "NCW",
    activation: str | None = None,
    use_bias: bool = True,
    weight_initializer: Any = None,
    bias_initializer: Any = "zeros",
    in_channels: int = 0,
    **kwargs: Any,
) -> None:
    where, axes = type(self).__name__, self._axes
    check_layout(where, axes, layout, channels_last=axes > 1)
    kernel_size = per_axis(kernel_size, axes)
    check_windows(where, axes, kernel_size=kernel_size)
    self._construct(
        channels,
        kernel_size,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        layout=layout,
        in_channels=in_channels,
        activation=activation,
        use_bias=use_bias,
        weight_initializer=weight_initializer,
        bias_initializer=bias_initializer,
        **kwargs,
    )


def transposed_convolution(
    self: _Conv,
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
    weight_initializer: Any = None,
    bias_initializer: Any = "zeros",
    in_channels: int = 0,
    **kwargs: Any,
) -> None:
    output_padding = per_axis(output_padding, self._axes)
    check_windows(type(self).__name__, self._axes, output_padding=output_padding)
    convolution(
        self,
        channels,
        kernel_size,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        layout=layout,
        activation=activation,
        use_bias=use_bias,
        weight_initializer=weight_initializer,
        bias_initializer=bias_initializer,
        in_channels=in_channels,
        op_name="Deconvolution",
        adj=output_padding,
        **kwargs,
    )
    self.outpad = output_padding


class Conv1D(_Conv):
    """Convolution over one axis; arguments are those of its base class.

    Parameters: ``weight`` (channels, in_channels / groups, kernel), ``bias`` (channels,).
    Input: (N, in_channels, W). Output: (N, channels, W'), where
    ``W' = (W + 2 * padding - dilation * (kernel_size - 1) - 1) // strides + 1``.
    """

    _axes = 1
    __init__ = convolution


class Conv2D(_Conv):
    """Convolution over two axes; as :class:`Conv1D`, with (N, in_channels, H, W) as input.

    With the layout 'NHWC' the weight is (channels, kernel_h, kernel_w, in_channels / groups).
    """

    _axes = 2
    __init__ = over_axes(convolution, 2, _REPEATED)


class Conv3D(_Conv):
    """Convolution over three axes; as :class:`Conv1D`, with (N, in_channels, D, H, W) as input.

    With the layout 'NDHWC' the channels come last in the weight too.
    """

    _axes = 3
    __init__ = over_axes(convolution, 3, _REPEATED)


class Conv1DTranspose(_Conv):
    """Transposed convolution over one axis, the gradient of :class:`Conv1D` with respect to its
    input; arguments are those of its base class.

    Parameters: ``weight`` (in_channels, channels / groups, kernel), ``bias`` (channels,).
    Input: (N, in_channels, W). Output: (N, channels, W'), where
    ``W' = (W - 1) * strides - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``.
    """

    _axes = 1
    __init__ = transposed_convolution


class Conv2DTranspose(_Conv):
    """Transposed convolution over two axes; as :class:`Conv1DTranspose`, with
    (N, in_channels, H, W) as input."""

    _axes = 2
    __init__ = over_axes(transposed_convolution, 2, _REPEATED)


class Conv3DTranspose(_Conv):
    """Transposed convolution over three axes; as :class:`Conv1DTranspose`, with
    (N, in_channels, D, H, W) as input."""

    _axes = 3
    __init__ = over_axes(transposed_convolution, 3, _REPEATED)
