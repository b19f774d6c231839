"""BaseRNNCell, the base class of cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import symbol as sym
from ..display import brief
from ..errors import MissingParameterError
from ..ndarray import NDArray, array
from ..ops.nn.recurrent_cells import CountedSteps
from ..symbol import Symbol
from ._unrolling import Sequential, as_steps, merge_or_split

#: Symbols of states; BidirectionalCell returns two lists of them.
States: TypeAlias = list[Any]
#: Outputs, a symbol or one for each step, and the states after the last step.
Outputs: TypeAlias = tuple[Any, States]
Arrays: TypeAlias = dict[str, NDArray]
#: Shape, layout and other arguments of a state.
StateInfo: TypeAlias = dict[str, Any]
Activation: TypeAlias = (
    Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] | Callable[..., Symbol]
)

_GROUPS = ("i2h", "h2h")
_KINDS = ("weight", "bias")


class RNNParams:
    """The variables of a cell by name, after ``prefix``; cells with the same object share them."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """Returns the variable ``prefix + name``; creates it with ``kwargs`` for ``mx.sym.var``."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = sym.var(full, **kwargs)
        return self._params[full]


def apply_activation(inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
    if callable(activation):
        return activation(inputs, **kwargs)
    return sym.Activation(inputs, act_type=activation, **kwargs)


class BaseRNNCell(CountedSteps):
    """Base class of cells: ``output, states = cell(input, states)`` is one step.

    A subclass overrides ``__call__`` and ``state_info``, and ``_gate_names`` if its parameters can
    be unpacked. Names of nodes begin with ``prefix``; ``params`` are variables to share with
    another cell, whose names otherwise begin with ``prefix``, too.
    """

    _num_hidden: int
    _gate_names: Any = ()
    #: Inner cells, which are reset with this one.
    _cells: Sequence[BaseRNNCell] = ()
    #: MXNet's name, which cells of users call.
    _get_activation = staticmethod(apply_activation)

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self.reset()

    def __repr__(self) -> str:
        return brief(self, repr(self._prefix) if self._prefix else None)

    def reset(self) -> None:
        """Resets the counters of steps and initial states, which are parts of names."""
        self._reset_counters(self._cells)

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        raise NotImplementedError(f"{type(self).__name__}: a step")

    @property
    def params(self) -> RNNParams:
        """The variables of the cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape (0 is the batch) and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__}: state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state; 0 is the batch."""
        return [info["shape"] for info in self.state_info]

    def _step_prefix(self) -> str:
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> States:
        """Returns symbols of the states before the first step, created by ``func`` from ``name``,
        ``shape``, ``__layout__`` and ``kwargs``: ``mx.sym.zeros``, or ``mx.sym.var`` for states
        that are arguments."""
        return self._initial_states(func, ({**kwargs, **(info or {})} for info in self.state_info))

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Returns ``args`` with weights and biases split by gate: ``lstm_i2h_weight`` (4 hidden,
        features) becomes ``lstm_i2h_i_weight``, ``_f_``, ``_c_`` and ``_o_`` (hidden, features).
        Other entries stay. Raises KeyError if one is missing."""
        arrays = dict(args)
        for group in _GROUPS if self._gate_names else ():
            h = self._num_hidden
            packed = {
                kind: pop_parameter(arrays, f"{self._prefix}{group}_{kind}", "unpack_weights")
                for kind in _KINDS
            }
            hosts = {kind: values.asnumpy() for kind, values in packed.items()}
            # MXNet's order, which checkpoints have: a gate's weight, then its bias.
            for j, gate in enumerate(self._gate_names):
                for kind, values in packed.items():
                    arrays[f"{self._prefix}{group}{gate}_{kind}"] = array(
                        hosts[kind][j * h : (j + 1) * h], ctx=values.context, dtype=values.dtype
                    )
        return arrays

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Returns ``args`` with weights and biases of gates joined; inverts ``unpack_weights``."""
        arrays = dict(args)
        for group in _GROUPS if self._gate_names else ():
            for kind in _KINDS:
                gates = [
                    pop_parameter(arrays, f"{self._prefix}{group}{gate}_{kind}", "pack_weights")
                    for gate in self._gate_names
                ]
                host, like = np.concatenate([gate.asnumpy() for gate in gates]), gates[0]
                packed = array(host, ctx=like.context, dtype=like.dtype)
                arrays[f"{self._prefix}{group}_{kind}"] = packed
        return arrays

    def unroll(
        self,
        length: int,
        inputs: Sequential,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> Outputs:
        """Returns the outputs of ``length`` steps, and the states after the last.

        length
            The number of steps.
        inputs
            A symbol (batch, length, ...), or (length, batch, ...) with the layout 'TNC'; or a list
            of symbols (batch, ...), one for each step.
        begin_state
            The states before the first step; by default ``begin_state()``.
        layout
            'NTC' or 'TNC'.
        merge_outputs
            True: one symbol in ``layout``; False: a list of symbols; None: whichever adds no nodes.

        Raises AssertionError for a list of another length, or for a symbol of several outputs.
        """
        self.reset()
        steps = as_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return merge_or_split(length, outputs, layout, merge_outputs), states


def pop_parameter(args: Arrays, name: str, method: str) -> NDArray:
    if name not in args:
        problem = f"{name!r} is not among the parameters"
        raise MissingParameterError(method, problem, given_by=", ".join(args))
    return args.pop(name)
