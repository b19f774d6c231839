"""Planning: a kernel for every equation of a flat jaxpr, and the last uses of values."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ..jax_internals import ClosedJaxpr
from ..jaxprs import SymbolicSizes, Trait, flops, is_symbolic, primitives_with
from ._elementwise_runs import LEAST_DIVIDED, Blocks, Run, in_runs
from ._equations import JAXPRS, Equation, FlatJaxpr, flattened, has_hash
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
#: The primitives that evaluate jaxprs: all others look at them.
_CALLING = frozenset({"cond", "scan", "while"})
#: The first words of primitives that take long, and compute no products.
_MOVING = frozenset({"gather", "scatter", "sort", "top_k"})
#: Sizes with fewer binary digits than this are of one order of magnitude: arrays of so few elements
#: are neither used again nor divided.
_SMALL_BITS = 10
#: Maximum number of orders of magnitude with a plan of their own.
_MAX_TEMPLATES = 32
#: Kernels by the kinds of equations, with their calls.
Kernels = dict[int, tuple[Kernel | None, Call]]


def plan(jaxpr: ClosedJaxpr | FlatJaxpr | Plan) -> Plan:
    if isinstance(jaxpr, Plan):
        return jaxpr
    flat, runs = in_runs(jaxpr if isinstance(jaxpr, FlatJaxpr) else flattened(jaxpr))
    calls = [equation.call for equation in flat.equations]
    planner = _Planner(flat, runs, range(len(calls)))
    return planner.plan(flat.avals, planner.rows(flat.avals, calls.__getitem__, {}))


class _Template(NamedTuple):
    """A plan for sizes of one order of magnitude."""

    plan: Plan
    #: The positions of steps that depend on the sizes, with their equations' numbers, or ``~k`` for
    #: run k in blocks.
    varying: list[tuple[int, int]]
    #: Estimated seconds of everything else, and by element of each shape.
    seconds: float
    rates: list[float]


class GeneralPlan:
    """The plans of a flat jaxpr whose sizes are expressions of symbols."""

    __slots__ = (
        "_avals", "_flat", "_n_shapes", "_params", "_planner", "_shapes", "_templates", "_values",
    )  # fmt: skip

    def __init__(self, flat: FlatJaxpr, sizes: SymbolicSizes) -> None:
        self._flat, runs = in_runs(flat)
        expressions: dict[object, int] = {}

        def number(expression: object) -> int:
            return expressions.setdefault(expression, len(expressions))

        #: By the number of a value, the number of its shape among the evaluated expressions, whose
        #: first ones they are.
        self._shapes = {
            i: number(aval.shape) for i, aval in enumerate(flat.avals) if is_symbolic(aval.shape)
        }
        self._n_shapes = len(expressions)
        #: The values by the number of their shape and their dtype.
        self._avals: dict[tuple[int, np.dtype], list[int]] = {}
        for i, n in self._shapes.items():
            self._avals.setdefault((n, flat.avals[i].dtype), []).append(i)
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
            if varying or not self._shapes.keys().isdisjoint((*equation.inputs, *equation.outputs)):
                self._params[n] = varying
        self._values = sizes.function(list(expressions))
        self._planner = _Planner(self._flat, runs, self._params, _kinds(self._flat, self._params))
        #: By the orders of magnitude of all shapes, which decide what the planner chooses.
        self._templates: dict[tuple[int, ...], _Template] = {}

    def at(self, values: Sequence[int]) -> Plan:
        """Returns the plan for these values of the symbols."""
        evaluated = self._values(*values)
        counts = [math.prod(shape) for shape in evaluated[: self._n_shapes]]
        key = tuple([max(count.bit_length(), _SMALL_BITS) for count in counts])
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[key] = self._template(evaluated, values, key)
            return template.plan
        plan, estimate = template.plan, template.seconds
        if not self._params and not self._shapes:
            return plan
        shapes, avals, kernels = self._shapes, self._avals_at(evaluated), {}

        def n_bytes(i: int) -> int:
            return counts[shapes[i]] * avals[i].dtype.itemsize if i in shapes else avals[i].nbytes

        steps = plan.steps.copy()
        call_of = partial(self._call_at, evaluated, values, avals)
        for k, n in template.varying:
            if n < 0:
                shape = evaluated[shapes[self._planner.output_of(~n)]]
                steps[k] = self._planner.in_blocks(~n, shape, n_bytes)[0]
                continue
            step = self._planner.step(n, n_bytes, call_of, kernels)[0]
            nested = None if step is None else step.kernel
            if isinstance(nested, NestedKernel):
                estimate += nested.estimate
            if step is None or (isinstance(nested, NestedKernel) and nested.uncovered):
                return self._template(evaluated, values, key).plan
            steps[k] = step
        results = [
            r._replace(aval=avals[r.position]) if r.position in shapes else r for r in plan.results
        ]
        estimate += sum(map(mul, template.rates, counts))
        return replace(plan, steps=steps, results=results, estimate=estimate)

    def _template(
        self, evaluated: Sequence[Any], values: Sequence[int], orders: Sequence[int]
    ) -> _Template:
        shapes = self._shapes
        avals = self._avals_at(evaluated)
        growth = {i: 2 ** orders[n] / max(avals[i].size, 1) for i, n in shapes.items()}
        call_of = partial(self._call_at, evaluated, values, avals)
        rows = self._planner.rows(avals, call_of, growth)
        seconds, rates = 0.0, [0.0] * self._n_shapes
        varying: list[tuple[int, int]] = []
        for k, row in enumerate([row for row in rows if row.step is not None]):
            if row.varying is not None:
                varying.append((k, row.varying))
            if row.varying is not None and isinstance(row.step.kernel, NestedKernel):
                continue
            n = shapes.get(row.largest)
            scaled = 0.0 if n is None else row.seconds - CALL_SECONDS
            seconds += row.seconds - scaled
            if n is not None:
                rates[n] += scaled / max(avals[row.largest].size, 1)
        return _Template(self._planner.plan(avals, rows), varying, seconds, rates)

    def _avals_at(self, evaluated: Sequence[Any]) -> list[Aval]:
        avals = self._flat.avals.copy()
        for (n, dtype), numbers in self._avals.items():
            aval = Aval(evaluated[n], dtype)
            for i in numbers:
                avals[i] = aval
        return avals

    def _call_at(
        self, evaluated: Sequence[Any], values: Sequence[int], avals: Sequence[Aval], n: int
    ) -> Call:
        equation, varying = self._flat.equations[n], self._params.get(n)
        params = equation.call.params
        if varying:
            params = {**params}
            for name, x in varying.items():
                params[name] = evaluated[x] if isinstance(x, int) else _at(x, values)
        ins = tuple([avals[i] for i in equation.inputs])
        return Call(equation.call.name, params, ins, tuple([avals[i] for i in equation.outputs]))


def _general(param: Any, sizes: SymbolicSizes) -> Any:
    if isinstance(param, FlatJaxpr):
        return GeneralPlan(param, sizes)
    return tuple([_general(x, sizes) for x in param])


def _at(param: Any, values: Sequence[int]) -> Any:
    return tuple([_at(x, values) for x in param]) if isinstance(param, tuple) else param.at(values)


def _kinds(flat: FlatJaxpr, numbers: Iterable[int]) -> dict[int, int]:
    """Returns for equations the first ones whose calls are equal, whatever the sizes are."""
    first: dict[Hashable, int] = {}
    calls = [(n, flat.equations[n].call) for n in numbers]
    return {
        n: first.setdefault((call.name, *call.params.items(), call.ins, call.outs), n)
        for n, call in calls
        if has_hash(call.params)
    }


class _PlannedEquation(NamedTuple):
    """A step, with facts that plans add up; ``step`` is None without a kernel."""

    step: PlanStep | None
    uncovered: tuple[str, ...] = ()
    seconds: float = 0.0
    is_large: bool = False
    #: True if it serves arrays of its own shapes alone: it writes into them, or divides them.
    is_bound: bool = False
    #: The number of the equation, or ``~k`` for run k in blocks, if the step depends on the sizes.
    varying: int | None = None
    #: The value that the work grows with.
    largest: int = -1


class _Planner:
    """Everything that is known of a flat jaxpr before its sizes are: its ``runs``, the numbers of
    the equations that depend on the sizes (``varying``), and ``kinds`` with the same kernel."""

    def __init__(
        self, flat: FlatJaxpr, runs: Sequence[Run], varying: Collection[int],
        kinds: Mapping[int, int] | None = None,
    ) -> None:  # fmt: skip
        self._flat, self._runs, self._kinds = flat, runs, kinds or {}
        equations = flat.equations
        self._results = [i for i, _ in flat.results]
        self._dead = _last_uses(equations, set(self._results))
        self._rules = rules = [e.rule for e in equations]
        pairs = list(zip(equations, rules, strict=True))
        self._owned = {i for e, r in pairs if r is not None and r.fresh for i in e.outputs}
        self._reusable, self._owners = _reusable(equations, self._owned, self._results)
        #: The kernels that are the same for all sizes, None for others.
        self._kernels = [
            r.make(e.call) if r is not None and r.any_shape else None for e, r in pairs
        ]
        self._steps = [self._known_steps(n) for n in range(len(equations))]
        self._weights = [0.0 if r is None else _element_seconds(e, r) for e, r in pairs]
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

    def rows(
        self, avals: Sequence[Aval], call_of: Callable[[int], Call], growth: Mapping[int, float]
    ) -> list[_PlannedEquation]:
        """Returns the steps for values of these shapes; ``call_of`` gives an equation's call.
        ``growth`` is the factor by which values may be larger."""
        flat = self._flat
        sizes = [math.prod(aval.shape) for aval in avals]
        n_bytes = [size * aval.dtype.itemsize for size, aval in zip(sizes, avals, strict=True)]
        planned: list[_PlannedEquation] = []
        kernels: Kernels = {}
        for k, run in enumerate(self._runs):
            rows = self._fixed.get(k)
            if rows is None:
                if run.is_elementwise and sizes[out := self.output_of(k)] >= LEAST_DIVIDED:
                    step, seconds = self.in_blocks(k, avals[out].shape, n_bytes.__getitem__)
                    rows = [_PlannedEquation(step, (), seconds, False, True, ~k, out)]
                else:
                    rows = [
                        self._planned(n, sizes, n_bytes, call_of, kernels, growth)
                        for n in run.numbers
                    ]
                if self._varying.isdisjoint(run.numbers):
                    rows = self._fixed[k] = [row._replace(varying=None) for row in rows]
            planned += rows
        return planned

    def plan(self, avals: Sequence[Aval], planned: Sequence[_PlannedEquation]) -> Plan:
        flat, results = self._flat, self._results
        constants: list[Any] = [None] * len(avals)
        for i, x in flat.constants.items():
            constants[i] = x
        uncovered = {name for row in planned for name in row.uncovered}
        is_bound = any(row.is_bound for row in planned)
        return Plan(
            steps=[row.step for row in planned if row.step is not None],
            inputs=[PlanInput(i, None if key else avals[i].dtype) for i, key in flat.arguments],
            results=[
                PlanResult(i, avals[i], i in self._owned and i not in results[:n], is_key)
                for n, (i, is_key) in enumerate(flat.results)
            ],
            constants=constants,
            uncovered=tuple(sorted(uncovered.union(flat.faults))),
            estimate=sum([row.seconds for row in planned]),
            large_products=any(row.is_large for row in planned),
            any_shape=bool(results) and not is_bound and self._is_elementwise,
        )

    def output_of(self, k: int) -> int:
        """Returns the number of the first result of run k."""
        return self._flat.equations[self._runs[k].numbers[0]].outputs[0]

    def in_blocks(
        self, k: int, shape: tuple[int, ...], n_bytes: Callable[[int], int]
    ) -> tuple[PlanStep, float]:
        """Returns the step of run k in blocks, and its estimated seconds."""
        numbers = self._runs[k].numbers
        if k not in self._blocks:
            self._blocks[k] = self._blocks_of(numbers)
        blocks, step = self._blocks[k]
        work = math.prod(shape) * sum([self._weights[n] for n in numbers])
        passing = sum(map(n_bytes, (*step.ins, *blocks.outputs))) / BYTE_RATE
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

    def step(
        self, n: int, n_bytes: Callable[[int], int], call_of: Callable[[int], Call],
        kernels: Kernels,
    ) -> tuple[PlanStep | None, Call]:  # fmt: skip
        """Returns the step of an equation whose kernel depends on its call, None without one;
        ``kernels`` has those of other equations of the plan."""
        equation, rule = self._flat.equations[n], self._rules[n]
        assert rule is not None
        kind = self._kinds.get(n, ~n)
        if kind not in kernels:
            call = call_of(n)
            kernels[kind] = rule.make(call), call
        kernel, call = kernels[kind]
        if kernel is None:
            return None, call
        outs, candidates = equation.outputs, self._reusable[n]
        if candidates and n_bytes(outs[0]) >= REUSE_BYTES:
            reusable = [i for i, owner in candidates if n_bytes(i) == n_bytes(owner)]
            kernel = _overwriting(kernel, equation, call, reusable)
        out = outs if equation.several else outs[0]
        return PlanStep(kernel, equation.inputs, out, self._dead[n]), call

    def _planned(
        self, n: int, sizes: Sequence[int], n_bytes: Sequence[int],
        call_of: Callable[[int], Call], kernels: Kernels, growth: Mapping[int, float],
    ) -> _PlannedEquation:  # fmt: skip
        equation, rule = self._flat.equations[n], self._rules[n]
        name, ins, outs = equation.call.name, equation.inputs, equation.outputs
        if rule is None:
            return _PlannedEquation(None, (name,))
        known, is_bound, varying = self._steps[n], False, None
        if known is not None:
            call, (step, writing) = equation.call, known
            if writing is not None and n_bytes[outs[0]] >= REUSE_BYTES:
                step, is_bound = writing, True
        else:
            varying = n
            step, call = self.step(n, n_bytes.__getitem__, call_of, kernels)
            if step is None:
                return _PlannedEquation(None, (name,))
            nested = step.kernel
            if isinstance(nested, NestedKernel):
                return _PlannedEquation(step, nested.uncovered, nested.estimate, True, False, n)
        if not rule.weight:
            return _PlannedEquation(step, (), CALL_SECONDS, varying=varying)
        # Of the array that is gathered from or scattered to, a part alone is looked at.
        values = (*ins[name == "gather" :], *outs)
        moved = sum([n_bytes[i] for i in values])
        largest = max(ins[1:] if name.startswith("scatter") else values, key=sizes.__getitem__)
        seconds = moved / (CACHED_BYTE_RATE if moved < CACHE_BYTES else BYTE_RATE)
        if name in _PRODUCTS:
            seconds += flops(name, call.params, call.ins, call.outs) / FLOP_RATE
        else:
            seconds = max(seconds, sizes[largest] * self._weights[n])
        factor = growth.get(largest, 1.0)
        is_large = known is None and name.partition("-")[0] not in _MOVING
        is_large = is_large and sizes[largest] * factor >= _SMALLEST_LARGE
        if name in _PRODUCTS:
            factor = math.sqrt(math.prod([growth.get(i, 1.0) for i in values]))
        is_large = is_large and _has_large_product(rule, call, factor)
        return _PlannedEquation(
            step, (), CALL_SECONDS + seconds, is_large, is_bound, varying, largest
        )


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
        read = [i for i in dict.fromkeys(equation.inputs) if i in owners]
        counts = Counter(owners[i] for i in read)
        alone = [i for i in read if last[owners[i]] == n and counts[owners[i]] == 1]
        reusable.append([(i, owners[i]) for i in alone])
    return reusable, owners


def _element_seconds(equation: Equation, rule: KernelRule) -> float:
    small = any(is_small_float(x.dtype) for x in equation.call.outs)
    return rule.weight * (SMALL_FLOAT_FACTOR if small else 1.0) * ELEMENT_SECONDS


def _has_large_product(rule: KernelRule, call: Call, growth: float) -> bool:
    if call.name not in _PRODUCTS:
        size = max([x.size for x in call.ins], default=0) * growth
        return (size**1.5 if rule.weight >= FUNCTION_WEIGHT else size) >= LARGE_PRODUCT
    multiplications = flops(call.name, call.params, call.ins, call.outs) / 2
    # Both operands have more elements than the terms of one sum.
    terms = multiplications / max(call.outs[0].size, 1)
    of_matrices = call.name == "dot_general" and all(x.size > terms for x in call.ins)
    is_batched = of_matrices and any(call.params["dimension_numbers"][1])
    return multiplications * growth >= (
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
