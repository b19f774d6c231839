"""``check_finite``: a graph run node by node, and the first node that made a NaN or an infinity.

XLA fuses nodes, so it may never store a value that is not finite. Here every node is compiled by
itself, and its outputs and the gradients of its inputs are stored with their ranges. Nodes of equal
attributes and shapes share a compiled function.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._support.annotations import Arrays, Function, Operands, Raw
from ..context import Device
from ..lowering import Graph, GraphStep, node_key, resolved_params, walk
from ..ops import OpDef, Params
from ..program import BaseProgram, Program, active_values, dependent_results, small_jit
from .finite_report import ArraySummary, Finding, FiniteReport

#: Of an array: number of NaNs, number of infinities, minimum and maximum of the finite elements.
Range = Any
Key = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class NodewiseValues:
    """Values of a graph, by number, with their ranges, and their gradients.

    input_gradients
        For each step that backward has passed: the ranges of the gradients of its inputs, by
        position, and of the gradients of its outputs.
    sums
        The ranges of the gradients of values with several readers, whose gradients were added.
    """

    values: list[Raw]
    ranges: list[Range]
    avals: dict[int, jax.ShapeDtypeStruct] = field(default_factory=dict)
    gradients: dict[int, Any] = field(default_factory=dict)
    input_gradients: dict[int, tuple[dict[int, Range], dict[int, Range]]] = field(
        default_factory=dict
    )
    sums: dict[int, Range] = field(default_factory=dict)


class NodewiseRun:
    """Runs a graph node by node, each on the device that ``device_of`` returns for it."""

    def __init__(self, graph: Graph, device_of: Callable[[GraphStep], Device]) -> None:
        self._graph = graph
        self._device_of = device_of
        self._params: dict[int, Params] = {}
        self._inputs: dict[int, list[Any]] = {}

    def forward(
        self, args: Arrays, aux: Arrays, key: Any, train: bool, for_backward: bool
    ) -> NodewiseValues:
        """Computes all values; drops those without a later reader unless ``for_backward``."""
        graph = self._graph
        traced = NodewiseValues([None] * graph.n_values, [None] * graph.n_values)
        values = traced.values
        for i, array in graph.numbered(args, aux):
            values[i], traced.ranges[i] = array, range_of_input(array)
            traced.avals[i] = jax.ShapeDtypeStruct(array.shape, array.dtype)
        resolved = resolved_params(graph, args, aux)
        last = {i: step.index for step in graph.steps for i in step.inputs}

        def run(step: GraphStep, states: dict[int, Any]) -> Sequence[Any]:
            inputs = [states.get(k, values[i]) for k, i in enumerate(step.inputs)]
            params = self._params[step.index] = resolved.get(step.index) or step.params
            device = self._device_of(step)
            inputs = jax.device_put(inputs, device)
            node_prng = _key(step, key, train, device)
            with jax.enable_x64(True), jax.default_device(None if inputs else device):
                results, ranges = _forward_function(step.op, params.key, train, step.n_outputs)(
                    node_prng, *inputs
                )
            for i, result, extremes in zip(step.outputs, results, ranges, strict=False):
                values[i], traced.ranges[i] = result, extremes
                traced.avals[i] = jax.ShapeDtypeStruct(result.shape, result.dtype)
            if for_backward:
                self._inputs[step.index] = inputs
                return results
            for i in step.inputs:
                if last[i] == step.index:
                    values[i] = None
            return results

        walk(graph.steps, run, list(aux))
        return traced

    def backward(
        self, traced: NodewiseValues, heads: Arrays, argnums: Sequence[int], key: Any, train: bool
    ) -> None:
        """Computes gradients through the nodes on the way to the arguments in ``argnums``.
        ``heads`` are gradients of the graph's outputs, None for a missing one."""
        graph = self._graph
        through = active_values(graph, argnums)
        for i, head in zip(graph.heads, heads, strict=True):
            value = traced.values[i]
            if jnp.issubdtype(value.dtype, jnp.inexact):
                with jax.enable_x64(True):
                    start = jnp.zeros_like(value) if head is None else head.astype(value.dtype)
                self._accumulate(traced, i, start)
        for step in reversed(graph.steps):
            incoming = [traced.gradients.pop(i, None) for i in step.outputs]
            if all(g is None for g in incoming) or not through[step.first_output]:
                continue
            auxiliary = step.node.aux_names
            inputs = self._inputs[step.index]
            chosen = tuple(
                k
                for k, name in enumerate(step.names)
                if through[step.inputs[k]]
                and name not in auxiliary
                and jnp.issubdtype(inputs[k].dtype, jnp.inexact)
            )
            device = self._device_of(step)
            with jax.enable_x64(True):
                function = _backward_function(
                    step.op, self._params[step.index].key, train, step.n_outputs, chosen
                )
                gradients, ranges, before = function(
                    _key(step, key, train, device),
                    tuple(inputs),
                    tuple(jax.device_put(incoming, device)),
                )
            input_ranges: dict[int, Range] = {}
            for k, gradient, its_range in zip(chosen, gradients, ranges, strict=True):
                if gradient is not None:
                    input_ranges[k] = its_range
                    self._accumulate(traced, step.inputs[k], gradient)
            output_ranges = {k: r for k, r in enumerate(before) if r is not None}
            traced.input_gradients[step.index] = input_ranges, output_ranges

    @staticmethod
    def _accumulate(traced: NodewiseValues, i: int, gradient: object) -> None:
        (home,) = traced.values[i].devices()
        gradient = jax.device_put(gradient, home)
        earlier = traced.gradients.get(i)
        if earlier is None:
            traced.gradients[i] = gradient
            return
        with jax.enable_x64(True):
            traced.gradients[i], traced.sums[i] = _add_with_range(earlier, gradient)


