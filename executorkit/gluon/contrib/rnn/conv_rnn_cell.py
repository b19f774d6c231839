"""``mx.gluon.contrib.rnn.conv_rnn_cell``: cells with convolutions over one, two and three axes.

>>> import executorkit as mx
>>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((3, 6, 6), 2, 3, 3, i2h_pad=1)
>>> cell.initialize()
>>> cell.unroll(4, mx.nd.ones((1, 4, 3, 6, 6)), merge_outputs=True)[0].shape
(1, 4, 2, 6, 6)
>>> cell
Conv2DLSTMCell(3 -> 8, tanh, NCHW)
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ....errors import ArgumentValueError
from ....ops.nn.recurrent_cells import Activate, gru_step, lstm_gates, lstm_step, rnn_step
from ..._parameter_dict import ParameterDict
from ..._types import Init, Ops, PerAxis, States, Tensor
from ...nn.layer_windows import per_axis
from ...rnn.rnn_cell import GatedCell


class _BaseConvRNNCell(GatedCell):
    """Base of cells whose gates are convolutions of the input and the state.

    input_shape
        The shape of one step's input without its batch, in ``conv_layout``.
    hidden_channels
        The number of channels of output and states, H.
    i2h_kernel, i2h_pad, i2h_dilate
        Window, padding and dilation of the input's convolution: a number, or one for each axis.
    h2h_kernel, h2h_dilate
        Window and dilation of the state's convolution, which keeps the size of the state.
        ArgumentValueError (an AssertionError) for an even window.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        The initializers of the parameters.
    conv_layout
        The order of the axes: 'NCW', 'NCHW' or 'NCDHW', or with the channels last.
    activation
        The name of a function of Activation, a LeakyReLU, or a function.

    Parameters: ``i2h_weight`` (G H, C, *i2h_kernel), ``h2h_weight`` (G H, H, *h2h_kernel),
    ``i2h_bias`` and ``h2h_bias`` (G H,) for G gates.
    """

    #: Number of axes beside batch and channels.
    _axes = 0
    _operator = "Convolution"

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: PerAxis,
        h2h_kernel: PerAxis,
        i2h_pad: PerAxis = 0,
        i2h_dilate: PerAxis = 1,
        h2h_dilate: PerAxis = 1,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        GatedCell.__init__(self, prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = input_shape
        self._conv_layout = self._state_layout = conv_layout
        self._activation = activation
        self._channel_axis = conv_layout.find("C")
        i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate = (
            self._checked(name, value)
            for name, value in (
                ("i2h_kernel", i2h_kernel), ("h2h_kernel", h2h_kernel), ("i2h_pad", i2h_pad),
                ("i2h_dilate", i2h_dilate), ("h2h_dilate", h2h_dilate),
            )
        )  # fmt: skip
        if any(n % 2 == 0 for n in h2h_kernel):
            problem = f"{h2h_kernel}, expected odd numbers, which keep the state's size"
            raise ArgumentValueError(f"{type(self).__name__}: h2h_kernel", problem)
        h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        ones = (1,) * self._axes
        self._attributes = {
            group: {
                "kernel": kernel, "stride": ones, "pad": pad, "dilate": dilate,
                "layout": conv_layout, "num_filter": hidden_channels * self._gates,
            }
            for group, kernel, pad, dilate in (
                ("i2h", i2h_kernel, i2h_pad, i2h_dilate), ("h2h", h2h_kernel, h2h_pad, h2h_dilate),
            )
        }  # fmt: skip
        at = self._channel_axis - 1
        sizes = [n for i, n in enumerate(input_shape) if i != at]
        state_sizes = tuple(
            size and size + 2 * pad - dilate * (kernel - 1)
            for size, kernel, pad, dilate in zip(
                sizes, i2h_kernel, i2h_pad, i2h_dilate, strict=False
            )
        )
        self._state_shape = self._with_channels(hidden_channels, state_sizes)
        rows = hidden_channels * self._gates
        i2h_shape = self._with_channels(input_shape[at], i2h_kernel)
        h2h_shape = self._with_channels(hidden_channels, h2h_kernel)
        self._make_parameters(
            ("i2h_weight", (rows, *i2h_shape), i2h_weight_initializer),
            ("h2h_weight", (rows, *h2h_shape), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        )

    def _checked(self, name: str, value: Any) -> tuple[int, ...]:
        numbers = tuple(per_axis(value, self._axes))
        if len(numbers) != self._axes:
            problem = f"{value!r}, expected a number or {self._axes} of them"
            raise ArgumentValueError(f"{type(self).__name__}: {name}", problem)
        return numbers

    def _with_channels(self, channels: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        at = self._channel_axis - 1
        return (*sizes[:at], channels, *sizes[at:])

    def _alias(self) -> str:
        return "conv_" + type(self).__name__[6:-4].lower()

    def __repr__(self) -> str:
        weight = self.i2h_weight.shape
        sizes = f"{weight[self._channel_axis]} -> {weight[0]}"
        return f"{type(self).__name__}({sizes}, {self._activation}, {self._conv_layout})"

    def _activate(self, F: Ops) -> Activate:
        return partial(self._get_activation, F, activation=self._activation)


class _ConvRNNCell(_BaseConvRNNCell):
    """Recurrent cell ``h' = activation(W * x + b + R * h + c)`` with convolutions. The base class
    describes the arguments."""

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
        return rnn_step(F, i2h, h2h, name, self._activate(F))


class _ConvLSTMCell(_BaseConvRNNCell):
    """LSTM with convolutions; ``activation`` replaces LSTM's tanh. The base class describes the
    arguments. Shi et al. 2015, https://arxiv.org/abs/1506.04214, without its peepholes."""

    _gates = 4
    _states = 2

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
        gates = lstm_gates(F, i2h, h2h, name, self._channel_axis)
        return lstm_step(F, gates, states[1], name, self._activate(F))


