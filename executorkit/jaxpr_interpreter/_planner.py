"""Planning: a kernel for every equation of a flat jaxpr, and the last uses of values."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..jax_internals import ClosedJaxpr
from ..jaxprs import SymbolicSizes, Trait, flops, is_symbolic, primitives_with
from ._equations import JAXPRS, Equation, FlatJaxpr, flattened
from ._plan import CALL_SECONDS, NestedKernel, Plan, PlanInput, PlanResult, PlanStep
from ._rules import Aval, Call, Kernel, KernelRule, is_small_float

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
#: Number of multiplications from which on OpenBLAS may divide a product among threads: one with a
#: vector, and one of matrices.
LARGE_PRODUCT, LARGE_MATRIX_PRODUCT = 9216, 1 << 18
#: Minimum number of elements of any array of a large product, of functions of matrices too.
_SMALLEST_LARGE = 64
#: Minimum weight of functions of matrices.
FUNCTION_WEIGHT = 30
#: Minimum number of bytes of an array whose memory is used again for a result.
REUSE_BYTES = 1 << 14
_PRODUCTS = primitives_with(Trait.PRODUCT)
_VIEWS = primitives_with(Trait.VIEW)


def plan(jaxpr: ClosedJaxpr | FlatJaxpr) -> Plan:
    flat = jaxpr if isinstance(jaxpr, FlatJaxpr) else flattened(jaxpr)
    if flat.planned is not None:
        return flat.planned()
    calls = [equation.call for equation in flat.equations]
    return _Planner(flat, ()).plan(flat.avals, calls.__getitem__)


class GeneralPlan:
    """The plans of a flat jaxpr whose sizes are expressions of symbols."""

    __slots__ = ("_flat", "_params", "_planner", "_shapes", "_values")

    def __init__(self, flat: FlatJaxpr, sizes: SymbolicSizes) -> None:
        self._flat = flat
        expressions: dict[object, int] = {}

        def number(expression: object) -> int:
            return expressions.setdefault(expression, len(expressions))

        #: By the number of a value, the number of its shape among the evaluated expressions.
        self._shapes = {
            i: number(aval.shape) for i, aval in enumerate(flat.avals) if is_symbolic(aval.shape)
        }
        #: For every equation the parameters that have sizes, by name.
        self._params: list[dict[str, int | GeneralPlan | tuple[GeneralPlan, ...]]] = []
        for equation in flat.equations:
            varying = {}
            for name, x in equation.call.params.items():
                if name in JAXPRS:
                    varying[name] = _general(x, sizes)
                elif is_symbolic(x):
                    varying[name] = number(x)
            self._params.append(varying)
        self._values = sizes.function(list(expressions))
        changing = self._shapes.keys()
        self._planner = _Planner(
            flat,
            [
                n
                for n, (e, params) in enumerate(zip(flat.equations, self._params, strict=True))
                if params or not changing.isdisjoint((*e.inputs, *e.outputs))
            ],
        )

    def at(self, values: Sequence[int]) -> Plan:
        """Returns the plan for these values of the symbols."""
        return self._planner.plan(*self._calls_at(values))

    def jaxpr_at(self, values: Sequence[int]) -> FlatJaxpr:
        """Returns a jaxpr with the sizes, and the plan, of these values of the symbols."""
        avals, call_of = self._calls_at(values)
        return self._flat._replace(avals=avals, planned=lambda: self._planner.plan(avals, call_of))

    def _calls_at(self, values: Sequence[int]) -> tuple[list[Aval], Callable[[int], Call]]:
        flat = self._flat
        evaluated = self._values(*values)
        avals = flat.avals.copy()
        for i, n in self._shapes.items():
            avals[i] = Aval(evaluated[n], avals[i].dtype)

        def call_of(n: int) -> Call:
            equation, varying = flat.equations[n], self._params[n]
            params = equation.call.params
            if varying:
                params = {**params}
                for name, x in varying.items():
                    params[name] = evaluated[x] if isinstance(x, int) else _at(x, values)
            ins, outs = [tuple([avals[i] for i in x]) for x in (equation.inputs, equation.outputs)]
            return Call(equation.call.name, params, ins, outs)

        return avals, call_of


def _general(param: Any, sizes: SymbolicSizes) -> Any:
    if isinstance(param, FlatJaxpr):
        return GeneralPlan(param, sizes)
    return tuple([_general(x, sizes) for x in param]) if isinstance(param, tuple) else param


def _at(param: Any, values: Sequence[int]) -> Any:
    if isinstance(param, GeneralPlan):
        return param.jaxpr_at(values)
    return tuple([_at(x, values) for x in param]) if isinstance(param, tuple) else param


class _PlannedEquation(NamedTuple):
    """A step, with facts that plans add up; ``step`` is None without a kernel."""

    step: PlanStep | None
    uncovered: tuple[str, ...] = ()
    seconds: float = 0.0
    is_large: bool = False
    overwrites: bool = False


class _Planner:
    """Everything that is known of a flat jaxpr before its sizes are; ``varying`` are the numbers of
    the equations that depend on them."""

    def __init__(self, flat: FlatJaxpr, varying: Collection[int]) -> None:
        self._flat = flat
        equations = flat.equations
        self._results = [i for i, _ in flat.results]
        dead = _last_uses(equations, set(self._results))
        rules = [e.rule for e in equations]
        pairs = list(zip(equations, rules, strict=True))
        self._owned = {i for e, r in pairs if r is not None and r.fresh for i in e.outputs}
        self._reusable = _reusable(equations, self._owned, self._results)
        #: The steps, with the kernels that are the same for all sizes, None for others.
        self._steps = [
            PlanStep(_kernel_of(e), e.inputs, e.outputs if e.several else e.outputs[0], unread)
            for e, unread in zip(equations, dead, strict=True)
        ]
        self._rules = rules
        self._weights = [0.0 if r is None else _element_seconds(e, r) for e, r in pairs]
        #: The numbers of the equations to plan for the next sizes, and the others as planned.
        self._varying: Collection[int] = range(len(equations))
        self._next_varying = varying
        self._rows: list[Any] = [None] * len(equations)
        read = {*self._results, *(i for e in equations for i in e.inputs)}
        self._is_elementwise = all(r is not None and r.any_shape for r in rules) and all(
            np.ndim(x) == 0 for i, x in flat.constants.items() if i in read
        )

    def plan(self, avals: Sequence[Aval], call_of: Callable[[int], Call]) -> Plan:
        """Returns the plan for values of these shapes; ``call_of`` gives an equation's call."""
        flat, results = self._flat, self._results
        sizes = [math.prod(shape) for shape, _ in avals]
        n_bytes = [size * aval[1].itemsize for size, aval in zip(sizes, avals, strict=True)]
        rows: list[_PlannedEquation] = self._rows.copy()
        for n in self._varying:
            rows[n] = self._planned(n, sizes, n_bytes, call_of)
        self._rows, self._varying = rows, self._next_varying
        steps, uncovered, seconds, are_large, overwrite = (
            zip(*rows, strict=True) if rows else [()] * 5
        )
        constants: list[Any] = [None] * len(avals)
        for i, x in flat.constants.items():
            constants[i] = x
        names = {*flat.faults, *itertools.chain.from_iterable(uncovered)}
        return Plan(
            steps=[step for step in steps if step is not None] if names else list(steps),
            inputs=[PlanInput(i, None if key else avals[i].dtype) for i, key in flat.arguments],
            results=[
                PlanResult(i, avals[i], i in self._owned and i not in results[:n], is_key)
                for n, (i, is_key) in enumerate(flat.results)
            ],
            constants=constants,
            uncovered=tuple(sorted(names)),
            estimate=sum(seconds),
            large_products=True in are_large,
            any_shape=bool(results) and True not in overwrite and self._is_elementwise,
        )

    def _planned(
        self, n: int, sizes: Sequence[int], n_bytes: Sequence[int], call_of: Callable[[int], Call]
    ) -> _PlannedEquation:
        equation, step, rule = self._flat.equations[n], self._steps[n], self._rules[n]
        name, ins, outs = equation.call.name, equation.inputs, equation.outputs
        if equation.has_effects:
            return _PlannedEquation(None, (f"{name} with effects",))
        if rule is None:
            return _PlannedEquation(None, (name,))
        kernel: Any = step.kernel
        call = None
        if kernel is None:
            call = call_of(n)
            kernel = rule.make(call)
            if kernel is None:
                return _PlannedEquation(None, (name,))
            step = step._replace(kernel=kernel)
            if isinstance(kernel, NestedKernel):
                return _PlannedEquation(step, kernel.uncovered, kernel.estimate, True)
        largest = max([sizes[i] for i in (*ins, *outs)])
        seconds, operations = CALL_SECONDS, 0.0
        if rule.weight:
            moved = sum([n_bytes[i] for i in (*ins, *outs)])
            work = moved / (CACHED_BYTE_RATE if moved < CACHE_BYTES else BYTE_RATE)
            if name in _PRODUCTS:
                operations = _product_flops(call or call_of(n))
                seconds += operations / FLOP_RATE + work
            else:
                seconds += max(largest * self._weights[n], work)
        is_large = largest >= _SMALLEST_LARGE and _has_large_product(
            equation, rule, sizes, operations
        )
        candidates = self._reusable[n]
        if not candidates or n_bytes[outs[0]] < REUSE_BYTES:
            return _PlannedEquation(step, (), seconds, is_large)
        reusable = [i for i, owner in candidates if n_bytes[i] == n_bytes[owner]]
        overwriting = _overwriting(kernel, equation, call or call_of(n), reusable)
        step = step._replace(kernel=overwriting)
        return _PlannedEquation(step, (), seconds, is_large, overwriting is not kernel)


