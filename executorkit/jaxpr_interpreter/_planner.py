"""Planning: a kernel for every equation of a flat jaxpr, and the last uses of values."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..jax_internals import ClosedJaxpr
from ..jaxprs import SymbolicSizes, Trait, flops, is_symbolic, primitives_with
from ._elementwise_runs import LEAST_DIVIDED, Blocks, Run, in_runs
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
LARGE_PRODUCT, LARGE_MATRIX_PRODUCT = 9216, (1 << 18) + 1
#: Minimum number of elements of any array of a large product, of functions of matrices too.
_SMALLEST_LARGE = 64
#: Minimum weight of functions of matrices.
FUNCTION_WEIGHT = 30
#: Minimum number of bytes of an array whose memory is used again for a result.
REUSE_BYTES = 1 << 14
_PRODUCTS = primitives_with(Trait.PRODUCT)
_VIEWS = primitives_with(Trait.VIEW)
#: The primitives that evaluate jaxprs: all others look at them.
_CALLING = frozenset({"cond", "scan", "while"})
#: Arrays of fewer elements than these binary digits can count are neither used again nor divided;
#: of those with fewer than the second number, products are not large, and functions take no time.
_SMALL_BITS, _SMALLEST_BITS = 10, 6
#: Maximum number of orders of magnitude with a plan of their own.
_MAX_TEMPLATES = 32
#: The positions of the steps that depend on sizes, with the numbers of their equations, or ``~k``
#: for run k in blocks.
_Varying = list[tuple[int, int]]


def plan(jaxpr: ClosedJaxpr | FlatJaxpr | Plan) -> Plan:
    if isinstance(jaxpr, Plan):
        return jaxpr
    flat, runs = in_runs(jaxpr if isinstance(jaxpr, FlatJaxpr) else flattened(jaxpr))
    calls = [equation.call for equation in flat.equations]
    return _Planner(flat, runs, range(len(calls))).plan(flat.avals, calls.__getitem__)[0]


class GeneralPlan:
    """The plans of a flat jaxpr whose sizes are expressions of symbols."""

    __slots__ = ("_avals", "_flat", "_params", "_planner", "_small_bits", "_templates", "_values")

    def __init__(self, flat: FlatJaxpr, sizes: SymbolicSizes) -> None:
        self._flat, runs = in_runs(flat)
        expressions: dict[object, int] = {}

        def number(expression: object) -> int:
            return expressions.setdefault(expression, len(expressions))

        #: The values with sizes, by the number of their shape among the evaluated expressions and
        #: their dtype.
        self._avals: dict[tuple[int, np.dtype], list[int]] = {}
        for i, aval in enumerate(flat.avals):
            if is_symbolic(aval.shape):
                self._avals.setdefault((number(aval.shape), aval.dtype), []).append(i)
        varied = {i for numbers in self._avals.values() for i in numbers}
        #: The parameters that have sizes, by name, of the equations that depend on the sizes.
        self._params: dict[int, dict[str, Any]] = {}
        for n, equation in enumerate(self._flat.equations):
            call = equation.call
            varying: dict[str, Any] = {}
            for name, x in call.params.items():
                if name in JAXPRS:
                    if call.name in _CALLING:
                        varying[name] = _general(x, sizes)
                elif is_symbolic(x):
                    varying[name] = number(x)
            if varying or not varied.isdisjoint((*equation.inputs, *equation.outputs)):
                self._params[n] = varying
        self._values = sizes.function(list(expressions))
        self._planner = _Planner(self._flat, runs, self._params)
        heavy = any(w >= FUNCTION_WEIGHT * ELEMENT_SECONDS for w in self._planner.weights)
        has_products = any(e.call.name in _PRODUCTS for e in self._flat.equations)
        self._small_bits = _SMALLEST_BITS if heavy or has_products else _SMALL_BITS
        #: Plans by the orders of magnitude of all arrays, from which all that the planner chooses
        #: follows, but the steps that vary.
        self._templates: dict[tuple[int, ...], tuple[Plan, _Varying]] = {}

    def at(self, values: Sequence[int]) -> Plan:
        """Returns the plan for these values of the symbols."""
        flat, evaluated = self._flat, self._values(*values)
        avals, orders = flat.avals.copy(), []
        for (n, dtype), numbers in self._avals.items():
            aval = Aval(evaluated[n], dtype)
            orders.append(max(aval.size.bit_length(), self._small_bits))
            for i in numbers:
                avals[i] = aval

        def call_of(n: int) -> Call:
            equation, varying = flat.equations[n], self._params.get(n)
            params = equation.call.params
            if varying:
                params = {**params}
                for name, x in varying.items():
                    params[name] = evaluated[x] if isinstance(x, int) else _at(x, values)
            ins, outs = [tuple([avals[i] for i in x]) for x in (equation.inputs, equation.outputs)]
            return Call(equation.call.name, params, ins, outs)

        template = self._templates.get(tuple(orders))
        if template is None:
            planned, varying = self._planner.plan(avals, call_of)
            is_large = planned.large_products or max(orders, default=0) > self._small_bits
            planned = replace(planned, large_products=is_large)
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            self._templates[tuple(orders)] = planned, varying
            return planned
        steps, estimate = template[0].steps.copy(), template[0].estimate
        for k, n in template[1]:
            if n < 0:
                steps[k] = self._planner.in_blocks(~n, avals)[0]
                continue
            old, step = steps[k].kernel, self._planner.step(n, avals, call_of(n))
            if step is None or (isinstance(step.kernel, NestedKernel) and step.kernel.uncovered):
                return self._planner.plan(avals, call_of)[0]
            if isinstance(step.kernel, NestedKernel) and isinstance(old, NestedKernel):
                estimate += step.kernel.estimate - old.estimate
            steps[k] = step
        results = [PlanResult(i, avals[i], *others) for i, _, *others in template[0].results]
        return replace(template[0], steps=steps, results=results, estimate=estimate)


def _general(param: Any, sizes: SymbolicSizes) -> Any:
    if isinstance(param, FlatJaxpr):
        return GeneralPlan(param, sizes)
    return tuple([_general(x, sizes) for x in param])


def _at(param: Any, values: Sequence[int]) -> Any:
    return tuple([_at(x, values) for x in param]) if isinstance(param, tuple) else param.at(values)


class _PlannedEquation(NamedTuple):
    """A step, with facts that plans add up; ``step`` is None without a kernel."""

    step: PlanStep | None
    uncovered: tuple[str, ...] = ()
    seconds: float = 0.0
    is_large: bool = False
    #: True if it serves arrays of its own shapes alone: it writes into them, or divides them.
    is_bound: bool = False
    varying: int | None = None


class _Planner:
    """Everything that is known of a flat jaxpr before its sizes are: its ``runs``, and the numbers
    of the equations that depend on the sizes (``varying``)."""

    def __init__(self, flat: FlatJaxpr, runs: Sequence[Run], varying: Collection[int]) -> None:
        self._flat, self._runs = flat, runs
        equations = flat.equations
        self._results = [i for i, _ in flat.results]
        self._dead = _last_uses(equations, set(self._results))
        self._rules = rules = [e.rule for e in equations]
        pairs = list(zip(equations, rules, strict=True))
        self._owned = {i for e, r in pairs if r is not None and r.fresh for i in e.outputs}
        self._reusable, self._owners = _reusable(equations, self._owned, self._results)
        #: The kernels that are the same for all sizes, None for others.
        self._kernels = [
            r.make(e.call) if r is not None and r.any_sizes(e.call) else None for e, r in pairs
        ]
        self._steps = [self._known_steps(n) for n in range(len(equations))]
        self.weights = [0.0 if r is None else _element_seconds(e, r) for e, r in pairs]
        self._varying = frozenset(varying)
        self._fixed: dict[int, list[_PlannedEquation]] = {}
        self._blocks: dict[int, tuple[Blocks, PlanStep]] = {}
        read = {*self._results, *(i for e in equations for i in e.inputs)}
        self._is_elementwise = all(r is not None and r.any_shape for r in rules) and all(
            np.ndim(x) == 0 for i, x in flat.constants.items() if i in read
        )

    def _known_steps(self, n: int) -> tuple[PlanStep, PlanStep | None] | None:
        """Returns a step that is the same for all sizes, and one that writes into an operand."""
        equation, kernel = self._flat.equations[n], self._kernels[n]
        if kernel is None or equation.has_effects:
            return None
        step = PlanStep(kernel, equation.inputs, equation.outputs[0], self._dead[n])
        avals = self._flat.avals
        reusable = [
            i
            for i, owner in self._reusable[n]
            if i == owner or avals[i].nbytes == avals[owner].nbytes
        ]
        overwriting = _overwriting(kernel, equation, equation.call, reusable)
        return step, None if overwriting is kernel else step._replace(kernel=overwriting)

    def plan(self, avals: Sequence[Aval], call_of: Callable[[int], Call]) -> tuple[Plan, _Varying]:
        """Returns the plan for values of these shapes; ``call_of`` gives an equation's call."""
        flat, results = self._flat, self._results
        planned: list[_PlannedEquation] = []
        for k, run in enumerate(self._runs):
            rows = self._fixed.get(k)
            if rows is None:
                out = flat.equations[run.numbers[0]].outputs
                if run.is_elementwise and avals[out[0]].size >= LEAST_DIVIDED:
                    step, seconds = self.in_blocks(k, avals)
                    rows = [_PlannedEquation(step, (), seconds, is_bound=True, varying=~k)]
                else:
                    rows = [self._planned(n, avals, call_of) for n in run.numbers]
                if self._varying.isdisjoint(run.numbers):
                    rows = self._fixed[k] = [row._replace(varying=None) for row in rows]
            planned += rows
        constants: list[Any] = [None] * len(avals)
        for i, x in flat.constants.items():
            constants[i] = x
        uncovered = {name for row in planned for name in row.uncovered}
        is_bound = any(row.is_bound for row in planned)
        with_steps = [row for row in planned if row.step is not None]
        complete = Plan(
            steps=[row.step for row in with_steps if row.step is not None],
            inputs=[PlanInput(i, None if key else avals[i].dtype) for i, key in flat.arguments],
            results=[
                PlanResult(i, avals[i], i in self._owned and i not in results[:n], is_key)
                for n, (i, is_key) in enumerate(flat.results)
            ],
            constants=constants,
            uncovered=tuple(sorted(uncovered.union(flat.faults))),
            estimate=sum([row.seconds for row in planned]),
            large_products=any(row.is_large for row in planned),
            # JAX traces no choice (``where``) between empty arrays.
            any_shape=bool(results)
            and not is_bound
            and self._is_elementwise
            and all(avals[i].size for i in results),
        )
        return complete, [(k, x.varying) for k, x in enumerate(with_steps) if x.varying is not None]

    def in_blocks(self, k: int, avals: Sequence[Aval]) -> tuple[PlanStep, float]:
        """Returns the step of run k in blocks, and its estimated seconds."""
        numbers = self._runs[k].numbers
        if k not in self._blocks:
            self._blocks[k] = self._blocks_of(numbers)
        blocks, step = self._blocks[k]
        shape = avals[blocks.outputs[0]].shape
        work = math.prod(shape) * sum([self.weights[n] for n in numbers])
        passing = sum([avals[i].nbytes for i in (*step.ins, *blocks.outputs)]) / BYTE_RATE
        step = step._replace(kernel=partial(blocks.compute, shape, int(work * FLOP_RATE / 2)))
        return step, CALL_SECONDS + max(work, passing)

    def _blocks_of(self, numbers: range) -> tuple[Blocks, PlanStep]:
        avals, owners = self._flat.avals, self._owners
        equations = [self._flat.equations[n] for n in numbers]
        dead = {i for n in numbers for i in self._dead[n]}
        reads = Counter([owners.get(i) for i in {i for e in equations for i in e.inputs}])
        reusable = [
            i
            for n in numbers
            for i, owner in self._reusable[n]
            if reads[owner] == 1 and (i == owner or avals[i].nbytes == avals[owner].nbytes)
        ]
        kept = {e.outputs[0] for e in equations} - dead
        blocks = Blocks(equations, [self._kernels[n] for n in numbers], kept, reusable)
        dead.intersection_update(blocks.inputs)
        return blocks, PlanStep(blocks.compute, blocks.inputs, blocks.outputs, tuple(dead))

    def step(self, n: int, avals: Sequence[Aval], call: Call) -> PlanStep | None:
        """Returns the step of an equation whose kernel depends on its call; None without one."""
        equation, rule = self._flat.equations[n], self._rules[n]
        kernel = None if rule is None else rule.make(call)
        if kernel is None:
            return None
        outs, candidates = equation.outputs, self._reusable[n]
        if candidates and avals[outs[0]].nbytes >= REUSE_BYTES:
            reusable = [i for i, owner in candidates if avals[i].nbytes == avals[owner].nbytes]
            kernel = _overwriting(kernel, equation, call, reusable)
        out = outs if equation.several else outs[0]
        return PlanStep(kernel, equation.inputs, out, self._dead[n])

    def _planned(
        self, n: int, avals: Sequence[Aval], call_of: Callable[[int], Call]
    ) -> _PlannedEquation:
        equation, rule = self._flat.equations[n], self._rules[n]
        name, ins, outs = equation.call.name, equation.inputs, equation.outputs
        if rule is None:
            return _PlannedEquation(None, (name,))
        known, is_bound, varying = self._steps[n], False, None
        if known is not None:
            call, (step, writing) = equation.call if rule.any_shape else call_of(n), known
            if writing is not None and avals[outs[0]].nbytes >= REUSE_BYTES:
                step, is_bound = writing, True
        else:
            varying, call = n, call_of(n)
            step = self.step(n, avals, call)
            if step is None:
                return _PlannedEquation(None, (name,))
            if isinstance(nested := step.kernel, NestedKernel):
                return _PlannedEquation(step, nested.uncovered, nested.estimate, True, False, n)
        if not rule.weight:
            return _PlannedEquation(step, (), CALL_SECONDS, varying=varying)
        # Of the array that is gathered from or scattered to, a part alone is looked at.
        values = (*ins[name == "gather" :], *outs)
        moved = sum([avals[i].nbytes for i in values])
        sized = ins[1:] if name.startswith("scatter") else values
        largest = max([avals[i].size for i in sized])
        seconds = moved / (CACHED_BYTE_RATE if moved < CACHE_BYTES else BYTE_RATE)
        if name in _PRODUCTS:
            seconds += flops(name, call.params, call.ins, call.outs) / FLOP_RATE
        else:
            seconds = max(seconds, largest * self.weights[n])
        may_be_large = not rule.any_shape and largest >= _SMALLEST_LARGE
        is_large = may_be_large and _has_large_product(rule, call)
        return _PlannedEquation(step, (), CALL_SECONDS + seconds, is_large, is_bound, varying)


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
) -> tuple[list[list[tuple[int, int]]], dict[int, int]]:
    """Returns for each equation the inputs whose memory no other use needs, with the value whose
    memory that is; and for all values the one whose memory they have. ``owned`` values have their
    own. No result may take the place of a part of an array: it would keep all of it alive."""
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
        read = [(i, owners[i]) for i in dict.fromkeys(equation.inputs) if i in owners]
        arrays = [owner for _, owner in read]
        reusable.append([x for x in read if last[x[1]] == n and arrays.count(x[1]) == 1])
    return reusable, owners


def _element_seconds(equation: Equation, rule: KernelRule) -> float:
    small = any(is_small_float(x.dtype) for x in equation.call.outs)
    return rule.weight * (SMALL_FLOAT_FACTOR if small else 1.0) * ELEMENT_SECONDS


def _has_large_product(rule: KernelRule, call: Call) -> bool:
    if call.name not in _PRODUCTS:
        size = max([x.size for x in call.ins], default=0)
        return (size**1.5 if rule.weight >= FUNCTION_WEIGHT else size) >= LARGE_PRODUCT
    multiplications = flops(call.name, call.params, call.ins, call.outs) / 2
    # Both operands have more elements than the terms of one sum.
    terms = multiplications / max(call.outs[0].size, 1)
    of_matrices = call.name == "dot_general" and all(x.size > terms for x in call.ins)
    is_batched = of_matrices and any(call.params["dimension_numbers"][1])
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