def value_range(x: jax.Array) -> jax.Array:
    """Returns the range of an array, as four numbers of float64. One reduction of four operands
    compiles six times as fast as four reductions, for every output of every node."""
    flat = x.reshape(-1).astype(jnp.float64)
    finite = jnp.isfinite(flat)
    counts = [t.astype(jnp.float64) for t in (jnp.isnan(flat), jnp.isinf(flat))]
    ends = [jnp.where(finite, flat, jnp.inf), jnp.where(finite, flat, -jnp.inf)]
    numbers = lax.reduce(
        [*counts, *ends],
        [np.float64(n) for n in (0, 0, np.inf, -np.inf)],
        lambda a, b: [a[0] + b[0], a[1] + b[1], lax.min(a[2], b[2]), lax.max(a[3], b[3])],
        (0,),
    )
    return jnp.stack(numbers)


_range = small_jit(value_range)


def range_of_input(x: jax.Array) -> jax.Array:
    """Returns the range of an argument, a state or a head gradient."""
    return _range(x)


def _key(step: GraphStep, key: Any, train: bool, device: Device) -> Any:
    prng = node_key(step, key, train)
    return None if prng is None else jax.device_put(prng, device)


@lru_cache(maxsize=128)
def _forward_function(op: OpDef, key: Key, train: bool, n_outputs: int) -> Function:
    params = Params(key)

    def forward(prng: object, *inputs: object) -> Any:
        results = op.apply(params, inputs, key=prng, train=train)
        return results, [value_range(x) for x in results[:n_outputs]]

    return small_jit(forward, interpret=False)


@lru_cache(maxsize=128)
def _backward_function(
    op: OpDef, key: Key, train: bool, n_outputs: int, chosen: tuple[int, ...]
) -> Function:
    params = Params(key)
    loss = op.loss(params)

    def gradients(prng: Any, inputs: Any, incoming: Any) -> Any:
        def function(*differentiated: Any) -> Any:
            full = list(inputs)
            for k, x in zip(chosen, differentiated, strict=True):
                full[k] = x
            return op.apply(params, full, key=prng, train=train)[:n_outputs]

        results, vjp = jax.vjp(function, *(inputs[k] for k in chosen))
        return vjp(tuple(map(_cotangent, incoming, results)))

    @small_jit(interpret=False)
    def backward(prng: Any, inputs: Any, incoming: Any) -> Any:
        arrays = (prng, inputs, incoming)
        avals = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), arrays)
        depends = dependent_results(gradients, *avals)
        input_gradients = [
            g if is_dependent or loss else None
            for g, is_dependent in zip(gradients(prng, inputs, incoming), depends, strict=True)
        ]
        ranges, before = (
            [None if g is None else value_range(g) for g in part]
            for part in (input_gradients, incoming)
        )
        return input_gradients, ranges, before

    return backward


def _cotangent(gradient: Raw, result: Any) -> Any:
    if not jnp.issubdtype(result.dtype, jnp.inexact):
        return jnp.zeros(result.shape, jax.dtypes.float0)
    return jnp.zeros_like(result) if gradient is None else gradient


