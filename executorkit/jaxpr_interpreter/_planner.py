"""Planning: nested jaxprs inlined, dead equations dropped, a kernel and last uses for others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ._plan import NestedKernel, Plan, PlanInput, PlanResult, PlanStep, Work
from ._rules import RULES, Aval, Call, Kernel, KernelRule, aval_of, is_small_float

#: Seconds that an equation takes beside the work on its elements.
CALL_SECONDS = 2e-6
#: Seconds of an addition of two elements in a cache.
ELEMENT_SECONDS = 1.5e-10
#: Factor of the time of an element of 16 bits, for which NumPy has no vector instructions.
SMALL_FLOAT_FACTOR = 12.0
#: Multiplications and additions per second of a matrix product.
FLOP_RATE = 8e10
#: Bytes per second that pass through an operation: within a cache, and beyond it.
CACHED_BYTE_RATE, BYTE_RATE = 3e10, 8e9
#: Number of bytes that a cache holds.
CACHE_BYTES = 1 << 21
#: Minimum number of bytes of an array whose memory is used again for a result.
REUSE_BYTES = 1 << 14

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


def plan(closed_jaxpr: ClosedJaxpr) -> Plan:
    """The plan of a jaxpr. ``Plan.uncovered`` names all that the interpreter does not have."""
    flattened = Flattened()
    jaxpr = closed_jaxpr.jaxpr
    arguments = [flattened.value(v.aval) for v in jaxpr.invars]
    results = flattened.closed(closed_jaxpr, arguments)
    live = _live(flattened.equations, results)
    shared = _shared(live)
    steps: list[PlanStep] = []
    uncovered = _faults(flattened, live, arguments, results)
    work = Work()
    # Values that still have to be read; the last reader may free or overwrite them.
    dead_after = _last_uses(live, set(results))
    owned = {i for e in live if e.rule is not None and e.rule.fresh for i in e.outs}
    for equation, dead in zip(live, dead_after, strict=True):
        kernel = equation.rule.make(equation.call) if equation.rule is not None else None
        if kernel is None:
            uncovered.add(equation.call.name)
            continue
        if isinstance(kernel, NestedKernel):
            uncovered.update(kernel.uncovered)
            work = work.plus(kernel.work)
        else:
            work = work.plus(_work(equation))
            reusable = [i for i in dead if i in owned and i not in shared]
            kernel = _overwriting(kernel, equation, reusable)
        out = equation.outs if equation.several else equation.outs[0]
        steps.append(PlanStep(kernel, equation.ins, out, dead))
    constants: list[Any] = [None] * len(flattened.avals)
    for i, x in flattened.constants.items():
        constants[i] = x
    return Plan(
        steps,
        [PlanInput(i, _is_key(v.aval)) for i, v in zip(arguments, jaxpr.invars, strict=True)],
        [
            PlanResult(i, flattened.avals[i], i in owned and i not in results[:n], _is_key(v.aval))
            for n, (i, v) in enumerate(zip(results, jaxpr.outvars, strict=True))
        ],
        constants,
        tuple(sorted(uncovered)),
        work,
    )


def _is_key(aval: Any) -> bool:
    return not isinstance(aval.dtype, np.dtype)


def _live(equations: list[Equation], results: Sequence[int]) -> list[Equation]:
    """The equations that results depend on."""
    needed, live = set(results), []
    for equation in reversed(equations):
        if not needed.isdisjoint(equation.outs):
            live.append(equation)
            needed.update(equation.ins)
    live.reverse()
    return live


def _last_uses(equations: list[Equation], kept: set[int]) -> list[tuple[int, ...]]:
    """For each equation the values that no later one reads."""
    last_uses = []
    read = set(kept)
    for equation in reversed(equations):
        dead = {i for i in (*equation.ins, *equation.outs) if i not in read}
        last_uses.append(tuple(dead))
        read.update(dead)
    last_uses.reverse()
    return last_uses


def _shared(equations: list[Equation]) -> set[int]:
    """Values whose memory other values may share: what an equation that makes views reads."""
    return {i for e in equations if e.rule is None or not e.rule.fresh for i in e.ins}


def _faults(
    flattened: Flattened, live: list[Equation], arguments: Sequence[int], results: Sequence[int]
) -> set[str]:
    if not flattened.faults:
        return set()
    used = {-1, *results}
    for equation in live:
        used.update(equation.ins)
        used.update(equation.outs)
    return {name for i, name in flattened.faults.items() if i in used}


def _work(equation: Equation) -> Work:
    call, rule = equation.call, equation.rule
    assert rule is not None
    if not rule.weight:
        return Work(0.0, 0.0, CALL_SECONDS)
    moved = sum([x.nbytes for x in call.ins]) + sum([x.nbytes for x in call.outs])
    passing = moved / (CACHED_BYTE_RATE if moved < CACHE_BYTES else BYTE_RATE)
    if rule.flops is not None:
        flops = rule.flops(call)
        return Work(flops, moved, CALL_SECONDS + flops / FLOP_RATE + passing)
    largest = max([x.size for x in (*call.ins, *call.outs)])
    factor = SMALL_FLOAT_FACTOR if any(is_small_float(x.dtype) for x in call.outs) else 1.0
    seconds = max(largest * rule.weight * factor * ELEMENT_SECONDS, passing)
    return Work(largest, moved, CALL_SECONDS + seconds)


def _overwriting(kernel: Kernel, equation: Equation, reusable: list[int]) -> Kernel:
    """``kernel`` so that it writes over an input of the result's size that nobody needs later."""
    if not reusable:
        return kernel
    call, rule = equation.call, equation.rule
    if rule is not None and rule.in_place is not None:
        first = equation.ins[0]
        alone = first in reusable and equation.ins.count(first) == 1
        return rule.in_place(call) if alone else kernel
    if not isinstance(kernel, np.ufunc):
        return kernel
    if call.outs[0].nbytes < REUSE_BYTES:
        return kernel
    for n, i in enumerate(equation.ins):
        if i in reusable and call.ins[n] == call.outs[0]:
            return _writing(kernel, n, len(equation.ins))
    return kernel


def _writing(ufunc: Any, n: int, count: int) -> Kernel:
    if count == 1:
        return lambda x: ufunc(x, out=x)
    if n == 0:
        return lambda x, y: ufunc(x, y, out=x)
    return lambda x, y: ufunc(x, y, out=y)
