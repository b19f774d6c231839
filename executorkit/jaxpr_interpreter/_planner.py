"""Planning: a kernel for every equation of a flat jaxpr, and the last uses of values."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import starmap
from typing import Any

import numpy as np

from .._support.annotations import Raw
from ..jax_internals import ClosedJaxpr
from ..jaxprs import Trait, flops, primitives_with
from ._equations import Equation, FlatJaxpr, flattened
from ._plan import CALL_SECONDS, NestedKernel, Plan, PlanInput, PlanResult, PlanStep
from ._rules import Call, Kernel, is_small_float

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
#: Minimum weight of functions of matrices.
FUNCTION_WEIGHT = 30
#: Minimum number of bytes of an array whose memory is used again for a result.
REUSE_BYTES = 1 << 14
_PRODUCTS = primitives_with(Trait.PRODUCT)
_VIEWS = primitives_with(Trait.VIEW)


def plan(jaxpr: ClosedJaxpr | FlatJaxpr) -> Plan:
    flat = jaxpr if isinstance(jaxpr, FlatJaxpr) else flattened(jaxpr)
    live, avals, constants_of = flat.equations, flat.avals, flat.constants
    results = [i for i, _ in flat.results]
    steps: list[PlanStep] = []
    uncovered = set(flat.faults)
    seconds, large_products, overwrites = 0.0, False, False
    # Values that still have to be read; the last reader may free or overwrite them.
    dead_after = _last_uses(live, set(results))
    owned = {i for e in live if e.rule is not None and e.rule.fresh for i in e.outputs}
    reusable_after = _reusable(live, owned, results, [x.nbytes for x in avals])
    for equation, dead, reusable in zip(live, dead_after, reusable_after, strict=True):
        if equation.has_effects:
            uncovered.add(f"{equation.call.name} with effects")
            continue
        kernel = equation.rule.make(equation.call) if equation.rule is not None else None
        if kernel is None:
            uncovered.add(equation.call.name)
            continue
        if isinstance(kernel, NestedKernel):
            uncovered.update(kernel.uncovered)
            seconds += kernel.estimate
            large_products = True
        else:
            seconds += _seconds(equation)
            large_products = large_products or _has_large_product(equation)
            plain, kernel = kernel, _overwriting(kernel, equation, reusable)
            overwrites = overwrites or kernel is not plain
        out = equation.outputs if equation.several else equation.outputs[0]
        steps.append(PlanStep(kernel, equation.inputs, out, dead))
    constants: list[Raw] = [None] * len(avals)
    for i, x in constants_of.items():
        constants[i] = x
    read = {*results, *(i for e in live for i in e.inputs)}
    return Plan(
        steps=steps,
        inputs=list(starmap(PlanInput, flat.arguments)),
        results=[
            PlanResult(i, avals[i], i in owned and i not in results[:n], is_key)
            for n, (i, is_key) in enumerate(flat.results)
        ],
        constants=constants,
        uncovered=tuple(sorted(uncovered)),
        estimate=seconds,
        large_products=large_products,
        any_shape=bool(results)
        and not overwrites
        and all(e.rule is not None and e.rule.any_shape for e in live)
        and all(np.ndim(constants[i]) == 0 for i in read),
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
    equations: Sequence[Equation], owned: set[int], results: Sequence[int], n_bytes: Sequence[int]
) -> list[list[int]]:
    """Returns for each equation the inputs whose memory no other use needs; ``owned`` values have
    their own. A part of an array is not among them: a result in its place would keep all of it
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
        reusable.append([i for i in alone if n_bytes[i] == n_bytes[owners[i]]])
    return reusable


def _seconds(equation: Equation) -> float:
    call, rule = equation.call, equation.rule
    assert rule is not None
    if not rule.weight:
        return CALL_SECONDS
    moved = sum([x.nbytes for x in call.ins]) + sum([x.nbytes for x in call.outs])
    passing = moved / (CACHED_BYTE_RATE if moved < CACHE_BYTES else BYTE_RATE)
    if call.name in _PRODUCTS:
        return CALL_SECONDS + _product_flops(call) / FLOP_RATE + passing
    largest = max([x.size for x in (*call.ins, *call.outs)])
    factor = SMALL_FLOAT_FACTOR if any(is_small_float(x.dtype) for x in call.outs) else 1.0
    return CALL_SECONDS + max(largest * rule.weight * factor * ELEMENT_SECONDS, passing)


def _product_flops(call: Call) -> float:
    dilation = math.prod(call.params.get("lhs_dilation", ()))
    return dilation * flops(call.name, call.params, call.ins, call.outs)


def _has_large_product(equation: Equation) -> bool:
    call, rule = equation.call, equation.rule
    assert rule is not None
    if call.name not in _PRODUCTS:
        size = max([x.size for x in call.ins], default=0)
        return (size**1.5 if rule.weight >= FUNCTION_WEIGHT else size) >= LARGE_PRODUCT
    multiplications = _product_flops(call) / 2
    # Both operands have more elements than the terms of one sum.
    terms = multiplications / max(call.outs[0].size, 1)
    of_matrices = call.name == "dot_general" and all(x.size > terms for x in call.ins)
    is_batched = of_matrices and any(call.params["dimension_numbers"][1])
    return multiplications >= (
        LARGE_MATRIX_PRODUCT if of_matrices and not is_batched else LARGE_PRODUCT
    )


def _overwriting(kernel: Kernel, equation: Equation, reusable: list[int]) -> Kernel:
    if not reusable:
        return kernel
    call, rule = equation.call, equation.rule
    if call.outs[0].nbytes < REUSE_BYTES:
        return kernel
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
