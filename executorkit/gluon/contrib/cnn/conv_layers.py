"""Layers of ``mx.gluon.contrib.cnn``: deformable convolutions."""

import inspect
import math

from ...._support.described_arguments import DescribesArguments
from ..._hybrid_block import HybridBlock
from ..._parameter_dict import ParameterDict
from ..._types import Init, Ops, PerAxis, Tensor
from ...nn import Activation
from ...nn.layer_windows import convolution_text, per_axis, weight_shape


class _Deformable(DescribesArguments, HybridBlock):
    """Base of deformable convolutions: a first convolution computes where the second one reads.

    channels
        The number of output channels.
    kernel_size, strides, padding, dilation
        The window of both convolutions: a number, or one for each of the two axes.
    groups
        The number of groups of channels; a group's outputs depend on its inputs only.
    num_deformable_group
        The number of groups of input channels that have offsets of their own.
    layout
        The order of the axes, 'NCHW'.
    use_bias, offset_use_bias
        Whether the second and the first convolution add a bias to each channel.
    in_channels
        The number of input channels. 0: taken from the first input.
    activation
        The name of an :class:`Activation` of the output, or None.
    weight_initializer, bias_initializer
        The initializers of the second convolution.
    offset_weight_initializer, offset_bias_initializer
        The initializers of the first convolution; with zeros nothing is deformed at first.
    op_name
        The operator of ``contrib``; None: the class's.
    adj
        None, as in MXNet: neither operator has this attribute (AttributeValueError).
    """

    _operator = "DeformableConvolution"
    #: Number of outputs of the first convolution for each position of the window.
    _per_position = 2
    #: Parameters in MXNet's order.
    _order: tuple[str, ...] = (
        "offset_weight", "offset_bias", "deformable_conv_weight", "deformable_conv_bias",
    )  # fmt: skip
    deformable_conv_weight: Tensor
    __signature__: inspect.Signature

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        known = {"op_name": cls._operator}
        parameters = [p.replace(default=known.get(p.name, p.default)) for p in parameters]
        cls.__signature__ = inspect.Signature(parameters)

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis = (1, 1),
        strides: PerAxis = (1, 1),
        padding: PerAxis = (0, 0),
        dilation: PerAxis = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        offset_weight_initializer: Init = "zeros",
        offset_bias_initializer: Init = "zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj: PerAxis | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        HybridBlock.__init__(self, prefix=prefix, params=params)
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name or self._operator
        kernel = per_axis(kernel_size, 2)
        positions = math.prod(kernel) * num_deformable_group
        offsets = self._per_position * positions
        windows = {
            "kernel": kernel,
            "stride": per_axis(strides, 2),
            "dilate": per_axis(dilation, 2),
            "pad": per_axis(padding, 2),
            **({} if adj is None else {"adj": adj}),
        }
        self.offset_split_index = 2 * positions
        self._kwargs_offset = {
            **windows, "num_filter": offsets, "num_group": groups,
            "no_bias": not offset_use_bias, "layout": layout,
        }  # fmt: skip
        self._kwargs_deformable_conv = {
            **windows, "num_filter": channels, "num_group": groups,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias, "layout": layout,
        }  # fmt: skip
        shape = weight_shape("Convolution", in_channels, self._kwargs_offset)
        parameters = {
            "offset_weight": (shape, offset_weight_initializer),
            "offset_bias": ((offsets,), offset_bias_initializer),
            "deformable_conv_weight": ((channels, 0, *kernel), weight_initializer),
            "deformable_conv_bias": ((channels,), bias_initializer),
        }
        absent = {"offset_bias": not offset_use_bias, "deformable_conv_bias": not use_bias}
        with self.name_scope():
            for name in self._order:
                shape, init = parameters[name]
                parameter = None
                if not absent.get(name):
                    options = {"shape": shape, "init": init, "allow_deferred_init": True}
                    parameter = self.params.get(name, **options)
                setattr(self, name, parameter)
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def _offsets(self, F: Ops, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        return F.Convolution(*inputs, cudnn_off=True, **self._kwargs_offset)

    def _deformed(self, F: Ops, *inputs: Tensor) -> Tensor:
        operator = getattr(F.contrib, self._op_name)
        inputs = inputs if inputs[-1] is not None else inputs[:-1]
        out = operator(*inputs, name="fwd", **self._kwargs_deformable_conv)
        return out if self.act is None else self.act(out)


class DeformableConvolution(_Deformable):
    """Deformable convolution. The base class describes the arguments.

    Parameters: ``offset_weight`` and ``offset_bias`` with 2 outputs per position and group,
    ``deformable_conv_weight`` (channels, in_channels / groups, *kernel_size),
    ``deformable_conv_bias`` (channels,). Input: (N, in_channels, H, W). Output: (N, channels, H',
    W'), as Conv2D's. Dai et al., arXiv:1703.06211.
    """

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self, F: Ops, x: Tensor, offset_weight: Tensor, deformable_conv_weight: Tensor,
        offset_bias: Tensor = None, deformable_conv_bias: Tensor = None,
    ) -> Tensor:  # fmt: skip
        offset = self._offsets(F, x, offset_weight, offset_bias)
        return self._deformed(F, x, offset, deformable_conv_weight, deformable_conv_bias)

    def __repr__(self) -> str:
        weight = self.deformable_conv_weight.shape
        return convolution_text(self, weight, self._kwargs_deformable_conv)


class ModulatedDeformableConvolution(_Deformable):
    """:class:`DeformableConvolution` whose values are multiplied by a mask between 0 and 2: the
    first convolution has 3 outputs per position and group. Zhu et al., arXiv:1811.11168. The base
    class describes the arguments."""

    _per_position = 3
    _order = (
        "deformable_conv_weight", "deformable_conv_bias", "offset_weight", "offset_bias",
    )  # fmt: skip
    _operator = "ModulatedDeformableConvolution"

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def hybrid_forward(
        self, F: Ops, x: Tensor, offset_weight: Tensor, deformable_conv_weight: Tensor,
        offset_bias: Tensor = None, deformable_conv_bias: Tensor = None,
    ) -> Tensor:  # fmt: skip
        both = self._offsets(F, x, offset_weight, offset_bias)
        offset = F.slice_axis(both, axis=1, begin=0, end=self.offset_split_index)
        mask = F.slice_axis(both, axis=1, begin=self.offset_split_index, end=None)
        mask = F.sigmoid(mask) * 2
        return self._deformed(F, x, offset, mask, deformable_conv_weight, deformable_conv_bias)
