"""Execution of a plan: loops as ``lax.scan``, vectorised operators under ``vmap``."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from ..._support.annotations import Function, Raw, Tree
from ...ops.recurrence.scan import scan_with_vjp
from ...ops.schema.inference import normal_axis
from ...ops.schema.traits import CONCAT, SPLIT, STACK
from .._graph import Graph, GraphStep
from .._interpreter import (
    BodyWrapper,
    Key,
    StepRunner,
    apply_step,
    node_keys,
    require_key,
    scope_name,
    walk,
)
from .ir import PackedOperand, RerolledLoop, RerollPlan, VectorizedOp
from .loop_body import LoopBodyTracer
from .stacked_values import StackedArrays, StackedValueStore


def execute_plan(
    graph: Graph,
    plan: RerollPlan,
    args: Sequence[jax.Array],
    aux: Sequence[jax.Array],
    runner: StepRunner,
    wrap_body: BodyWrapper | None = None,
) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    execution = _PlanExecution(graph, plan, runner, wrap_body)
    store, states = execution.store, range(graph.n_values, graph.n_values + len(graph.aux))
    store.update(graph.numbered(args, aux))
    store.update(zip(states, aux, strict=True))
    for item in plan.items:
        if isinstance(item, GraphStep):
            execution.step(item)
        elif isinstance(item, VectorizedOp):
            execution.vectorized(item)
        else:
            execution.loop(item)
    return tuple(store[i] for i in graph.heads), tuple(store[i] for i in states)


class _PlanExecution:
    """One trace of a plan. Auxiliary state n, as it changes, is value ``n_values + n``."""

    def __init__(
        self, graph: Graph, plan: RerollPlan, runner: StepRunner, wrap_body: BodyWrapper | None
    ) -> None:
        self.graph = graph
        self.plan = plan
        self.runner = runner
        self.wrap_body = wrap_body
        self.store = StackedValueStore(graph.n_values + len(graph.aux))

    # -- one step ------------------------------------------------------------------------------

    def step(self, step: GraphStep) -> None:
        # Results may be cheaper as views: parts of an array that are read together, or a
        # concatenation of neighbouring rows of a stack.
        if not (self._split(step) or self._concatenate(step)):
            self._run(step)

    def _split(self, step: GraphStep) -> bool:
        outputs = step.outputs
        if SPLIT not in step.op.traits or self.plan.stacked_values.isdisjoint(outputs):
            return False
        data = self.store[step.inputs[0]]
        axis = normal_axis(step.params.axis, data.ndim)
        if data.shape[axis] % step.n_outputs:
            return False
        compute_parts = partial(self._run, step)
        stack = StackedArrays(data, step.n_outputs, axis, step.params.squeeze_axis, compute_parts)
        self.store.put_stack(outputs, stack)
        return True

    def _concatenate(self, step: GraphStep) -> bool:
        is_new_axis = STACK in step.op.traits
        if not (is_new_axis or CONCAT in step.op.traits):
            return False
        shape, _ = self.store.shape_and_dtype(step.inputs[0])
        axis = step.params["axis" if is_new_axis else "dim"]
        with jax.named_scope(scope_name(step)):
            array = self.store.concatenated(
                step.inputs, normal_axis(axis, len(shape) + is_new_axis), is_new_axis
            )
        if array is None:
            return False
        self.store[step.first_output] = array
        return True

    def _run(self, step: GraphStep) -> None:
        first = self.graph.n_values
        states = {write.state: self.store[first + write.state] for write in step.aux_writes}
        walk((step,), partial(self.runner, self.store), states)
        self.store.update((first + n, array) for n, array in states.items())

    def _result_numbers(self, step: GraphStep) -> list[tuple[int, int]]:
        # (number, index among the results) of every value that a step computes or updates.
        outputs = [(number, k) for k, number in enumerate(step.outputs)]
        return outputs + [(self.graph.n_values + w.state, w.result) for w in step.aux_writes]

    def _unrolled(self, packs: Iterable[Sequence[GraphStep]]) -> None:
        for step in sorted((s for pack in packs for s in pack), key=lambda s: s.index):
            self.step(step)

    def _keys(self, steps: Sequence[GraphStep]) -> Raw:
        first = steps[0]
        if not first.op.uses_rng(first.params, self.runner.train):
            return None
        numbers = np.array([s.random_number for s in steps], np.uint32)
        return jax.vmap(partial(node_keys, require_key(first, self.runner.key)))(numbers)

    def _put_rows(self, steps: Sequence[GraphStep], result: int, array: jax.Array) -> None:
        numbers = [number for s in steps for number, k in self._result_numbers(s) if k == result]
        self.store.put_stack(numbers, StackedArrays(array, len(steps)))

    # -- all repetitions at once ---------------------------------------------------------------

    def vectorized(self, item: VectorizedOp) -> None:
        steps, operands = item.steps, item.operands
        if not all(self.store.are_uniform(operand.values) for operand in operands):
            self._unrolled([steps])
            return
        if sum(self.store.row_direction(x.values) for x in operands if x.is_stacked) > 0:
            steps = steps[::-1]
            operands = tuple(PackedOperand(x.values[::-1]) for x in operands)
        invariant = {i: self.store[x.values[0]] for i, x in enumerate(operands) if x.is_invariant}
        varying = {i: self.store.stacked(x.values) for i, x in enumerate(operands) if x.is_stacked}

        def apply(varying: Mapping[int, object], key: Key) -> tuple[jax.Array, ...]:
            arrays = {**invariant, **varying}
            inputs = [arrays[i] for i in range(len(operands))]
            return apply_step(steps[0], inputs, key, self.runner.train)

        keys = self._keys(steps)
        if keys is None or str(jax.random.key_impl(keys)) == "threefry2x32":
            results = jax.vmap(apply)(varying, keys)
        else:  # only threefry draws the same bits under vmap as without
            results = lax.map(lambda xs: apply(*xs), (varying, keys))
        for _, result in self._result_numbers(steps[0]):
            self._put_rows(steps, result, results[result])

    # -- iteration by iteration ----------------------------------------------------------------

    def loop(self, loop: RerolledLoop) -> None:
        operands = [operand for row in loop.operands for operand in row]
        stacked = {x.values: None for x in operands if x.is_stacked}
        if not all(self.store.are_uniform(values) for values in stacked):
            self._unrolled(loop.packs)
            return
        tracer = LoopBodyTracer(loop, self.runner.train)
        init = [[self.store[v] for v in values[:n]] for _, n, values in tracer.carries]
        reverse = sum(self.store.row_direction(values) for values in stacked) > 0

        def in_scan_order(items: Sequence[object]) -> tuple[Any, ...]:
            return tuple(items[::-1] if reverse else items)

        varying = {values: self.store.stacked(in_scan_order(values)) for values in stacked}
        keys = [self._keys(in_scan_order(pack)) for pack in loop.packs]
        constants = {x.values[0]: self.store[x.values[0]] for x in operands if x.is_invariant}
        xs = varying, keys
        body = partial(tracer.scan_body.plain, constants)
        if not _preserves_carry(body, init, xs):
            self._unrolled(loop.packs)
            return
        if self.wrap_body:
            final, ys = lax.scan(self.wrap_body(body), init, xs, loop.length, reverse=reverse)
        else:
            final, ys = scan_with_vjp(
                tracer.scan_body, constants, init, xs, length=loop.length, reverse=reverse,
                weights=tracer.weights,
            )  # fmt: skip
        for (p, result), array in zip(tracer.outputs, ys, strict=True):
            self._put_rows(in_scan_order(loop.packs[p]), result, array)
        for p, k in loop.final_only:
            carry = next(i for i, (producer, *_) in enumerate(tracer.carries) if producer == (p, k))
            self.store[loop.packs[p][-1].first_output + k] = final[carry][-1]


def _preserves_carry(body: Function, init: Tree, xs: object) -> bool:
    row = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    carry, _ = jax.eval_shape(body, init, row)
    equal = jax.tree.map(lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype), carry, init)
    return jax.tree.all(equal)
