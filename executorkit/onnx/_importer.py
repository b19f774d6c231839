"""From an ONNX model to a symbol and its parameters: nodes in order, what is not served at once.

Nodes that read constants alone are computed while the model is read, by the reference
implementation of ``onnx``; the shapes that ONNX's inference knows stand in for nodes that compute
with shapes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import symbol as sym
from ..errors import (
    FileFormatError,
    NotSupportedError,
    UnknownOperatorError,
    shorten,
)
from ..ndarray import NDArray, array
from ..symbol import Symbol
from ._draft import claim_name
from ._library import TYPE_NAMES, require_onnx
from ._model_proto import load_model
from ._node_reader import IMPORTS, Imported, KnownShape, NodeReader, Unknown

#: Maximum number of nodes that an error lists.
_LISTED = 100
#: Operators that are evaluated only from known shapes.
_SHAPES = ("Shape", "Size")


def import_model(
    model_file: str | os.PathLike[str],
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The symbol, parameters and auxiliary states of an ONNX model.

    The model may be of opset 7 or newer. Names of inputs, parameters and nodes are kept; a node
    without a name has that of its first output. Shapes of inputs are those given when the
    symbol is bound. Raises :class:`UnknownOperatorError`, which names every node that is not
    served with the reason; :class:`FileAccessError` and :class:`FileFormatError`.

    MXNet's importer serves opset 7 to 8 with fewer operators.
    """
    library = require_onnx()
    model = load_model(model_file)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    if opset < 7:
        raise FileFormatError(
            os.fspath(model_file), f"its operators are of opset {opset}, expected 7 or newer"
        )
    return _Importer(library, model, opset).run()


class _Importer:
    """A model on its way to a symbol: its values by name."""

    def __init__(self, library: Any, model: Any, opset: int) -> None:
        self.library = library
        self.model = model
        self.opset = opset
        self.shapes = _shapes(library, model)
        self.values: dict[str, Imported] = {
            t.name: library.numpy_helper.to_array(t) for t in model.graph.initializer
        }
        self.variables: dict[str, Symbol] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.names = {*self.values, *(v.name for v in model.graph.input)}

    def run(self) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
        """The symbol and its parameters."""
        for value in self.model.graph.input:
            if value.name not in self.values:
                dtype = TYPE_NAMES.get(value.type.tensor_type.elem_type, "float32")
                declared = None if dtype == "float32" else dtype
                self.values[value.name] = sym.Variable(value.name, dtype=declared)
        problems: list[str] = []
        for node in self.model.graph.node:
            try:
                self._import(node)
            except NotSupportedError as error:
                name = shorten(node.name or node.output[0])
                problems.append(f"node {name!r} ({node.op_type}): {error}")
                for output in node.output:
                    self.values[output] = sym.Variable(output)
        if problems:
            raise UnknownOperatorError(_listing(problems))
        heads = [self._symbol(v.name) for v in self.model.graph.output]
        symbol = heads[0] if len(heads) == 1 else sym.Group(heads)
        arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        kept = {n: array(a, dtype=a.dtype.name) for n, a in self.arrays.items()}
        return (
            symbol,
            {n: kept[n] for n in arguments if n in kept},
            {n: kept[n] for n in states if n in kept},
        )

    def _import(self, node: Any) -> None:
        inputs = [self.values[n] if n else None for n in node.input]
        if node.domain not in ("", "ai.onnx"):
            raise NotSupportedError(f"an operator of the domain {node.domain!r}")
        if self._fold(node, inputs):
            return
        function = IMPORTS.get(node.op_type)
        if function is None:
            raise NotSupportedError("no operator of MXNet is like it")
        name = self._unique(node.name or node.output[0])
        reader = NodeReader(
            name,
            node.op_type,
            inputs,
            list(node.input),
            _attributes(self.library, node),
            [self.shapes.get(n) for n in node.input],
            self.shapes.get(node.output[0]),
            len(node.output),
            self.opset,
            self._variable,
        )
        with reader.scope:
            result = function(reader)
        results = list(result) if isinstance(result, list | tuple) else [result]
        for output, value in zip(node.output, results, strict=False):
            self.values[output] = value
        for output in list(node.output)[len(results) :]:
            self.values[output] = Unknown()

    def _fold(self, node: Any, inputs: Sequence[Imported | None]) -> bool:
        """Computes a node that reads constants alone, or that computes with shapes."""
        if node.op_type in _SHAPES:
            shape = self.shapes.get(node.input[0])
            source = inputs[0]
            if isinstance(source, np.ndarray):
                shape = source.shape
            if shape is not None and None not in shape:
                lengths = np.array(shape, np.int64)
                start = next((a.i for a in node.attribute if a.name == "start"), 0)
                end = next((a.i for a in node.attribute if a.name == "end"), None)
                whole = node.op_type == "Shape"
                self.values[node.output[0]] = lengths[start:end] if whole else lengths.prod()
            else:
                whole_shape = node.op_type == "Shape" and not node.attribute
                origin = source if whole_shape and isinstance(source, Symbol) else None
                self.values[node.output[0]] = Unknown(origin, shape if whole_shape else None)
            return True
        given_inputs = [value for value in inputs if value is not None]
        if any(isinstance(value, Symbol) for value in given_inputs):
            return False
        if any(isinstance(value, Unknown) for value in given_inputs):
            if node.op_type in IMPORTS and node.op_type in ("Expand", "ConstantOfShape"):
                return False
            for output in node.output:
                self.values[output] = Unknown(lengths=_lengths(node, inputs))
            return True
        if node.op_type.startswith("Random"):
            return False
        self._evaluate(node, inputs)
        return True

    def _evaluate(self, node: Any, inputs: Sequence[Imported | None]) -> None:
        from onnx.reference import ReferenceEvaluator

        helper = self.library.helper
        fed = {n: v for n, v in zip(node.input, inputs, strict=True) if isinstance(v, np.ndarray)}
        described = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in fed.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(n) for n in node.output if n]
        graph = helper.make_graph([node], "constant", described, outputs)
        model = helper.make_model(graph, opset_imports=self.model.opset_import)
        try:
            results = ReferenceEvaluator(model).run(None, fed)
        except Exception as error:
            raise NotSupportedError(f"it cannot be computed: {error}") from None
        for output, value in zip([n for n in node.output if n], results, strict=True):
            self.values[output] = np.asarray(value)

    def _symbol(self, name: str) -> Symbol:
        value = self.values.get(name)
        if isinstance(value, Symbol):
            return value
        if isinstance(value, np.ndarray):
            return self._variable(name, value)
        raise UnknownOperatorError(
            "import of ONNX", f"output {name!r} depends on shapes that are not in the file"
        )

    def _variable(self, name: str, contents: np.ndarray) -> Symbol:
        """A variable for a constant; MXNet has no arrays without axes."""
        if name not in self.variables:
            contents = contents.reshape(1) if contents.ndim == 0 else contents
            dtype = contents.dtype.name
            declared = None if dtype == "float32" else dtype
            self.variables[name] = sym.Variable(name, shape=contents.shape, dtype=declared)
            self.arrays[name] = contents
        return self.variables[name]

    def _unique(self, name: str) -> str:
        return claim_name(name, self.names)


