"""Recurrent cells with convolutions, for sequences of images."""

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from .. import symbol as sym
from .._support.described_arguments import DescribesArguments
from ..errors import ArgumentValueError
from ..ops.nn.recurrent_cells import gru_step, lstm_gates, lstm_step, rnn_step
from ..ops.nn.rnn_parameters import GATE_NAMES
from ..symbol import Symbol
from ._base_cell import Activation, BaseRNNCell, RNNParams, StateInfo, States, apply_activation

Pair: TypeAlias = tuple[int, int]
_leaky = functools.partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(DescribesArguments, BaseRNNCell):
    """Base of cells whose gates are convolutions of the input and the state.

    input_shape
        The shape of one step's input, with batch, in ``conv_layout``.
    num_hidden
        The number of channels of output and states.
    h2h_kernel, h2h_dilate
        The convolution of the state, which keeps its size. Raises AssertionError for an even
        kernel.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate
        The convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the variables, or their JSON texts.
    activation
        The name of a function of Activation, or a function of symbols.
    prefix
        The beginning of names; None: the prefix of the class, such as 'ConvLSTM_'.
    """

    _default_prefix: ClassVar[str] = ""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Pair = (3, 3),
        h2h_dilate: Pair = (1, 1),
        i2h_kernel: Pair = (3, 3),
        i2h_stride: Pair = (1, 1),
        i2h_pad: Pair = (1, 1),
        i2h_dilate: Pair = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Activation = _leaky,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(self._default_prefix if prefix is None else prefix, params)
        if any(n % 2 == 0 for n in h2h_kernel[:2]):
            problem = f"{h2h_kernel}, expected odd numbers, which keep the state's size"
            raise ArgumentValueError(f"{type(self).__name__}: h2h_kernel", problem)
        self._num_hidden = num_hidden
        self._conv_layout = conv_layout
        self._activate = functools.partial(apply_activation, activation=activation)
        self._i2h: dict[str, Any] = {
            "kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate,
            "layout": conv_layout,
        }  # fmt: skip
        pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        self._h2h: dict[str, Any] = {
            "kernel": h2h_kernel, "dilate": h2h_dilate, "pad": pad, "stride": (1, 1),
            "layout": conv_layout,
        }  # fmt: skip
        probe = sym.Convolution(data=sym.var("data"), num_filter=num_hidden, **self._i2h)
        self._state_shape = (0, *probe.infer_shape(data=tuple(input_shape))[1][0][1:])
        initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        self._variables = {n: self.params.get(n, init=i) for n, i in initializers.items()}

    @property
    def state_info(self) -> list[StateInfo]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    def _conv_forward(self, inputs: Symbol, states: States, name: str) -> tuple[Symbol, Symbol]:
        i2h, h2h = (
            sym.Convolution(
                name=name + group,
                data=data,
                num_filter=self._num_hidden * len(self._gate_names),
                weight=self._variables[f"{group}_weight"],
                bias=self._variables[f"{group}_bias"],
                **options,
            )
            for group, data, options in (("i2h", inputs, self._i2h), ("h2h", states[0], self._h2h))
        )
        return i2h, h2h


class ConvRNNCell(BaseConvRNNCell):
    """``h' = activation(W * x + b + R * h + c)`` with convolutions. The base class describes
    the arguments."""

    _default_prefix = "ConvRNN_"
    _gate_names = GATE_NAMES["rnn_tanh"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        return rnn_step(sym, i2h, h2h, name, self._activate)


class ConvLSTMCell(BaseConvRNNCell):
    """LSTM with convolutions; ``activation`` replaces LSTM's tanh. The base class describes the
    arguments. Shi et al. 2015, https://arxiv.org/abs/1506.04214, without its peepholes."""

    _default_prefix = "ConvLSTM_"
    _gate_names = GATE_NAMES["lstm"]

    @property
    def state_info(self) -> list[StateInfo]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        gates = lstm_gates(sym, i2h, h2h, name, self._conv_layout.find("C"))
        return lstm_step(sym, gates, states[1], name, self._activate)


class ConvGRUCell(BaseConvRNNCell):
    """GRU with convolutions; ``activation`` replaces GRU's tanh. The base class describes the
    arguments. As in MXNet, channels must be axis 1 of ``conv_layout``."""

    _default_prefix = "ConvGRU_"
    _gate_names = GATE_NAMES["gru"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        return gru_step(sym, i2h, h2h, states[0], name, activate=self._activate, separator="_")
