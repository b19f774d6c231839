"""What every cell is: named parameters, states, one step, and the steps of a whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import symbol as sym
from ..errors import ArgumentValueError, MissingParameterError, explain
from ..ndarray import NDArray, array
from ..symbol import Symbol
from ._unrolling import Sequential, as_steps, merge_or_split

#: Symbols of states; those of a BidirectionalCell's result are two lists.
States: TypeAlias = list[Any]
Arrays: TypeAlias = dict[str, NDArray]
Activation: TypeAlias = (
    Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] | Callable[..., Symbol]
)

_GROUPS = ("i2h", "h2h")
_KINDS = ("weight", "bias")


class RNNParams:
    """The variables of a cell, by name; cells that are given the same share them.

    prefix
        stands before all names.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable ``prefix + name``, made with ``kwargs`` for ``mx.sym.var`` if it is new."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = sym.var(full, **kwargs)
        return self._params[full]


def apply_activation(inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
    """``inputs`` through an activation that is given by name, or as a function of symbols."""
    if callable(activation):
        return activation(inputs, **kwargs)
    return sym.Activation(inputs, act_type=activation, **kwargs)


class BaseRNNCell:
    """Base class of cells: ``output, states = cell(input, states)`` is one step.

    A subclass writes ``__call__`` and ``state_info``, and ``_gate_names`` if its parameters can be
    unpacked.

    prefix
        stands before the names of the nodes, and of the variables unless ``params`` are given.
    params
        variables to share with another cell.
    """

    _num_hidden: int
    #: The cells that this one is made of, which are reset with it.
    _cells: Sequence[BaseRNNCell] = ()
    #: Cells that users write against MXNet call it by this name.
    _get_activation = staticmethod(apply_activation)

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Begins anew to count steps and initial states, which are part of names."""
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

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    def _step_prefix(self) -> str:
        """What stands before the names of the next step's nodes."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ArgumentValueError(
                explain(
                    f"{type(self).__name__}.begin_state",
                    "the cell is inside a modifier cell",
                    because="ZoneoutCell or ResidualCell was made of it",
                    hint="begin_state of the modifier cell",
                )
            )

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> States:
        """Symbols of the states before the first step.

        func
            makes one of ``name``, ``shape``, ``__layout__`` and ``kwargs``: ``mx.sym.zeros``, or
            ``mx.sym.var`` for states that are to be given.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """``args`` with the weights and biases of the gates apart, for each gate one.

        ``lstm_i2h_weight`` (4 hidden, features) becomes ``lstm_i2h_i_weight``, ``_f_``, ``_c_``
        and ``_o_`` (hidden, features). Other entries are kept. Raises KeyError if one is missing.
        """
        found = dict(args)
        for group in _GROUPS if self._gate_names else ():
            h = self._num_hidden
            packed = {
                kind: pop_parameter(found, f"{self._prefix}{group}_{kind}", "unpack_weights")
                for kind in _KINDS
            }
            hosts = {kind: values.asnumpy() for kind, values in packed.items()}
            # In MXNet's order, which is that of checkpoints: a gate's weight, then its bias.
            for j, gate in enumerate(self._gate_names):
                for kind, values in packed.items():
                    found[f"{self._prefix}{group}{gate}_{kind}"] = array(
                        hosts[kind][j * h : (j + 1) * h], ctx=values.context, dtype=values.dtype
                    )
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """``args`` with the weights and biases of the gates joined: undoes ``unpack_weights``."""
        found = dict(args)
        for group, kind in _groups(self._gate_names):
            gates = [
                pop_parameter(found, f"{self._prefix}{group}{gate}_{kind}", "pack_weights")
                for gate in self._gate_names
            ]
            host = np.concatenate([gate.asnumpy() for gate in gates])
            found[f"{self._prefix}{group}_{kind}"] = array(
                host, ctx=gates[0].context, dtype=gates[0].dtype
            )
        return found

    def unroll(
        self,
        length: int,
        inputs: Sequential,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, States]:
        """The symbols of ``length`` steps: their outputs, and the states after the last.

        inputs
            a symbol of shape (batch, length, ...), or (length, batch, ...) if ``layout`` is 'TNC';
            or a list of symbols (batch, ...), one for each step.
        begin_state
            the states before the first step; None: ``begin_state()``.
        merge_outputs
            True: one symbol in ``layout``; False: a list of symbols, one for each step; None:
            whichever of the two needs no further nodes.

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
    """Removes and returns an entry. KeyError says which one is missing."""
    if name not in args:
        raise MissingParameterError(
            explain(method, f"{name!r} is not among the parameters", given_by=", ".join(args))
        )
    return args.pop(name)