def _kernel_of(equation: Equation) -> Any:
    rule = equation.rule
    return rule.make(equation.call) if rule is not None and rule.any_shape else None


def _last_uses(equations: list[Equation], kept: set[int]) -> list[tuple[int, ...]]:
    last_uses = []
    read = set(kept)
    for equation in reversed(equations):
        dead = {i for i in (*equation.inputs, *equation.outputs) if i not in read}
        last_uses.append(tuple(dead))
        read.update(dead)
    return last_uses[::-1]


def _reusable(
    equations: Sequence[Equation], owned: set[int], results: Sequence[int]
) -> list[list[tuple[int, int]]]:
    """Returns for each equation the inputs whose memory no other use needs, with the value whose
    memory that is; ``owned`` values have their own. A part of an array must not be among them: a
    result in its place would keep all of it
    alive."""
    #: The value whose memory a value has, of those and their views.
    owners = {i: i for i in owned}
    #: The last equations that read from the memory of values.
    last: dict[int, float] = {}
    for n, equation in enumerate(equations):
        is_view = equation.call.name in _VIEWS and len(equation.inputs) == 1
        for i in equation.inputs:
            if i in owners:
                owner = owners[i]
                if is_view:
                    owners[equation.outputs[0]] = owner
                shares = equation.rule is None or not (is_view or equation.rule.fresh)
                last[owner] = math.inf if shares else max(n, last.get(owner, 0))
    last.update((owners[i], math.inf) for i in results if i in owners)
    reusable = []
    for n, equation in enumerate(equations):
        read = [i for i in dict.fromkeys(equation.inputs) if i in owners]
        counts = Counter(owners[i] for i in read)
        alone = [i for i in read if last[owners[i]] == n and counts[owners[i]] == 1]
        reusable.append([(i, owners[i]) for i in alone])
    return reusable


