"""The programs of a graph spread over contexts: one compiled program per segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..context import Context
from ..display import Fold, Part, View, Viewed, many
from ..lowering import Graph, placements
from ..lowering._segments import device_segments
from ._analysis import Analysis
from ._jit import InstrumentedJit
from ._node_cost import Cost
from ._program import Arrays, Program
from ._program_cache import program_for
from ._program_report import History
from .protocol import Totals


class PartitionedProgram(Totals, Viewed):
    """Runs a graph segment by segment, each on its context's device.

    Called like a :class:`Program`. Values that cross segments are copied between devices; the
    gradient of a value is summed on the device that made it.
    """

    def __init__(
        self,
        graph: Graph,
        argnums: tuple[int, ...],
        accumulate: tuple[bool, ...],
        ctx: Context,
        group2ctx: Mapping[str, Context],
    ) -> None:
        whole = Program(graph, argnums, accumulate)
        placed = placements(graph, ctx, group2ctx)
        self.whole = whole
        self.graph = graph
        self.argnums = argnums
        self.accumulate = accumulate
        self.may_need_head_gradient = whole.may_need_head_gradient
        self.needs_head_gradient = whole.needs_head_gradient
        self.constant_inputs = whole.constant_inputs
        self.forward_state_indices = whole.forward_state_indices
        self.backward_state_indices = whole.backward_state_indices
        reached = whole.reached
        self._parts = []
        for segment in device_segments(graph, placed):
            through = tuple(k for k, i in enumerate(segment.inputs) if reached[i])
            part = program_for(segment.graph, through, (False,) * len(through))
            self._parts.append((segment, part))
        self._made_in = {i: s.context for s, _ in self._parts for i in s.outputs}
        self._made_in.update(
            (i, placed[n])
            for n, i in zip(
                (*graph.args, *graph.aux), (*graph.arg_values, *graph.aux_values), strict=True
            )
        )
        self.infer = (_Call(self, "infer", False), _Call(self, "infer", True))
        self.forward = (_Call(self, "forward", False), _Call(self, "forward", True))
        self.forward_backward = (_ForwardBackward(self, False), _ForwardBackward(self, True))

    def steps(self, train: bool) -> list[Any]:
        """None: an update is a program of its own here."""
        return []

    @property
    def functions(self) -> list[InstrumentedJit]:
        """Every jitted function of the segments' programs."""
        programs = self.whole, *(part for _, part in self._parts)
        return [f for program in programs for f in program.functions]

    def analyse(self) -> Analysis:
        """The sum of the segments' analyses."""
        found = [part.analyse() for _, part in self._parts]
        if any(a.function is None for a in found):
            return Analysis.unknown()
        memories = [a.memory for a in found if a.memory is not None]
        complete = len(memories) == len(found)
        return Analysis(
            function=f"{len(found)} segments",
            memory={k: sum(m[k] for m in memories) for k in memories[0]} if complete else None,
            flops=_total([a.flops for a in found]),
            bytes_moved=_total([a.bytes_moved for a in found]),
        )

    def memory(self) -> dict[str, int] | None:
        """Bytes, summed over the segments; see :meth:`Program.memory`."""
        return self.analyse().memory

    def flops(self) -> float | None:
        """Floating-point operations of one run, summed over the segments."""
        return self.analyse().flops

    def explain(self) -> History:
        """Why each segment's functions were compiled; see :meth:`Program.explain`."""
        found = []
        for k, (segment, part) in enumerate(self._parts):
            where = f"segment {k} on {segment.context}: "
            found += [dataclasses.replace(t, function=where + t.function) for t in part.explain()]
        return History(found)

    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        """The texts of all segments; see :meth:`Program.hlo`."""
        return "\n".join(part.hlo(function, optimized) for _, part in self._parts)

    def cost(self, function: str | None = None) -> Cost:
        """The nodes of all segments; see :meth:`Program.cost`."""
        found = [part._cost(function, segment.graph) for segment, part in self._parts]
        nodes = [node for cost in found for node in cost]
        return Cost(found[0].function, nodes, any(c.open_loops for c in found))

    def parts(self) -> list[Part]:
        """What views of this program consist of."""
        return [
            Fold(f"segment {k} on {segment.context}", part.parts())
            for k, (segment, part) in enumerate(self._parts)
        ]

    def _as_view(self) -> View:
        title = f"Program in {many(len(self._parts), 'segment')}: "
        compiled = f"{many(self.traces, 'compilation')} in {self.compile_seconds:.2f} s"
        return View(title + compiled, self.parts())

    def run(self, mode: str, train: bool, args: Arrays, aux: Arrays, key: Any) -> Any:
        """Runs all segments; ``mode`` is 'infer' or 'forward'."""
        values = dict(zip(self.graph.arg_values, args, strict=True))
        values.update(zip(self.graph.aux_values, aux, strict=True))
        new_aux = dict(enumerate(aux))
        backward_states: dict[int, Any] = {}
        residuals = []
        for segment, part in self._parts:
            device = segment.context.device
            inputs = tuple(jax.device_put(values[i], device) for i in segment.inputs)
            states = tuple(jax.device_put(aux[n], device) for n in segment.aux)
            part_key = None
            if part.graph.uses_rng(train):
                part_key = jax.device_put(key, device)
            function = getattr(part, mode)[train]
            if mode == "infer":
                outputs, side = function(inputs, states, part_key)
            else:
                outputs, side, step, kept = function(inputs, states, part_key)
                residuals.append(kept)
                for n, value in zip(part.backward_state_indices, step, strict=False):
                    backward_states[segment.aux[n]] = value
            for n, value in zip(part.forward_state_indices, side, strict=True):
                new_aux[segment.aux[n]] = value
            values.update(zip(segment.outputs, outputs, strict=True))
        outputs = tuple(
            jax.device_put(values[i], self._made_in[i].device) for i in self.graph.heads
        )
        side = tuple(
            jax.device_put(new_aux[n], aux[n].sharding) for n in self.forward_state_indices
        )
        if mode == "infer":
            return outputs, side
        kept_aux = tuple(
            jax.device_put(backward_states.get(n, new_aux[n]), aux[n].sharding)
            for n in self.backward_state_indices
        )
        argnums = tuple(args[i] for i in self.argnums)
        return outputs, side, kept_aux if train else (), (residuals, argnums)

    def backward(self, residuals: Any, heads: Arrays, old: Arrays) -> tuple[Any, ...]:
        """Goes back through the segments, last first."""
        kept, argnums = residuals
        gradients: dict[int, Any] = {}
        for i, head in zip(self.graph.heads, heads, strict=True):
            if head is not None:
                self._add_gradient(gradients, i, head)
        for (segment, part), residual in zip(reversed(self._parts), reversed(kept), strict=True):
            device = segment.context.device
            incoming = tuple(
                None if i not in gradients else jax.device_put(gradients[i], device)
                for i in segment.outputs
            )
            computed = part.backward(residual, incoming, ())
            for k, gradient in zip(part.argnums, computed, strict=True):
                self._add_gradient(gradients, segment.inputs[k], gradient)
        previous = iter(old)
        results = []
        with jax.enable_x64(True):
            for i, array, accumulate in zip(self.argnums, argnums, self.accumulate, strict=True):
                value = self.graph.arg_values[i]
                grad = gradients.get(value)
                grad = jax.numpy.zeros_like(array) if grad is None else grad
                grad = jax.device_put(grad, array.sharding)
                results.append(next(previous) + grad if accumulate else grad)
        return tuple(results)

    def _add_gradient(self, gradients: dict[int, Any], i: int, gradient: Any) -> None:
        gradient = jax.device_put(gradient, self._made_in[i].device)
        with jax.enable_x64(True):
            gradients[i] = gradients[i] + gradient if i in gradients else gradient


