"""Recurrent layers, each one operator for all steps."""

from collections.abc import Iterator, Sequence
from typing import Any

from ... import ndarray, symbol
from ..._support.annotations import Attrs, Function
from ..._support.described_arguments import DescribesArguments
from ...errors import ArgumentValueError, UnknownNameError
from ...ndarray import NDArray
from ...ndarray.array_classes import as_new_arrays
from ...ops.nn.rnn_parameters import GATE_NAMES
from .._hybrid_block import HybridBlock
from .._parameter import tensor_types
from .._types import DType, Init, Ops, StateInfo, States, Tensor
from . import rnn_cell

_GROUPS = ("i2h", "h2h")


class _RNNLayer(DescribesArguments, HybridBlock):
    """Base of recurrent layers.

    hidden_size
        The number of units of a layer, H.
    num_layers
        The number of layers, L.
    layout
        The axes of input and output, 'TNC' or 'NTC'; 'TNC' saves two transpositions.
    dropout
        The fraction of each layer's output that is dropped in training before the next layer.
    bidirectional
        Whether each layer runs in both directions: D = 2, else D = 1.
    input_size
        The number of features of the input, I. 0: taken from the first input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        The initializers of the parameters.
    dtype
        The dtype of parameters and states.
    use_sequence_length
        Whether calls have a ``sequence_length`` (N,), the number of steps of each row: later
        outputs are zero, states are the states after the last step, and the backward direction
        begins there. (MXNet's CPU build ignores it, and has no graph with it except for LSTM.)

    Parameters of each layer and direction ('l0_', 'r0_', 'l1_', ...): ``i2h_weight`` (G H, I; D H
    from the second layer on), ``h2h_weight`` (G H, H), ``i2h_bias`` and ``h2h_bias`` (G H,), for G
    gates. Files have the names of equal cells: '_unfused.0.i2h_weight', with both directions
    '_unfused.0.l_cell.i2h_weight'; names of ``save_params`` ('l0_i2h_weight') load, too.

    Input: (T, N, I) in ``layout``. Output: (T, N, D H). With states, (L D, N, H) in either layout,
    a call returns (output, states). Raises ValueError for states of another shape.
    """

    l0_i2h_weight: Any

    def __init__(
        self,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        i2h_weight_initializer: Init,
        h2h_weight_initializer: Init,
        i2h_bias_initializer: Init,
        h2h_bias_initializer: Init,
        mode: str,
        projection_size: int | None,
        h2r_weight_initializer: Init = None,
        lstm_state_clip_min: float | None = None,
        lstm_state_clip_max: float | None = None,
        lstm_state_clip_nan: bool = False,
        dtype: DType = "float32",
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            problem = f"{layout!r}, expected 'TNC' or 'NTC'"
            raise ArgumentValueError(f"{type(self).__name__}: layout", problem)
        self._hidden_size = hidden_size
        self._projection_size = projection_size
        self._num_layers = num_layers
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._initializers = {
            "i2h_weight_initializer": i2h_weight_initializer,
            "h2h_weight_initializer": h2h_weight_initializer,
            "i2h_bias_initializer": i2h_bias_initializer,
            "h2h_bias_initializer": h2h_bias_initializer,
        }
        self._clipping = {
            "lstm_state_clip_min": lstm_state_clip_min,
            "lstm_state_clip_max": lstm_state_clip_max,
            "lstm_state_clip_nan": lstm_state_clip_nan,
        }
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        #: True if calls return no states, because they are given none.
        self.skip_states: bool | None = None
        if mode not in GATE_NAMES:
            problem = f"{mode.partition('_')[2]!r}, expected 'relu' or 'tanh'"
            raise UnknownNameError(f"{type(self).__name__}: activation", problem)
        self._gates = len(GATE_NAMES[mode])
        rows, outputs = self._gates * hidden_size, projection_size or hidden_size
        features = input_size
        for cell in self._cells():
            if not cell.startswith(("l0", "r0")):
                features = outputs * self._dir
            self._register_param(f"{cell}_i2h_weight", (rows, features), i2h_weight_initializer)
            self._register_param(f"{cell}_h2h_weight", (rows, outputs), h2h_weight_initializer)
            self._register_param(f"{cell}_i2h_bias", (rows,), i2h_bias_initializer)
            self._register_param(f"{cell}_h2h_bias", (rows,), h2h_bias_initializer)
            if projection_size is not None:
                shape = projection_size, hidden_size
                self._register_param(f"{cell}_h2r_weight", shape, h2r_weight_initializer)

    def _cells(self) -> Iterator[str]:
        for layer in range(self._num_layers):
            for direction in "lr"[: self._dir]:
                yield f"{direction}{layer}"

    def _register_param(self, name: str, shape: tuple[int, ...], init: Init) -> None:
        parameter = self.params.get(
            name, shape=shape, init=init, allow_deferred_init=True, dtype=self._dtype
        )
        setattr(self, name, parameter)

    def __repr__(self) -> str:
        features = self.l0_i2h_weight.shape[1] or None
        parts = [f"{features} -> {self.l0_i2h_weight.shape[0] // self._gates}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> Attrs:
        prefix = prefix + "." if prefix else ""

        def in_file(name: str) -> str:
            layer, _, parameter = name[1:].partition("_")
            inside = f"{name[0]}_cell." if self._dir == 2 else ""
            return f"{prefix}_unfused.{layer}.{inside}{parameter}"

        parameters = {in_file(name): value for name, value in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(prefix + name))
        return parameters

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns shape, layout and dtype of each state."""
        return [
            {
                "shape": (self._num_layers * self._dir, batch_size, size),
                "__layout__": "LNC",
                "dtype": self._dtype,
            }
            for size in self._state_sizes()
        ]

    def _state_sizes(self) -> Sequence[int]:
        return (self._hidden_size,)

    def cast(self, dtype: DType) -> None:
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(
        self, batch_size: int = 0, func: Function = ndarray.zeros, **kwargs: Any
    ) -> list[Any]:
        """Returns the states before the first step; see :meth:`RecurrentCell.begin_state`."""
        return [
            as_new_arrays([func(name=f"{self.prefix}h0_{i}", **{**info, **kwargs})])[0]
            for i, info in enumerate(self.state_info(batch_size))
        ]

    def _unfuse(self) -> rnn_cell.HybridSequentialRNNCell:
        """Returns the same layers as a stack of cells with the same parameters. Raises
        AssertionError for layers with a projection or with bounds of the cell."""
        bounds = [self._clipping[f"lstm_state_clip_{end}"] for end in ("min", "max")]
        if self._projection_size is not None or bounds != [None, None]:
            problem = "layers with projection_size or state_clip_min have no cells that do the same"
            raise ArgumentValueError(f"{type(self).__name__}._unfuse", problem)
        features = self._input_size
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            for layer in range(self._num_layers):
                options = {"input_size": features, **self._initializers}
                cells = [
                    self._cell(prefix=f"{direction}{layer}_", **options)
                    for direction in "lr"[: self._dir]
                ]
                stack.add(cells[0] if self._dir == 1 else rnn_cell.BidirectionalCell(*cells))
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                features = self._hidden_size * self._dir
        return stack

    def _cell(self, **options: Any) -> Any:
        raise NotImplementedError

    def infer_shape(self, *args: Any) -> None:
        features = args[0].shape[2]
        for direction in "lr"[: self._dir]:
            weight = getattr(self, f"{direction}0_i2h_weight")
            weight.shape = weight.shape[0], features

    def __call__(
        self, inputs: Tensor, states: States = None, sequence_length: Tensor = None, **kwargs: Any
    ) -> Any:
        """Returns the output of all steps; with ``states``, (output, new states)."""
        skip_states = states is None
        if skip_states != self.skip_states:
            self._clear_cached_op()  # the graph returns states, or does not
            self.skip_states = skip_states
        if states is None:
            if isinstance(inputs, NDArray):
                batch = inputs.shape[self._layout.find("N")] if inputs.ndim > 1 else 0
                states = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self.begin_state(0, func=symbol.zeros)
        if isinstance(states, tensor_types):
            states = [states]
        if self._use_sequence_length:
            return super().__call__(inputs, states, sequence_length, **kwargs)
        return super().__call__(inputs, states, **kwargs)

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, sequence_length: Tensor = None, **kwargs: Any
    ) -> Tensor:
        if F is ndarray:
            self._check_states(inputs, states)
        output, new_states = self._forward_kernel(F, inputs, states, sequence_length, **kwargs)
        return output if self.skip_states else (output, new_states)

    def _check_states(self, inputs: Tensor, states: Sequence[Any]) -> None:
        expected = self.state_info(inputs.shape[self._layout.find("N")])
        where = f"{type(self).__name__}: states"
        if len(states) != len(expected):
            raise ArgumentValueError(where, f"there are {len(states)}, expected {len(expected)}")
        for state, info in zip(states, expected, strict=True):
            if state.shape != info["shape"]:
                problem = f"{state.shape}, expected {info['shape']}"
                because = f"they are (layers x directions, batch, units), the input {inputs.shape}"
                raise ArgumentValueError(where, problem, because=because)

    def _forward_kernel(
        self, F: Ops, inputs: Tensor, states: States, sequence_length: Tensor, **parameters: Any
    ) -> tuple[Tensor, States]:
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        names = [f"{c}_{g}_{kind}" for kind in ("weight", "bias") for c in self._cells()
                 for g in (*_GROUPS, "h2r")]  # fmt: skip
        flat = [F.reshape(parameters[name], shape=-1) for name in names if name in parameters]
        packed = F._internal._rnn_param_concat(*flat, dim=0)
        lengths = {} if sequence_length is None else {"sequence_length": sequence_length}
        results = F.RNN(
            inputs, packed, **dict(zip(("state", "state_cell"), states, strict=False)), **lengths,
            use_sequence_length=self._use_sequence_length, state_size=self._hidden_size,
            projection_size=self._projection_size, num_layers=self._num_layers,
            bidirectional=self._dir == 2, p=self._dropout, state_outputs=True, mode=self._mode,
            **self._clipping,
        )  # fmt: skip
        output, *new_states = results
        if self._layout == "NTC":
            output = F.swapaxes(output, dim1=0, dim2=1)
        return output, new_states


class RNN(_RNNLayer):
    """Layers of ``h' = act(x W^T + b + h R^T + c)``. The base class describes the other arguments.

    activation
        'relu' or 'tanh'. Raises KeyError for others.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        input_size: int = 0,
        dtype: DType = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size,
            mode=f"rnn_{activation}",
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer,
            h2h_bias_initializer=h2h_bias_initializer,
            projection_size=None, dtype=dtype, **kwargs,
        )  # fmt: skip

    def _cell(self, **options: Any) -> rnn_cell.RNNCell:
        return rnn_cell.RNNCell(self._hidden_size, activation=self._mode[4:], **options)


class LSTM(_RNNLayer):
    """Layers of long short-term memory with states h and c: ``c' = s(f) c + s(i) tanh(g)``, ``h' =
    s(o) tanh(c')`` of the gates i, f, g, o. The base class describes the other arguments.

    projection_size
        P: ``h'`` is multiplied by a weight ``h2r_weight`` (P, H); output, first state and
        ``h2h_weight`` have P columns.
    h2r_weight_initializer
        The initializer of ``h2r_weight``.
    state_clip_min, state_clip_max
        Bounds of c after every step. (MXNet's CPU build ignores them.)
    state_clip_nan
        Whether NaN stays; otherwise it becomes the lower bound.

    >>> import executorkit as mx
    >>> layer = mx.gluon.rnn.LSTM(3, num_layers=2)
    >>> layer.initialize()
    >>> output, states = layer(mx.nd.ones((4, 2, 5)), layer.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((4, 2, 3), [(2, 2, 3), (2, 2, 3)])
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Init = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DType = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, mode="lstm",
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer,
            h2h_bias_initializer=h2h_bias_initializer,
            projection_size=projection_size, h2r_weight_initializer=h2r_weight_initializer,
            lstm_state_clip_min=state_clip_min, lstm_state_clip_max=state_clip_max,
            lstm_state_clip_nan=state_clip_nan, dtype=dtype, **kwargs,
        )  # fmt: skip

    def _state_sizes(self) -> Sequence[int]:
        return self._projection_size or self._hidden_size, self._hidden_size

    def _cell(self, **options: Any) -> rnn_cell.LSTMCell:
        return rnn_cell.LSTMCell(self._hidden_size, **options)


class GRU(_RNNLayer):
    """Layers of gated recurrent units: ``n = tanh(x_n + s(r) h_n)``, ``h' = (1 - s(z)) n + s(z) h``
    of the gates r, z, n. The base class describes the arguments."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        dtype: DType = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, mode="gru",
            i2h_weight_initializer=i2h_weight_initializer,
            h2h_weight_initializer=h2h_weight_initializer,
            i2h_bias_initializer=i2h_bias_initializer,
            h2h_bias_initializer=h2h_bias_initializer,
            projection_size=None, dtype=dtype, **kwargs,
        )  # fmt: skip

    def _cell(self, **options: Any) -> rnn_cell.GRUCell:
        return rnn_cell.GRUCell(self._hidden_size, **options)