def _element_seconds(equation: Equation, rule: KernelRule) -> float:
    small = any(is_small_float(x.dtype) for x in equation.call.outs)
    return rule.weight * (SMALL_FLOAT_FACTOR if small else 1.0) * ELEMENT_SECONDS


def _product_flops(call: Call) -> float:
    dilation = math.prod(call.params.get("lhs_dilation", ()))
    return dilation * flops(call.name, call.params, call.ins, call.outs)


def _has_large_product(
    equation: Equation, rule: KernelRule, sizes: Sequence[int], operations: float
) -> bool:
    name, ins = equation.call.name, [sizes[i] for i in equation.inputs]
    if name not in _PRODUCTS:
        size = max(ins, default=0)
        return (size**1.5 if rule.weight >= FUNCTION_WEIGHT else size) >= LARGE_PRODUCT
    multiplications = operations / 2
    # Both operands have more elements than the terms of one sum.
    terms = multiplications / max(sizes[equation.outputs[0]], 1)
    of_matrices = name == "dot_general" and min(ins) > terms
    is_batched = of_matrices and any(equation.call.params["dimension_numbers"][1])
    return multiplications >= (
        LARGE_MATRIX_PRODUCT if of_matrices and not is_batched else LARGE_PRODUCT
    )


def _overwriting(kernel: Kernel, equation: Equation, call: Call, reusable: list[int]) -> Kernel:
    if not reusable:
        return kernel
    rule = equation.rule
    if rule is not None and rule.in_place is not None:
        changed = equation.inputs[rule.changed_input]
        alone = changed in reusable and equation.inputs.count(changed) == 1
        return rule.in_place(call) if alone else kernel
    if not isinstance(kernel, np.ufunc):
        return kernel
    for n, i in enumerate(equation.inputs):
        if i in reusable and call.ins[n] == call.outs[0]:
            return _writing(kernel, n, len(equation.inputs))
    return kernel


def _writing(ufunc: Any, n: int, count: int) -> Kernel:
    if count == 1:
        return lambda x: ufunc(x, out=x)
    if n == 0:
        return lambda x, y: ufunc(x, y, out=x)
    return lambda x, y: ufunc(x, y, out=y)
