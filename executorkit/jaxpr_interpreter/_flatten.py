"""Flattening: a jaxpr, and all jaxprs that it calls, as equations over numbered values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ._rules import RULES, Aval, Call, KernelRule, aval_of

#: Primitives that call a jaxpr with all of their inputs, and the parameter that holds it.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "linear_call": "callee",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "core_closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}
#: Primitives that JAX evaluates by a function of other primitives.
_EXPANDED = frozenset({"random_gamma"})
#: Primitives whose results are their inputs.
_IDENTITIES = frozenset({
    "copy", "copy_p", "device_put", "layout_constraint", "name", "optimization_barrier",
    "pvary", "sharding_constraint", "stop_gradient",
})  # fmt: skip
#: Primitives whose result is their input where neither shape nor dtype changes.
_CONVERSIONS = frozenset({"broadcast_in_dim", "convert_element_type", "reshape", "squeeze"})
_UNKNOWN = Aval((), np.dtype(bool))


class Equation(NamedTuple):
    """An equation of the flattened jaxpr."""

    call: Call
    rule: KernelRule | None
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    several: bool


class Flattened:
    """The equations of a jaxpr and of all jaxprs that it calls, over numbered values.

    equations
        in the order of evaluation.
    avals
        of each value.
    constants
        values that are known, by number.
    faults
        names of dtypes and effects that the interpreter does not have, by the number of the value
        that needs them; -1 for effects.
    """

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.avals: list[Aval] = []
        self.constants: dict[int, Any] = {}
        self.faults: dict[int, str] = {}

    def value(self, aval: Any) -> int:
        """The number of a new value."""
        held = aval_of(aval)
        if held is None:
            self.faults[len(self.avals)] = str(getattr(aval, "dtype", aval))
            held = _UNKNOWN
        self.avals.append(held)
        return len(self.avals) - 1

    def constant(self, aval: Any, x: Any) -> int:
        """The number of a known value."""
        number = self.value(aval)
        if number not in self.faults:
            self.constants[number] = np.asarray(x, dtype=self.avals[number].dtype)
        return number

    def closed(self, closed_jaxpr: ClosedJaxpr, ins: Sequence[int]) -> list[int]:
        """Appends the equations of a jaxpr with constants; returns the numbers of its results."""
        jaxpr = closed_jaxpr.jaxpr
        consts = [
            self.constant(v.aval, x)
            for v, x in zip(jaxpr.constvars, closed_jaxpr.consts, strict=True)
        ]
        return self.open(jaxpr, consts, ins)

    def open(self, jaxpr: Jaxpr, consts: Sequence[int], ins: Sequence[int]) -> list[int]:
        """Appends the equations of a jaxpr; returns the numbers of its results."""
        env: dict[Any, int] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, ins, strict=True))
        for equation in jaxpr.eqns:
            numbers = tuple(
                [
                    self.constant(v.aval, v.val) if isinstance(v, Literal) else env[v]
                    for v in equation.invars
                ]
            )
            env.update(zip(equation.outvars, self._append(equation, numbers), strict=True))
        return [
            self.constant(v.aval, v.val) if isinstance(v, Literal) else env[v]
            for v in jaxpr.outvars
        ]

    def _append(self, equation: Any, ins: tuple[int, ...]) -> Sequence[int]:
        name, params = equation.primitive.name, equation.params
        if equation.effects:
            self.faults[-1] = f"{name} with effects"
        if name in _IDENTITIES:
            return ins
        if name in _CALLS:
            return self._inlined(params[_CALLS[name]], ins)
        if name == "custom_linear_solve":
            return self._solve(params, ins)
        if name == "platform_index":
            return (self.constant(equation.outvars[0].aval, _cpu_branch(params["platforms"])),)
        if name == "cond" and ins[0] in self.constants:
            branches = params["branches"]
            index = min(max(int(self.constants[ins[0]]), 0), len(branches) - 1)
            return self.closed(branches[index], ins[1:])
        if name in _EXPANDED:
            return self.closed(_expanded(equation), ins)
        outs = tuple([self.value(v.aval) for v in equation.outvars])
        if name in _CONVERSIONS and self.avals[ins[0]] == self.avals[outs[0]]:
            return ins[:1]
        call = Call(
            name,
            params,
            tuple([self.avals[i] for i in ins]),
            tuple([self.avals[i] for i in outs]),
        )
        several = equation.primitive.multiple_results
        self.equations.append(Equation(call, RULES.get(name), ins, outs, several))
        return outs

    def _inlined(self, jaxpr: Any, ins: Sequence[int]) -> list[int]:
        return (
            self.closed(jaxpr, ins) if isinstance(jaxpr, ClosedJaxpr) else self.open(jaxpr, (), ins)
        )

    def _solve(self, params: Any, ins: tuple[int, ...]) -> list[int]:
        """The results of ``custom_linear_solve``: those of its solver."""
        lengths, jaxprs = params["const_lengths"], params["jaxprs"]
        start = lengths.matvec + lengths.vecmat
        stop = start + lengths.solve
        operands = ins[stop + lengths.transpose_solve :]
        return self.closed(jaxprs.solve, ins[start:stop] + operands)


def _expanded(equation: Any) -> ClosedJaxpr:
    """The jaxpr of the function that evaluates a primitive."""
    arguments = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return jax.make_jaxpr(partial(equation.primitive.impl, **equation.params))(*arguments)


def _cpu_branch(platforms: Any) -> int:
    """The branch of ``lax.platform_dependent`` that CPUs take."""
    for i, names in enumerate(platforms):
        if names is None or "cpu" in names:
            return i
    return len(platforms)