@small_jit
def _add_with_range(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    total = a + b
    return total, value_range(total)


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """The inputs of a forward, and the head gradients of the backward after it (``heads``, None if
    unknown). ``updated`` is True if the parameters are already updated by the program."""

    args: Operands
    aux: Operands
    key: Any
    train: bool
    heads: Arrays | None
    updated: bool = False


class FiniteAnalysis:
    """The ranges of one run, and the nodes that made a NaN or an infinity."""

    def __init__(self, graph: Graph, heads: Arrays) -> None:
        self.graph = graph
        self.names: dict[int, str] = {i: node.name for node, i in graph.variables}
        for step in graph.steps:
            for k, name in enumerate(step.node.output_names):
                self.names[step.outputs[k]] = name
        self._head_ranges = {k: range_of_input(h) for k, h in enumerate(heads) if h is not None}
        self.heads: dict[int, Any] = {}
        self.ranges: list[Any] = []
        self.back: dict[int, Any] = {}
        self.sums: dict[int, Any] = {}
        self.parts: dict[int, list[Any]] = {}

    def read(self, traced: NodewiseValues) -> bool:
        """Brings the ranges to the host; returns True if all values are finite."""
        self.avals = traced.avals
        self.ranges, self.back, self.sums, self.heads = jax.device_get(
            (traced.ranges, traced.input_gradients, traced.sums, self._head_ranges)
        )
        self.parts = {}
        for step in self.graph.steps:
            for k, gradient in self.back.get(step.index, ({}, {}))[0].items():
                self.parts.setdefault(step.inputs[k], []).append(gradient)
        return not any(map(_is_nonfinite, (*self.ranges, *self.heads.values())))

    @property
    def checked(self) -> int:
        """The number of arrays that were checked."""
        values = sum(r is not None for r in self.ranges)
        return values + sum(len(gradients) for gradients, _ in self.back.values())

    @property
    def outputs(self) -> list[str]:
        """Names of outputs that are not finite."""
        names = zip(self.graph.output_names, self.graph.heads, strict=True)
        return [name for name, i in names if _is_nonfinite(self.ranges[i])]

    def is_nonfinite_gradient(self, i: int) -> bool:
        """Returns True if the gradient of an argument is not finite."""
        value = self.graph.arg_values[i]
        return _is_nonfinite(self.sums.get(value)) or self._has_nonfinite_part(value)

    def _has_nonfinite_part(self, value: int) -> bool:
        return any(_is_nonfinite(r) for r in self.parts.get(value, ()))

    def _summary(self, name: str, value: int, value_range: Any) -> ArraySummary:
        aval = self.avals[value]
        nans, infs, low, high = (float(x) for x in value_range)
        return ArraySummary(
            name, aval.shape, aval.dtype.name, int(nans), infs=int(infs), low=low, high=high
        )

    def findings(self) -> Iterator[Finding]:
        """Lists findings among inputs, then of forward, then of backward in its order."""
        yield from self._in_inputs()
        for step in self.graph.steps:
            if any(_is_nonfinite(self.ranges[i]) for i in step.inputs):
                continue
            for i in step.outputs:
                if _is_nonfinite(self.ranges[i]):
                    summary = self._summary(repr(self.names[i]), i, self.ranges[i])
                    yield self._at(step, "forward", summary, tuple(self._inputs(step)))
                    break
        yield from self._backward()

    @staticmethod
    def _at(
        step: GraphStep, stage: str, summary: ArraySummary, inputs: tuple[ArraySummary, ...] = ()
    ) -> Finding:
        position = step.index if stage == "forward" else -step.index
        return Finding(stage, step.node.name, step.op.name, summary, inputs, position=position)

    def _in_inputs(self) -> Iterator[Finding]:
        kinds = (("argument", self.graph.args, self.graph.arg_values),
                 ("auxiliary state", self.graph.aux, self.graph.aux_values))  # fmt: skip
        for kind, nodes, values in kinds:
            for node, i in zip(nodes, values, strict=True):
                if _is_nonfinite(self.ranges[i]):
                    summary = self._summary(f"{kind} {node.name!r}", i, self.ranges[i])
                    yield Finding("given", node.name, "", summary, position=i)
        for k, head_range in self.heads.items():
            if _is_nonfinite(head_range):
                name = self.graph.output_names[k]
                i = self.graph.heads[k]
                summary = self._summary(f"head gradient of {name!r}", i, head_range)
                yield Finding("given", name, "", summary, position=self.graph.n_values)

    def _inputs(self, step: GraphStep) -> Iterator[ArraySummary]:
        for name, i in zip(step.names, step.inputs, strict=True):
            source = self.names[i]
            is_named = source.endswith(f"_{name}") or source == name
            label = name if is_named else f"{name}: {source}"
            yield self._summary(label, i, self.ranges[i])

    def _backward(self) -> Iterator[Finding]:
        bad_values = {i for i, r in enumerate(self.ranges) if _is_nonfinite(r)}
        summed = {i for i, r in self.sums.items() if _is_nonfinite(r)}
        for step in reversed(self.graph.steps):
            input_ranges, output_ranges = self.back.get(step.index, ({}, {}))
            if bad_values.intersection((*step.inputs, *step.outputs)):
                continue
            if any(_is_nonfinite(r) for r in output_ranges.values()):
                yield from self._sum(step, output_ranges, summed)
                continue
            for k, gradient in input_ranges.items():
                if _is_nonfinite(gradient):
                    name = f"the gradient of input {step.names[k]!r}"
                    summary = self._summary(name, step.inputs[k], gradient)
                    arrived = (
                        self._summary(
                            f"gradient of {self.names[step.outputs[j]]}",
                            step.outputs[j],
                            output_ranges[j],
                        )
                        for j in output_ranges
                    )
                    yield self._at(step, "backward", summary, (*self._inputs(step), *arrived))
                    break
        for node, i in zip(self.graph.args, self.graph.arg_values, strict=True):
            if _is_nonfinite(self.sums.get(i)) and not self._has_nonfinite_part(i):
                name = f"the sum of the gradients of {node.name!r}"
                yield Finding("backward", node.name, "", self._summary(name, i, self.sums[i]))

    def _sum(
        self, step: GraphStep, output_ranges: Mapping[int, object], summed: set[int]
    ) -> Iterator[Finding]:
        for k, gradient in output_ranges.items():
            i = step.first_output + k
            if i in summed and _is_nonfinite(gradient) and not self._has_nonfinite_part(i):
                name = f"the sum of the gradients of {self.names[i]!r}"
                yield self._at(step, "backward", self._summary(name, i, gradient))


def _is_nonfinite(value_range: Any) -> bool:
    return value_range is not None and bool(value_range[0] + value_range[1])


def check_snapshots(
    graph: Graph,
    argnums: Sequence[int],
    snapshots: Mapping[str, StepSnapshot],
    device_of: Callable[[str, GraphStep], Device],
    notes: Sequence[str] = (),
) -> FiniteReport:
    """Runs a graph node by node on snapshots and reports the nodes that are not finite.
    ``snapshots`` are by the label of their device, empty for the only one; ``device_of`` returns
    the device of a node of the snapshot with a label."""
    findings: list[Finding] = []
    outputs: list[str] = []
    gradients: list[str] = []
    notes, checked = list(notes), 0
    if any(s.updated for s in snapshots.values()):
        notes.append("the parameters are those after the update that ran with backward")
    for label, snapshot in snapshots.items():
        run = NodewiseRun(graph, partial(device_of, label))
        values = run.forward(
            snapshot.args, snapshot.aux, snapshot.key, snapshot.train, snapshot.heads is not None
        )
        analysis = FiniteAnalysis(graph, snapshot.heads or ())
        finite = analysis.read(values)
        if snapshot.heads is not None and finite:
            run.backward(values, snapshot.heads, argnums, snapshot.key, snapshot.train)
            analysis.read(values)
        elif snapshot.heads is not None:
            notes.append("gradients were not checked, since forward is not finite already")
        findings += [replace(f, device=label) for f in analysis.findings()]
        checked += analysis.checked
        outputs += analysis.outputs
        gradients += [graph.arg_names[i] for i in argnums if analysis.is_nonfinite_gradient(i)]
    return FiniteReport(findings, checked, outputs, gradients, notes)


def complete_snapshot(
    program: BaseProgram, names: Sequence[str], snapshot: StepSnapshot
) -> tuple[StepSnapshot, list[str]]:
    """Returns a snapshot in the types that the program computes in, with head gradients where none
    are needed; and notes on missing checks."""
    notes = []
    heads = snapshot.heads
    if not program.argnums:
        heads = None
        notes.append("no gradients are bound: forward alone was checked")
    elif heads is None and not snapshot.train:
        notes.append("the last forward was for inference: gradients were not checked")
    else:
        heads = heads or (None,) * len(names)
        needed = program.needs_head_gradient(snapshot.args, snapshot.aux, snapshot.key)
        missing = [n for n, h, need in zip(names, heads, needed, strict=True) if need and h is None]
        if missing:
            heads = None
            notes.append(
                f"gradients were not checked: output {missing[0]!r} needs a head gradient; "
                "call backward first, or give out_grads"
            )
    args = snapshot.args
    if isinstance(program, Program) and program.options.compute_dtype is not None:
        args = program.cast(args, snapshot.aux, snapshot.key)
        notes.append(f"computed in {program.options.compute_dtype}")
    return replace(snapshot, args=args, heads=heads), notes
