"""The program of a graph spread over contexts: one compiled program per segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax

from .._support.annotations import Function, Key, NumberedArrays, Operands, Raw, Tree
from ..context import Context
from ..errors import NotSupportedError
from ..jax_internals import in_x64
from ..lowering import Cost, DeviceSegment, Graph, device_segments, placements
from ._activity import active_values
from ._analysis import Analysis, summed
from ._background_tasks import CompileTask, submit
from ._compiled_function import CompiledFunction
from ._program import Program, program_for
from ._program_options import current_options
from ._residuals import Residuals
from ._trace_history import History
from ._train_step import Arrays, StepSpec, add_accumulated
from .base_program import BaseProgram


class PartitionedProgram(BaseProgram):
    """Runs a graph segment by segment, each on its context's device.

    Values that cross segments are copied between devices; the gradient of a value is summed on the
    device that made it. An update is a program of its own here.

    segments
        the segments in the order in which they run, each with its program.
    """

    def __init__(
        self, graph: Graph, argnums: tuple[int, ...], ctx: Context, group2ctx: Mapping[str, Context]
    ) -> None:
        unpartitioned = Program(graph, argnums)
        contexts = placements(graph, ctx, group2ctx)
        self._unpartitioned = unpartitioned
        self._take_facts(unpartitioned)
        self.options = current_options()
        active = active_values(graph, argnums)
        self.segments = []
        for segment in device_segments(graph, contexts):
            part_argnums = tuple(k for k, i in enumerate(segment.inputs) if active[i])
            part = program_for(segment.graph, part_argnums)
            part.add_user(self)
            self.segments.append((segment, part))
        self._context_of = {i: s.context for s, _ in self.segments for i in s.outputs}
        self._context_of.update((i, contexts[n]) for n, i in graph.variables)
        self.infer, self.forward, self.forward_backward = (
            (_SegmentedFunction(method, False), _SegmentedFunction(method, True))
            for method in (self._infer, self._forward, self._forward_backward)
        )
        self.backward = _SegmentedFunction(lambda _, *args: self._backward(*args), True)

    # -- running ---------------------------------------------------------------------------------

    def _infer(self, train: bool, args: Arrays, aux: Arrays, key: Key) -> Tree:
        values, new_aux = self._inputs(args, aux)
        for segment, part in self.segments:
            inputs = self._segment_inputs(segment, part, values, aux, key, train)
            outputs, states = part.infer[train](*inputs)
            self._store(segment, part, outputs, states, values, new_aux)
        return self._outputs(values, aux, new_aux)

    def _forward(self, train: bool, args: Arrays, aux: Arrays, key: Key) -> Tree:
        values, new_aux = self._inputs(args, aux)
        backward_states: dict[int, Raw] = {}
        residuals = []
        for segment, part in self.segments:
            inputs = self._segment_inputs(segment, part, values, aux, key, train)
            *results, part_residuals = part.forward[train](*inputs)
            residuals.append(part_residuals.completed(*inputs[:2], results))
            outputs, states, late_states = results
            for n, value in zip(part.backward_state_indices, late_states, strict=False):
                backward_states[segment.aux[n]] = value
            self._store(segment, part, outputs, states, values, new_aux)
        outputs, forward_states = self._outputs(values, aux, new_aux)
        new_backward_states = tuple(
            jax.device_put(backward_states.get(n, new_aux[n]), aux[n].sharding)
            for n in self.backward_state_indices
        )
        differentiated = tuple(args[i] for i in self.argnums)
        states = new_backward_states if train else ()
        return outputs, forward_states, states, _SegmentResiduals(residuals, differentiated)

    def _forward_backward(
        self, train: bool, args: Arrays, aux: Arrays, key: Key, heads: Arrays,
        accumulated: Arrays = (),
    ) -> Tree:  # fmt: skip
        *results, residuals = self._forward(train, args, aux, key)
        return *results, self._backward(residuals, heads, accumulated)

    def _backward(
        self, residuals: _SegmentResiduals, heads: Arrays, accumulated: Arrays = ()
    ) -> Operands:
        gradients: dict[int, Raw] = {}
        for i, head in zip(self.graph.heads, heads, strict=True):
            if head is not None:
                self._add_gradient(gradients, i, head)
        parts = zip(reversed(self.segments), reversed(residuals.segments), strict=True)
        for (segment, part), part_residuals in parts:
            device = segment.context.device
            incoming = tuple(jax.device_put(gradients.get(i), device) for i in segment.outputs)
            computed = part.backward(part_residuals, incoming)
            for k, gradient in zip(part.argnums, computed, strict=True):
                self._add_gradient(gradients, segment.inputs[k], gradient)
        results = []
        with jax.enable_x64(True):
            for i, array in zip(self.argnums, residuals.differentiated, strict=True):
                grad = gradients.get(self.graph.arg_values[i])
                grad = jax.numpy.zeros_like(array) if grad is None else grad
                results.append(jax.device_put(grad, array.sharding))
            return add_accumulated(accumulated, results)

    def _inputs(self, args: Arrays, aux: Arrays) -> tuple[dict[int, Raw], dict[int, Raw]]:
        return dict(self.graph.numbered(args, aux)), dict(enumerate(aux))

    def _segment_inputs(
        self, segment: DeviceSegment, part: Program, values: NumberedArrays, aux: Arrays,
        key: Key, train: bool,
    ) -> Operands:  # fmt: skip
        device = segment.context.device
        inputs = tuple(jax.device_put(values[i], device) for i in segment.inputs)
        states = tuple(jax.device_put(aux[n], device) for n in segment.aux)
        part_key = jax.device_put(key, device) if part.graph.uses_rng(train) else None
        return inputs, states, part_key

    def _store(
        self, segment: DeviceSegment, part: Program, outputs: Arrays, states: Arrays,
        values: dict[int, Raw], new_aux: dict[int, Raw],
    ) -> None:  # fmt: skip
        for n, value in zip(part.forward_state_indices, states, strict=True):
            new_aux[segment.aux[n]] = value
        values.update(zip(segment.outputs, outputs, strict=True))

    def _outputs(
        self, values: NumberedArrays, aux: Arrays, new_aux: NumberedArrays
    ) -> tuple[Operands, Operands]:
        put = jax.device_put
        outputs = tuple(put(values[i], self._context_of[i].device) for i in self.graph.heads)
        states = tuple(put(new_aux[n], aux[n].sharding) for n in self.forward_state_indices)
        return outputs, states

    @in_x64
    def _add_gradient(self, gradients: dict[int, Raw], i: int, gradient: Raw) -> None:
        gradient = jax.device_put(gradient, self._context_of[i].device)
        gradients[i] = gradients[i] + gradient if i in gradients else gradient

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Key) -> tuple[bool, ...]:
        return self._unpartitioned.needs_head_gradient(args, aux, key)

    # -- training steps --------------------------------------------------------------------------

    @property
    def can_fuse_updates(self) -> bool:
        return False

    def step_function(self, train: bool, spec: StepSpec) -> CompiledFunction:
        problem = "the program runs in segments on several contexts"
        hint = "forward, backward, then an update of its own"
        raise NotSupportedError("step_function", problem, hint=hint)

    # -- questions -------------------------------------------------------------------------------

    @property
    def functions(self) -> list[CompiledFunction]:
        programs = self._unpartitioned, *(part for _, part in self.segments)
        return [f for program in programs for f in program.functions]

    def analyse(self) -> Analysis:
        analyses = [part.analyse() for _, part in self.segments]
        return summed(f"{len(analyses)} segments", analyses)

    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        return "\n".join(part.hlo(function, optimized) for _, part in self.segments)

    def cost(self, function: str | None = None) -> Cost:
        costs = [part.cost(function, segment.graph) for segment, part in self.segments]
        nodes = [node for cost in costs for node in cost]
        return Cost(costs[0].function, nodes, any(cost.open_loops for cost in costs))

    def explain(self) -> History:
        traces = []
        for k, (segment, part) in enumerate(self.segments):
            where = f"segment {k} on {segment.context}: "
            traces += [dataclasses.replace(t, function=where + t.function) for t in part.explain()]
        return History(traces)


class _SegmentResiduals(NamedTuple):
    """The completed residuals of each segment, and the arguments whose gradients are computed."""

    segments: Sequence[Residuals]
    differentiated: Arrays

    def completed(self, args: Arrays, aux: Arrays, results: Arrays) -> _SegmentResiduals:
        return self


class _SegmentedFunction:
    def __init__(self, method: Function, train: bool) -> None:
        self._method = method
        self._train = train

    def __call__(self, *args: Tree) -> Tree:
        return self._method(self._train, *args)

    def compile(self, args: Arrays, aux: Arrays, key: Key, *gradients: Arrays) -> None:
        """Compiles by running once on zeros: segments' inputs are other segments' outputs."""
        prng_key = None if key is None else jax.random.key(0)
        self(_zeros(args), _zeros(aux), prng_key, *map(_zeros, gradients))

    def precompile(self, *args: Tree) -> CompileTask:
        return submit(lambda: self.compile(*args))


@in_x64
def _zeros(avals: Arrays) -> Operands:
    return tuple(
        None if a is None else jax.device_put(jax.numpy.zeros(a.shape, a.dtype), a.sharding)
        for a in avals
    )