def _lengths(node: Any, inputs: Sequence[Imported | None]) -> tuple[int | None, ...] | None:
    """The list of lengths that a node makes of lists which are known in part; None if it is not
    known what it makes."""
    lists = [_as_lengths(value) for value in inputs]
    if not lists or lists[0] is None:
        return None
    kind = node.op_type
    if kind in ("Cast", "Identity", "Unsqueeze", "Squeeze"):
        return lists[0]
    if kind == "Concat" and None not in lists:
        return tuple(n for part in lists for n in part or ())
    index = inputs[1] if len(inputs) > 1 else None
    if kind == "Gather" and isinstance(index, np.ndarray):
        return tuple(lists[0][int(i)] for i in index.reshape(-1))
    if kind == "Slice":
        bounds = [np.ravel(value)[0] for value in inputs[1:] if isinstance(value, np.ndarray)]
        if len(bounds) == len(inputs) - 1:
            start, end, *rest = (int(bound) for bound in bounds)
            return lists[0][start : end : rest[1] if len(rest) > 1 else 1]
    return None


def _as_lengths(value: Imported | None) -> tuple[int | None, ...] | None:
    if isinstance(value, Unknown):
        return value.lengths
    if isinstance(value, np.ndarray) and value.ndim < 2 and value.dtype.kind in "iu":
        return tuple(int(n) for n in value.reshape(-1))
    return None


def _listing(problems: Sequence[str]) -> str:
    lines = list(problems[:_LISTED])
    if len(problems) > _LISTED:
        lines.append(f"and {len(problems) - _LISTED} more")
    return "this ONNX model needs what is not served:\n  " + "\n  ".join(lines)


def _attributes(library: Any, node: Any) -> Mapping[str, Any]:
    """Attributes as Python values: texts, numbers, tuples, arrays."""
    values = {}
    for attribute in node.attribute:
        value = library.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, library.TensorProto):
            value = library.numpy_helper.to_array(value)
        elif not isinstance(value, int | float | str):
            value = tuple(v.decode() if isinstance(v, bytes) else v for v in value)
        values[attribute.name] = value
    return values


def _shapes(library: Any, model: Any) -> dict[str, KnownShape]:
    """The shapes that the file states and that ONNX infers from them."""
    inferred = model
    try:
        inferred = library.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # inference is a help: what it does not know is refused where it is needed
        inferred = model
    graph = inferred.graph
    shapes: dict[str, KnownShape] = {t.name: tuple(t.dims) for t in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if value.name not in shapes and kind.HasField("shape"):
            shapes[value.name] = tuple(
                d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None
                for d in kind.shape.dim
            )
    return shapes
