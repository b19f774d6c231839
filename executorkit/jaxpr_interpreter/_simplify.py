"""Equations that NumPy does not need: views of constants, views of views, broadcasts before ufuncs.

A call of NumPy takes a microsecond beside its work, so that a small program takes as long as it has
equations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..jaxprs import Trait, primitives_with
from ._flatten import Equation, Flattened
from ._rules import RULES, Call

_RESHAPES = primitives_with(Trait.KEEPS_ORDER)


def simplified(
    flattened: Flattened, results: Sequence[int]
) -> tuple[list[Equation], tuple[int, ...]]:
    """The equations without those that NumPy does not need, and the numbers of the results.

    Constants that follow are added to ``flattened``.
    """
    avals, constants = flattened.avals, flattened.constants
    #: Values that are other values.
    equal: dict[int, int] = {}
    #: Values with the elements of others in the same order.
    reshaped: dict[int, int] = {}
    #: Values that NumPy makes of others by itself, in the functions of two arrays.
    broadcast: dict[int, int] = {}
    equations = []
    for equation in flattened.equations:
        ins = tuple([equal.get(i, i) for i in equation.inputs])
        call, rule = equation.call, equation.rule
        if equation.several:
            avals_in = tuple([avals[i] for i in ins])
            equations.append(equation._replace(call=call._replace(ins=avals_in), inputs=ins))
            continue
        out = equation.outputs[0]
        if _is_reshape(call):
            source = reshaped.get(ins[0], ins[0])
            if avals[source] == avals[out]:
                equal[out] = source
                continue
            reshaped[out] = source
            ins, rule = (source,), RULES["reshape"]
            call = Call("reshape", {"dimensions": None}, (avals[source],), call.outs)
        elif _is_aligned_broadcast(call):
            broadcast[out] = ins[0]
        if rule is not None:
            if not broadcast.keys().isdisjoint(ins) and isinstance(rule.make(call), np.ufunc):
                operands = tuple([broadcast.get(i, i) for i in ins])
                if any(avals[i].shape == call.shape for i in operands):
                    ins = operands
            elif not rule.weight and all(i in constants for i in ins):
                kernel = rule.make(call)
                if kernel is not None:
                    constants[out] = np.asarray(kernel(*[constants[i] for i in ins]))
                    continue
        call = call._replace(ins=tuple([avals[i] for i in ins]))
        equations.append(equation._replace(call=call, rule=rule, inputs=ins))
    return equations, tuple([equal.get(i, i) for i in results])


def _is_reshape(call: Call) -> bool:
    if call.name not in _RESHAPES or len(call.ins) != 1:
        return False
    if call.name == "reshape" and call.params["dimensions"] is not None:
        return False
    return call.ins[0].size == call.outs[0].size and call.ins[0].dtype == call.dtype


def _is_aligned_broadcast(call: Call) -> bool:
    """True for a broadcast along new leading axes, and along axes of length 1."""
    if call.name != "broadcast_in_dim" or len(call.ins) != 1:
        return False
    rank, source = len(call.shape), call.ins[0].shape
    return tuple(call.params["broadcast_dimensions"]) == tuple(range(rank - len(source), rank))
