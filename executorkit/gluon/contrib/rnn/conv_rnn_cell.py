"""``mx.gluon.contrib.rnn.conv_rnn_cell``: cells whose gates are convolutions, for sequences of
images and other arrays with one, two or three axes.

>>> import executorkit as mx
>>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((3, 6, 6), 2, 3, 3, i2h_pad=1)
>>> cell.initialize()
>>> cell.unroll(4, mx.nd.ones((1, 4, 3, 6, 6)), merge_outputs=True)[0].shape
(1, 4, 2, 6, 6)
>>> cell
Conv2DLSTMCell(3 -> 8, tanh, NCHW)
"""

from collections.abc import Callable, Sequence
from typing import Any

from ....errors import ArgumentValueError
from ..._layer_windows import PerAxis, per_axis, with_defaults
from ...rnn import HybridRecurrentCell

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class _BaseConvRNNCell(HybridRecurrentCell):
    """Base of cells with gates that are convolutions of the input and of the state.

    input_shape
        the shape of one step's input without its batch, in ``conv_layout``.
    hidden_channels
        number of channels of output and states, H.
    i2h_kernel, i2h_pad, i2h_dilate
        convolution of the input.
    h2h_kernel, h2h_dilate
        convolution of the state, which preserves its size: kernels are odd (else AssertionError).
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        initializers of the parameters.
    conv_layout
        'NCW', 'NCHW', 'NCDHW', or with the channels last.
    activation
        the name of one of Activation's functions, a LeakyReLU, or a function.

    Parameters: ``i2h_weight`` (G H, C, *i2h_kernel), ``h2h_weight`` (G H, H, *h2h_kernel),
    ``i2h_bias`` and ``h2h_bias`` (G H,) for G gates.
    """

    #: Number of axes beside batch and channels, of gates, and of states.
    _axes = 0
    _gates = 1
    _states = 1
    i2h_weight: Any

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: PerAxis,
        h2h_kernel: PerAxis,
        i2h_pad: PerAxis = 0,
        i2h_dilate: PerAxis = 1,
        h2h_dilate: PerAxis = 1,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        HybridRecurrentCell.__init__(self, prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = input_shape
        self._conv_layout = conv_layout
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
        self._convolutions: dict[str, dict[str, Any]] = {
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
        for name, shape, init in (
            ("i2h_weight", (rows, *i2h_shape), i2h_weight_initializer),
            ("h2h_weight", (rows, *h2h_shape), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def _checked(self, name: str, value: Any) -> tuple[int, ...]:
        numbers = tuple(per_axis(value, self._axes))
        if len(numbers) != self._axes:
            problem = f"{value!r}, expected a number or {self._axes} of them"
            raise ArgumentValueError(f"{type(self).__name__}: {name}", problem)
        return numbers

    def _with_channels(self, channels: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """A shape of these sizes, with the channels where the layout has them."""
        at = self._channel_axis - 1
        return (*sizes[:at], channels, *sizes[at:])

    def _alias(self) -> str:
        return "conv_" + type(self).__name__[6:-4].lower()

    def __repr__(self) -> str:
        weight = self.i2h_weight.shape
        sizes = f"{weight[self._channel_axis]} -> {weight[0]}"
        return f"{type(self).__name__}({sizes}, {self._activation}, {self._conv_layout})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [
            {"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}
            for _ in range(self._states)
        ]

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
        i2h_bias: Any, h2h_bias: Any,
    ) -> Any:  # fmt: skip
        prefix = self._step_prefix()
        i2h, h2h = (
            F.Convolution(
                data=data, weight=weight, bias=bias, name=prefix + group,
                **self._convolutions[group],
            )
            for group, data, weight, bias in (
                ("i2h", inputs, i2h_weight, i2h_bias), ("h2h", states[0], h2h_weight, h2h_bias)
            )
        )  # fmt: skip
        return self._step(F, i2h, h2h, states, prefix)

    def _step(self, F: Any, i2h: Any, h2h: Any, states: Any, name: str) -> Any:
        """Output and new states, from the gates of input and state."""
        raise NotImplementedError

    def _split(self, F: Any, gates: Any, name: str) -> Any:
        """The gates, one by one."""
        return F.SliceChannel(gates, num_outputs=self._gates, axis=self._channel_axis, name=name)


class _ConvRNNCell(_BaseConvRNNCell):
    """``h' = activation(W * x + b + R * h + c)`` with convolutions."""

    def _step(self, F: Any, i2h: Any, h2h: Any, states: Any, name: str) -> Any:
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell):
    """LSTM with convolutions; ``activation`` replaces LSTM's tanh. Shi et al. 2015,
    https://arxiv.org/abs/1506.04214, without its peepholes."""

    _gates = 4
    _states = 2

    def _step(self, F: Any, i2h: Any, h2h: Any, states: Any, name: str) -> Any:
        i, f, g, o = self._split(F, i2h + h2h, f"{name}slice")
        i = F.Activation(i, act_type="sigmoid", name=f"{name}i")
        f = F.Activation(f, act_type="sigmoid", name=f"{name}f")
        g = self._get_activation(F, g, self._activation, name=f"{name}c")
        o = F.Activation(o, act_type="sigmoid", name=f"{name}o")
        cell = F._internal._plus(f * states[1], i * g, name=f"{name}state")
        shown = self._get_activation(F, cell, self._activation)
        output = F._internal._mul(o, shown, name=f"{name}out")
        return output, [output, cell]


class _ConvGRUCell(_BaseConvRNNCell):
    """GRU with convolutions; ``activation`` replaces GRU's tanh."""

    _gates = 3

    def _step(self, F: Any, i2h: Any, h2h: Any, states: Any, name: str) -> Any:
        x_r, x_z, x_n = self._split(F, i2h, f"{name}i2h_slice")
        h_r, h_z, h_n = self._split(F, h2h, f"{name}h2h_slice")
        r = F.Activation(x_r + h_r, act_type="sigmoid", name=f"{name}r_act")
        z = F.Activation(x_z + h_z, act_type="sigmoid", name=f"{name}z_act")
        new = self._get_activation(F, x_n + r * h_n, self._activation, name=f"{name}h_act")
        output = F._internal._plus((1.0 - z) * new, z * states[0], name=f"{name}out")
        return output, [output]


def _cell(name: str, base: type[_BaseConvRNNCell], axes: int) -> Any:
    """The class of a cell over one, two or three axes."""
    init: Callable[..., None] = with_defaults(
        base.__init__, i2h_pad=(0,) * axes, i2h_dilate=(1,) * axes, h2h_dilate=(1,) * axes,
        conv_layout=_LAYOUTS[axes],
    )  # fmt: skip
    doc = f"{base.__doc__}\n\n    Over {axes} axes. Arguments are those of its base class.\n    "
    attributes = {"__init__": init, "__doc__": doc, "__module__": __name__, "_axes": axes}
    return type(name, (base,), attributes)


Conv1DRNNCell = _cell("Conv1DRNNCell", _ConvRNNCell, 1)
Conv2DRNNCell = _cell("Conv2DRNNCell", _ConvRNNCell, 2)
Conv3DRNNCell = _cell("Conv3DRNNCell", _ConvRNNCell, 3)
Conv1DLSTMCell = _cell("Conv1DLSTMCell", _ConvLSTMCell, 1)
Conv2DLSTMCell = _cell("Conv2DLSTMCell", _ConvLSTMCell, 2)
Conv3DLSTMCell = _cell("Conv3DLSTMCell", _ConvLSTMCell, 3)
Conv1DGRUCell = _cell("Conv1DGRUCell", _ConvGRUCell, 1)
Conv2DGRUCell = _cell("Conv2DGRUCell", _ConvGRUCell, 2)
Conv3DGRUCell = _cell("Conv3DGRUCell", _ConvGRUCell, 3)
