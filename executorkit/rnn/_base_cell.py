"""BaseRNNCell, the base class of cells: parameters, states, one step, and unrolled sequences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import symbol as sym
from ..display import brief
from ..errors import ArgumentValueError, MissingParameterError
from ..ndarray import NDArray, array
from ..symbol import Symbol
from ._unrolling import Sequential, as_steps, merge_or_split

#: Symbols of states; BidirectionalCell returns two lists of them.
States: TypeAlias = list[Any]
#: Outputs, a symbol or one for each step, and the states after the last step.
Outputs: TypeAlias = tuple[Any, States]
Arrays: TypeAlias = dict[str, NDArray]
Activation: TypeAlias = (
    Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] | Callable[..., Symbol]
)

_GROUPS = ("i2h", "h2h")
_KINDS = ("weight", "bias")


class RNNParams:
    """The variables of a cell by name; cells with the same RNNParams share them.

    prefix
        beginning of all names.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable ``prefix + name``, created with ``kwargs`` for ``mx.sym.var`` if it is
        new."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = sym.var(full, **kwargs)
        return self._params[full]


def apply_activation(inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
    """The activation of ``inputs``, given by name or as a function of symbols."""
    if callable(activation):
        return activation(inputs, **kwargs)
    return sym.Activation(inputs, act_type=activation, **kwargs)


class BaseRNNCell:
    """Base class of cells: ``output, states = cell(input, states)`` is one step.

    A subclass writes ``__call__`` and ``state_info``, and ``_gate_names`` if its parameters can be
    unpacked.

    prefix
        beginning of the names of nodes, and of variables unless ``params`` are given.
    params
        variables to share with another cell.
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
        self._modified = False
        self.reset()

    def __repr__(self) -> str:
        return brief(self, repr(self._prefix) if self._prefix else None)

    def reset(self) -> None:
        """Resets the counters of steps and initial states, which are parts of names."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._cells:
            cell.reset()

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        """One step: the output and new states for an input (batch, features) and states."""
        raise NotImplementedError(f"{type(self).__name__}: a step")

    @property
    def params(self) -> RNNParams:
        """The variables of this cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape (0 is the batch) and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__}: state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state; 0 is the batch."""
        return [info["shape"] for info in self.state_info]

    def _step_prefix(self) -> str:
        """Beginning of the names of the next step's nodes."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ArgumentValueError(
                f"{type(self).__name__}.begin_state",
                "the cell is inside a modifier cell",
                because="ZoneoutCell or ResidualCell was made of it",
                hint="begin_state of the modifier cell",
            )

    def _hand_to_modifier(self) -> None:
        """Makes a modifier cell the only caller of this cell."""
        self._modified = True

    @contextlib.contextmanager
    def _as_unmodified(self) -> Iterator[None]:
        """Lets the modifier cell call ``begin_state`` and ``unroll`` in a ``with`` block."""
        self._modified = False
        try:
            yield
        finally:
            self._modified = True

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> States:
        """Symbols of the states before the first step.

        func
            creates one from ``name``, ``shape``, ``__layout__`` and ``kwargs``: ``mx.sym.zeros``,
            or ``mx.sym.var`` for states that are arguments.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """``args`` with the weights and biases split by gate.

        ``lstm_i2h_weight`` (4 hidden, features) becomes ``lstm_i2h_i_weight``, ``_f_``, ``_c_``
        and ``_o_`` (hidden, features). Other entries stay. Raises KeyError if one is missing.
        """
        arrays = dict(args)
        for group in _GROUPS if self._gate_names else ():
            h = self._num_hidden
            packed = {
                kind: pop_parameter(arrays, f"{self._prefix}{group}_{kind}", "unpack_weights")
                for kind in _KINDS
            }
            hosts = {kind: values.asnumpy() for kind, values in packed.items()}
            # MXNet's order, and so that of checkpoints: a gate's weight, then its bias.
            for j, gate in enumerate(self._gate_names):
                for kind, values in packed.items():
                    arrays[f"{self._prefix}{group}{gate}_{kind}"] = array(
                        hosts[kind][j * h : (j + 1) * h], ctx=values.context, dtype=values.dtype
                    )
        return arrays

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """``args`` with the weights and biases of the gates joined; inverts ``unpack_weights``."""
        arrays = dict(args)
        for group, kind in _groups(self._gate_names):
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
        """The symbols of ``length`` steps: their outputs, and the states after the last.

        inputs
            a symbol of shape (batch, length, ...), or (length, batch, ...) if ``layout`` is 'TNC';
            or a list of symbols (batch, ...), one for each step.
        begin_state
            the states before the first step; None: ``begin_state()``.
        merge_outputs
            True: one symbol in ``layout``; False: a list of symbols, one for each step; None:
            the one that needs no further nodes.

        Raises AssertionError if ``inputs`` is a list of another length, or a symbol of several
        outputs.
        """
        self.reset()
        steps = as_steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return merge_or_split(length, outputs, layout, merge_outputs), states


def _groups(gates: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The packed parameters of a cell: from input and from state, weight and bias."""
    return [(g, k) for g in _GROUPS for k in _KINDS] if gates else ()


def pop_parameter(args: Arrays, name: str, method: str) -> NDArray:
    """Removes and returns an entry. Raises KeyError, with its name, if it is missing."""
    if name not in args:
        problem = f"{name!r} is not among the parameters"
        raise MissingParameterError(method, problem, given_by=", ".join(args))
    return args.pop(name)
