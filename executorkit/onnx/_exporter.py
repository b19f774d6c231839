"""From a symbol to an ONNX model: operators translated in order; all refusals at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentValueError, MissingParameterError, NotSupportedError, shorten
from ..inspection import plain_name
from ..lowering import Graph, GraphStep, graph_of, value_dtypes
from ..ndarray.comparison import host_arrays
from ..ops.schema.attrs import Shape
from ._draft import GraphDraft, OnnxNode, Value
from ._free_dimensions import FreeShapes, OpenShapes, Origins, open_shapes
from ._library import refuse_nodes, require_onnx
from ._model_proto import check, make_model
from ._node_writer import READ_INPUTS, TRANSLATIONS, NodeWriter, name_of

#: The version of ONNX's operators that is written unless another one is asked for.
OPSET = 17


def to_onnx(
    symbol: Any,
    params: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]],
    dtypes: Mapping[str, str] | None = None,
    *,
    free: FreeShapes | Literal["batch"] | None = "batch",
    opset_version: int = OPSET,
    name: str = "executorkit",
) -> Any:
    """Returns the ``onnx.ModelProto`` of a symbol's inference, checked by ONNX's own checker.

    params
        parameters and auxiliary states by name (``arg:`` and ``aux:`` before it are dropped).
    shapes, dtypes
        the shape of each input, by name, and its dtype, float32 by default. Labels that only losses
        read may be left out.
    free
        dimensions that may differ from run to run: ``"batch"`` for the first axis of the first
        input and all that follow it; or for each input its lengths, numbers for fixed ones, names
        or None for free ones; None for none.
    opset_version
        the version of ONNX's operators, 17 or newer.

    Names of nodes, inputs and parameters are kept; an output has the name of its node, with its
    number if there are several. Raises :class:`UnknownOperatorError`, which names every node that
    ONNX cannot express with the reason, :class:`MissingParameterError` and :class:`ShapeError`.
    """
    library = require_onnx()
    newest = library.defs.onnx_opset_version()
    if not OPSET <= opset_version <= newest:
        problem = f"opset_version={opset_version}, expected {OPSET} to {newest}"
        raise ArgumentValueError("export to ONNX", problem)
    graph = graph_of(symbol.heads)
    steps = _live_steps(graph)
    arrays = {plain_name(n): array for n, array in host_arrays(params).items()}
    inputs = _live_inputs(graph, steps, arrays)
    variables = {*graph.arg_names, *graph.aux_names}
    sizes = {n: tuple(int(d) for d in shapes[n]) for n in shapes if n in variables}
    missing = [name for name in inputs if name not in sizes]
    if missing:
        problem = f"neither inputs nor parameters: {shorten(', '.join(missing), 1000)}"
        hint = "their shapes if they are inputs, or the parameters with these names"
        raise MissingParameterError("export to ONNX", problem, hint=hint)
    types = {n: array.dtype.name for n, array in arrays.items()}
    types |= {n: (dtypes or {}).get(n, "float32") for n in sizes}
    fixed: dict[str, Shape] = {n: array.shape for n, array in arrays.items() if n not in sizes}
    opened = open_shapes(graph, sizes, fixed, types, free)
    _overwrite_constants(steps, arrays)
    exporter = _Exporter(graph, arrays, inputs, opened, value_dtypes(graph, types), opset_version)
    exporter.translate(steps)
    model = make_model(library, exporter.draft, exporter.inputs, exporter.outputs(), opened, name)
    check(library, model)
    return model


def inference_inputs(symbol: Any, params: Mapping[str, Any]) -> list[str]:
    """Returns the exported inputs in the symbol's order: inference's, without parameters."""
    graph = graph_of(symbol.heads)
    return _live_inputs(graph, _live_steps(graph), {plain_name(n) for n in params})


class _Exporter:
    def __init__(
        self,
        graph: Graph,
        arrays: Mapping[str, np.ndarray],
        inputs: Sequence[str],
        shapes: OpenShapes,
        dtypes: Sequence[str | None],
        opset: int,
    ) -> None:
        self.graph = graph
        self.shapes = shapes
        self.dtypes = dtypes
        self.draft = GraphDraft(opset)
        self.values: dict[int, Value] = {}
        self.inputs: dict[str, Value] = {}
        for node, number in graph.variables:
            array = arrays.get(node.name)
            value = self._value(number, self.draft.unique(node.name), array)
            self.values[number] = value
            if node.name in inputs:
                self.inputs[node.name] = value
            elif array is not None:
                self.draft.constants[value.name] = array
        self.names = {step: self.draft.unique(step.node.name) for step in graph.steps}

    def _value(self, number: int, name: str, array: np.ndarray | None = None) -> Value:
        sizes = self.shapes.values[number] or ()
        dtype = self.dtypes[number] or "float32"
        return Value(name, dtype, self.shapes.shape(number), sizes, array)

    def translate(self, steps: Sequence[GraphStep]) -> None:
        refused: list[str] = []
        for step in steps:
            results = self._results(step)
            for k, value in enumerate(results):
                self.values[step.first_output + k] = value
            try:
                self._translate_step(step, results)
            except NotSupportedError as error:
                refused.append(f"node {shorten(step.node.name)!r} ({step.op.name}): {error}")
        refuse_nodes("this graph cannot be exported to ONNX", refused)

    def _results(self, step: GraphStep) -> list[Value]:
        name = self.names[step]
        one = step.node.n_visible == 1
        return [
            self._value(step.first_output + k, name if one else f"{name}{k}")
            for k in range(step.n_outputs)
        ]

    def _translate_step(self, step: GraphStep, results: list[Value]) -> None:
        translation = TRANSLATIONS.get(step.op.name)
        if translation is None:
            raise NotSupportedError("ONNX has nothing like this operator")
        constants = step.op.constant_inputs(step.params)
        inputs: dict[str, Value] = {}
        for name, number in zip(step.names, step.inputs, strict=True):
            value = self.values.get(number) or Value("", "float32", (), ())
            if name in constants and value.array is None:
                value = self._constant(value, constants[name])
            inputs[name] = value
        writer = NodeWriter(
            self.draft,
            step,
            self.names[step],
            inputs,
            outputs=results,
            origins=lambda k: self.shapes.origins(step.first_output + k),
            sources=self.inputs,
        )
        written = translation(writer)
        names = [written] if isinstance(written, str | Value) else written
        self._adopt(step, writer.nodes, results, [name_of(n) for n in names])

    def _constant(self, value: Value, fill: float) -> Value:
        if not value.is_static:
            raise NotSupportedError("the shape of a constant parameter varies")
        array = np.full(value.sizes, fill, value.dtype)
        return Value(self.draft.constant(array), value.dtype, value.shape, value.sizes, array)

    def _adopt(
        self, step: GraphStep, nodes: list[OnnxNode], results: list[Value], written: list[str]
    ) -> None:
        local = {output for node in nodes for output in node.outputs}
        node_name = self.names[step]
        renamed: dict[str, str] = {}
        for k, (value, name) in enumerate(zip(results, written, strict=False)):
            if name in local and name not in renamed:
                is_main = value.name == node_name and k == 0
                renamed[name] = node_name if is_main else self.draft.unique(value.name)
            final = renamed.get(name, name)
            self.values[step.first_output + k] = Value(final, value.dtype, value.shape, value.sizes)
        for node in nodes:
            if written[0] in node.outputs:
                node.name = node_name
            node.inputs = [renamed.get(n, n) for n in node.inputs]
            node.outputs = [renamed.get(n, n) for n in node.outputs]
        self.draft.nodes.extend(nodes)

    def outputs(self) -> list[tuple[Value, Origins]]:
        written = {name for node in self.draft.nodes for name in node.outputs}
        used = {*written, *self.draft.constants, *(v.name for v in self.inputs.values())}
        outputs: list[tuple[Value, Origins]] = []
        for (node, _), number in zip(self.graph.head_entries, self.graph.heads, strict=True):
            value = self.values[number]
            if value.name not in written or value.name in [v.name for v, _ in outputs]:
                name = node.name if node.name not in used else f"{node.name}_output"
                name = name if name not in used else self.draft.unique(name)
                used.add(name)
                self.draft.nodes.append(OnnxNode("Identity", name, [value.name], [name], {}))
                value = Value(name, value.dtype, value.shape, value.sizes)
            outputs.append((value, self.shapes.origins(number)))
        return outputs


def _live_steps(graph: Graph) -> list[GraphStep]:
    needed = set(graph.heads)
    live = []
    for step in reversed(graph.steps):
        if not needed.isdisjoint(step.outputs):
            live.append(step)
            needed.update(_read(step))
    return live[::-1]


def _read(step: GraphStep) -> list[int]:
    kept = READ_INPUTS.get(step.op.name, step.names)
    return [number for name, number in zip(step.names, step.inputs, strict=True) if name in kept]


def _live_inputs(graph: Graph, steps: Sequence[GraphStep], params: Any) -> list[str]:
    needed = {*graph.heads, *(number for step in steps for number in _read(step))}
    names = [node.name for node in graph.nodes if node.op is None]
    numbers = {node.name: number for node, number in graph.variables}
    return [n for n in names if n not in params and numbers[n] in needed]


def _overwrite_constants(steps: Sequence[GraphStep], arrays: dict[str, np.ndarray]) -> None:
    for step in steps:
        for name, fill in step.op.constant_inputs(step.params).items():
            child, _ = step.node.inputs[step.names.index(name)]
            if child.op is None and child.name in arrays:
                arrays[child.name] = np.full_like(arrays[child.name], fill)
