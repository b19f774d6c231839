"""One step of recurrent cells, for ``mx.rnn`` and Gluon, with ``ns``: ``mx.nd`` or ``mx.sym``.

The nodes have MXNet's names, which begin with ``name``; Gluon's dense cells name all nodes
(``names_all``). ``activate(x, name=...)`` is the cell's activation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ...errors import ArgumentValueError

#: ``mx.nd`` or ``mx.sym``.
Ops: TypeAlias = Any
#: An NDArray or a Symbol.
Tensor: TypeAlias = Any
#: The output, and the new states.
Step: TypeAlias = tuple[Tensor, list[Tensor]]
Activate: TypeAlias = Callable[..., Tensor]


def rnn_step(
    ns: Ops, i2h: Tensor, h2h: Tensor, name: str, activate: Activate, names_all: bool = False
) -> Step:
    """Computes ``h' = act(i2h + h2h)``."""
    inner = _inner_names(name, names_all)
    output = activate(ns._internal._plus(i2h, h2h, name=inner("plus0")), name=f"{name}out")
    return output, [output]


def lstm_gates(
    ns: Ops, i2h: Tensor, h2h: Tensor, name: str, axis: int | None = None, names_all: bool = False
) -> Sequence[Tensor]:
    gates = ns._internal._plus(i2h, h2h, name=_inner_names(name, names_all)("plus0"))
    return ns.SliceChannel(gates, num_outputs=4, name=f"{name}slice", **_axis_option(axis))


def lstm_step(
    ns: Ops,
    gates: Sequence[Tensor],
    cell: Tensor,
    name: str,
    activate: Activate,
    activate_gate: Activate | None = None,
    activate_cell: Activate | None = None,
    names_all: bool = False,
    output_name: str = "out",
) -> Step:
    """Computes ``cell' = s(f) cell + s(i) act(g)``, ``h' = s(o) act(cell')``; ``activate_gate`` is
    s, by default 'sigmoid', ``activate_cell`` act of ``cell'``, if it is another node than act of
    g."""
    inner = _inner_names(name, names_all)
    gate = activate_gate or (lambda x, name: ns.Activation(x, act_type="sigmoid", name=name))
    i, f = gate(gates[0], name=f"{name}i"), gate(gates[1], name=f"{name}f")
    g, o = activate(gates[2], name=f"{name}c"), gate(gates[3], name=f"{name}o")
    multiply = ns._internal._mul
    kept, new = multiply(f, cell, name=inner("mul0")), multiply(i, g, name=inner("mul1"))
    next_cell = ns._internal._plus(kept, new, name=f"{name}state")
    shown = (activate_cell or activate)(next_cell, name=inner("activation0"))
    output = multiply(o, shown, name=name + output_name)
    return output, [output, next_cell]


def gru_step(
    ns: Ops,
    i2h: Tensor,
    h2h: Tensor,
    state: Tensor,
    name: str,
    activate: Activate,
    axis: int | None = None,
    separator: str = "",
    names_all: bool = False,
) -> Step:
    """Computes ``h' = (1 - s(z)) act(x_n + s(r) h_n) + s(z) h`` of the gates r, z, n of input and
    state; ``separator`` stands between ``name`` and the names of gates."""
    inner, start = _inner_names(name, names_all), name + separator
    at, plus, multiply = _axis_option(axis), ns._internal._plus, ns._internal._mul
    x_r, x_z, x_n = ns.SliceChannel(i2h, num_outputs=3, name=f"{start}i2h_slice", **at)
    h_r, h_z, h_n = ns.SliceChannel(h2h, num_outputs=3, name=f"{start}h2h_slice", **at)
    r = plus(x_r, h_r, name=inner("plus0"))
    r = ns.Activation(r, act_type="sigmoid", name=f"{start}r_act")
    z = plus(x_z, h_z, name=inner("plus1"))
    z = ns.Activation(z, act_type="sigmoid", name=f"{start}z_act")
    new = plus(x_n, multiply(r, h_n, name=inner("mul0")), name=inner("plus2"))
    new = activate(new, name=f"{start}h_act")
    if names_all:
        ones = ns.ones_like(z, name=inner("ones_like0"))
        update = ns.elemwise_sub(ones, z, name=inner("minus0"))
    else:
        update = 1.0 - z
    new = multiply(update, new, name=inner("mul1"))
    output = plus(new, multiply(z, state, name=inner("mul20")), name=f"{name}out")
    return output, [output]


def _inner_names(name: str, names_all: bool) -> Callable[[str], str | None]:
    return lambda label: name + label if names_all else None


def _axis_option(axis: int | None) -> dict[str, int]:
    # A default that is passed would be an attribute of the graph, which MXNet's dense cells lack.
    return {} if axis is None else {"axis": axis}


class CountedSteps:
    """A cell's counters of steps and initial states, which are parts of names."""

    _prefix: str
    is_modified = False

    def _reset_counters(self, cells: Iterable[Any]) -> None:
        self._init_counter = -1
        self._counter = -1
        for cell in cells:
            cell.reset()

    def hand_to_modifier(self) -> None:
        self.is_modified = True

    @contextlib.contextmanager
    def as_unmodified(self) -> Iterator[None]:
        self.is_modified = False
        try:
            yield
        finally:
            self.is_modified = True

    def _check_not_modified(self) -> None:
        if self.is_modified:
            raise ArgumentValueError(
                f"{type(self).__name__}.begin_state",
                "the cell is inside a modifier cell, which is called in its place",
                hint="begin_state of the modifier cell",
            )

    def _initial_states(
        self, func: Callable[..., Tensor], options: Iterable[dict[str, Any]]
    ) -> list[Tensor]:
        self._check_not_modified()
        states = []
        for state_options in options:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **state_options))
        return states