class _Call:
    """One way of running a partitioned program, called like a ``Counted``."""

    def __init__(self, program: PartitionedProgram, mode: str, train: bool) -> None:
        self.program = program
        self.mode = mode
        self.train = train

    def __call__(self, args: Arrays, aux: Arrays, key: Any) -> Any:
        return self.program.run(self.mode, self.train, args, aux, key)

    def compile(self, args: Arrays, aux: Arrays, key: Any) -> None:
        """Compiles by running once on zeros: segments' inputs are other segments' outputs."""
        self(_zeros(args), _zeros(aux), None if key is None else jax.random.key(0))


class _ForwardBackward(_Call):
    """Forward, then backward; across devices there is no single program to fuse them into."""

    def __init__(self, program: PartitionedProgram, train: bool) -> None:
        super().__init__(program, "forward", train)

    def __call__(  # type: ignore[override]
        self, args: Arrays, aux: Arrays, key: Any, heads: Arrays, old: Arrays
    ) -> Any:
        outputs, side, step, residuals = super().__call__(args, aux, key)
        return outputs, side, step, self.program.backward(residuals, heads, old)

    def compile(  # type: ignore[override]
        self, args: Arrays, aux: Arrays, key: Any, heads: Arrays, old: Arrays
    ) -> None:
        """Compiles by running once on zeros."""
        prng = None if key is None else jax.random.key(0)
        self(_zeros(args), _zeros(aux), prng, _zeros(heads), _zeros(old))


def _zeros(avals: Sequence[Any]) -> tuple[Any, ...]:
    with jax.enable_x64(True):
        return tuple(
            None if a is None else jax.device_put(jax.numpy.zeros(a.shape, a.dtype), a.sharding)
            for a in avals
        )


def _total(figures: Sequence[float | None]) -> float | None:
    known = [f for f in figures if f is not None]
    return sum(known) if len(known) == len(figures) else None