class _ConvGRUCell(_BaseConvRNNCell):
    """GRU with convolutions; ``activation`` replaces GRU's tanh. The base class describes the
    arguments."""

    _gates = 3

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
        activate, axis = self._activate(F), self._channel_axis
        return gru_step(F, i2h, h2h, states[0], name, activate=activate, axis=axis)


class _Over1D(_BaseConvRNNCell):
    _axes = 1

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: PerAxis,
        h2h_kernel: PerAxis,
        i2h_pad: PerAxis = (0,),
        i2h_dilate: PerAxis = (1,),
        h2h_dilate: PerAxis = (1,),
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad=i2h_pad,
            i2h_dilate=i2h_dilate, h2h_dilate=h2h_dilate,
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer, h2h_bias_initializer=h2h_bias_initializer,
            conv_layout=conv_layout, activation=activation, prefix=prefix, params=params,
        )  # fmt: skip


class _Over2D(_BaseConvRNNCell):
    _axes = 2

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: PerAxis,
        h2h_kernel: PerAxis,
        i2h_pad: PerAxis = (0, 0),
        i2h_dilate: PerAxis = (1, 1),
        h2h_dilate: PerAxis = (1, 1),
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad=i2h_pad,
            i2h_dilate=i2h_dilate, h2h_dilate=h2h_dilate,
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer, h2h_bias_initializer=h2h_bias_initializer,
            conv_layout=conv_layout, activation=activation, prefix=prefix, params=params,
        )  # fmt: skip


class _Over3D(_BaseConvRNNCell):
    _axes = 3

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: PerAxis,
        h2h_kernel: PerAxis,
        i2h_pad: PerAxis = (0, 0, 0),
        i2h_dilate: PerAxis = (1, 1, 1),
        h2h_dilate: PerAxis = (1, 1, 1),
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad=i2h_pad,
            i2h_dilate=i2h_dilate, h2h_dilate=h2h_dilate,
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer, h2h_bias_initializer=h2h_bias_initializer,
            conv_layout=conv_layout, activation=activation, prefix=prefix, params=params,
        )  # fmt: skip


class Conv1DRNNCell(_Over1D, _ConvRNNCell):
    pass


class Conv2DRNNCell(_Over2D, _ConvRNNCell):
    pass


class Conv3DRNNCell(_Over3D, _ConvRNNCell):
    pass


class Conv1DLSTMCell(_Over1D, _ConvLSTMCell):
    pass


class Conv2DLSTMCell(_Over2D, _ConvLSTMCell):
    pass


class Conv3DLSTMCell(_Over3D, _ConvLSTMCell):
    pass


class Conv1DGRUCell(_Over1D, _ConvGRUCell):
    pass


class Conv2DGRUCell(_Over2D, _ConvGRUCell):
    pass


class Conv3DGRUCell(_Over3D, _ConvGRUCell):
    pass
