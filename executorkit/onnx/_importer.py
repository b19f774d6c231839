"""From an ONNX model to a symbol and its parameters. Nodes of constants are computed at once, by
the reference implementation of ``onnx``; all refusals are reported together."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .. import symbol as sym
from ..errors import FileFormatError, NotSupportedError, UnknownOperatorError, shorten
from ..ndarray import NDArray, array
from ..symbol import Symbol
from ._draft import claim_name
from ._library import TYPE_NAMES, refuse_nodes, require_onnx
from ._model_proto import load_model
from ._node_reader import DRAWS, IMPORTS, TAKES_UNKNOWN, Imported, KnownShape, NodeReader, Unknown

#: Maximum number of elements of a constant that is computed while a model is read.
_MAX_CONSTANT = 1 << 28


def import_model(
    model_file: str | os.PathLike[str],
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Returns the symbol, parameters and auxiliary states of an ONNX model of opset 7 or newer.

    Names are kept; a node without a name has the name of its first output. Shapes of inputs are
    given when the symbol is bound. Raises :class:`UnknownOperatorError`, which names every node
    that is not served with the reason; :class:`FileAccessError` and :class:`FileFormatError`.
    MXNet's importer serves opset 7 to 8 with fewer operators.
    """
    model = load_model(model_file)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    if opset < 7:
        problem = f"its operators are of opset {opset}, expected 7 or newer"
        raise FileFormatError(os.fspath(model_file), problem)
    return _Importer(require_onnx(), model, opset, os.fspath(model_file)).run()


class _Importer:
    def __init__(self, library: ModuleType, model: Any, opset: int, path: str) -> None:
        self.path = path
        self.library = library
        self.model = model
        self.opset = opset
        self.shapes = _shapes(library, model)
        self.values: dict[str, Imported] = {
            t.name: self._array_of(t) for t in model.graph.initializer
        }
        self.variables: dict[str, Symbol] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.names = {*self.values, *(v.name for v in model.graph.input)}

    def _array_of(self, tensor: Any) -> np.ndarray:
        try:
            return self.library.numpy_helper.to_array(tensor)
        except Exception as error:  # dimensions and bytes that contradict each other, ...
            where = f"{self.path}, parameter {shorten(tensor.name)!r}"
            raise FileFormatError(where, shorten(error)) from None

    def run(self) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
        for value in self.model.graph.input:
            if value.name not in self.values:
                dtype = TYPE_NAMES.get(value.type.tensor_type.elem_type, "float32")
                declared = None if dtype == "float32" else dtype
                self.values[value.name] = sym.Variable(value.name, dtype=declared)
        problems: list[str] = []
        for node in self.model.graph.node:
            where = f"node {shorten(node.name or ', '.join(node.output))!r} ({node.op_type})"
            try:
                self._import(node)
            except NotSupportedError as error:
                problems.append(f"{where}: {error}")
                for output in node.output:
                    self.values[output] = sym.Variable(output)
            except Exception as error:  # attributes and inputs of any kind and number
                problem = "it is malformed"
                because = f"{type(error).__name__}: {shorten(error)}"
                raise FileFormatError(f"{self.path}, {where}", problem, because=because) from error
        refuse_nodes("parts of this ONNX model are not served", problems)
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
        unknown = [name for name in node.input if name and name not in self.values]
        if unknown or not node.output:
            problem = (
                f"its input {shorten(unknown[0])!r} is not an earlier output" if unknown else ""
            )
            raise ValueError(problem or "it has no outputs")
        inputs = [self.values[n] if n else None for n in node.input]
        if node.domain not in ("", "ai.onnx"):
            raise NotSupportedError(f"an operator of the domain {node.domain!r}")
        if self._fold(node, inputs):
            return
        function = IMPORTS.get(node.op_type)
        if function is None:
            raise NotSupportedError("no operator of MXNet is like it")
        reader = NodeReader(
            name=claim_name(node.name or node.output[0], self.names),
            op_type=node.op_type,
            values=inputs,
            names=list(node.input),
            attrs=_attributes(self.library, node),
            shapes=[self.shapes.get(n) for n in node.input],
            output_shape=self.shapes.get(node.output[0]),
            n_outputs=len(node.output),
            opset=self.opset,
            variable=self._variable,
        )
        with reader.scope:
            result = function(reader)
        results = result if isinstance(result, list | tuple) else [result]
        self.values.update((output, Unknown()) for output in node.output)
        self.values.update(zip(node.output, results, strict=False))

    def _fold(self, node: Any, inputs: Sequence[Imported | None]) -> bool:
        if node.op_type in ("Shape", "Size"):
            self.values[node.output[0]] = self._measured(node, inputs[0])
            return True
        if node.op_type in DRAWS or any(isinstance(value, Symbol) for value in inputs):
            return False
        if not any(isinstance(value, Unknown) for value in inputs):
            self._evaluate(node, inputs)
            return True
        if node.op_type in TAKES_UNKNOWN:
            return False
        lengths = _lengths(node, inputs)
        self.values.update((output, Unknown(lengths=lengths)) for output in node.output)
        return True

    def _measured(self, node: Any, source: Imported | None) -> Imported:
        shape = source.shape if isinstance(source, np.ndarray) else self.shapes.get(node.input[0])
        if shape is None or None in shape:
            if node.op_type == "Size" or node.attribute:
                return Unknown()
            return Unknown(source if isinstance(source, Symbol) else None, shape)
        bounds = {attribute.name: attribute.i for attribute in node.attribute}
        if node.op_type == "Size":
            return np.array(math.prod(n or 0 for n in shape), np.int64)
        return np.array(shape, np.int64)[bounds.get("start", 0) : bounds.get("end")]

    def _evaluate(self, node: Any, inputs: Sequence[Imported | None]) -> None:
        from onnx.reference import ReferenceEvaluator

        shape = self.shapes.get(node.output[0]) or ()
        if math.prod(n or 1 for n in shape) > _MAX_CONSTANT:
            raise NotSupportedError(f"a constant of shape {shape} is not computed")
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
        problem = f"output {name!r} depends on shapes that are not in the file"
        raise UnknownOperatorError("import of ONNX", problem)

    def _variable(self, name: str, contents: np.ndarray) -> Symbol:
        if name not in self.variables:
            contents = contents.reshape(1) if contents.ndim == 0 else contents
            dtype = contents.dtype.name
            declared = None if dtype == "float32" else dtype
            self.variables[name] = sym.Variable(name, shape=contents.shape, dtype=declared)
            self.arrays[name] = contents
        return self.variables[name]


#: Entries of a list of lengths, None for unknown ones.
_Lengths = tuple[int | None, ...]


def _lengths(node: Any, inputs: Sequence[Imported | None]) -> _Lengths | None:
    lists = [_as_lengths(value) for value in inputs]
    compute = _OF_LENGTHS.get(node.op_type)
    return compute(lists[0], lists[1:]) if compute and lists and lists[0] is not None else None


def _concatenate(first: _Lengths, others: Sequence[_Lengths | None]) -> _Lengths | None:
    parts = [part for part in others if part is not None]
    return sum(parts, first) if len(parts) == len(others) else None


def _gathered(first: _Lengths, others: Sequence[_Lengths | None]) -> _Lengths | None:
    positions = others[0] if others else None
    if positions is None or None in positions:
        return None
    return tuple(first[n] for n in positions if n is not None)


def _sliced(first: _Lengths, others: Sequence[_Lengths | None]) -> _Lengths | None:
    bounds = [part[0] if part else None for part in others]
    if None in bounds or len(bounds) < 2:
        return None
    return first[bounds[0] : bounds[1] : bounds[3] if len(bounds) > 3 else 1]


#: Functions of the first list of lengths and the others, by operator.
_OF_LENGTHS: Mapping[str, Callable[[_Lengths, Sequence[_Lengths | None]], _Lengths | None]] = {
    **dict.fromkeys(("Cast", "Identity", "Unsqueeze", "Squeeze"), lambda first, others: first),
    "Concat": _concatenate,
    "Gather": _gathered,
    "Slice": _sliced,
}


def _as_lengths(value: Imported | None) -> _Lengths | None:
    if isinstance(value, Unknown):
        return value.lengths
    if isinstance(value, np.ndarray) and value.ndim < 2 and value.dtype.kind in "iu":
        return tuple(int(n) for n in value.reshape(-1))
    return None


def _attributes(library: ModuleType, node: Any) -> Mapping[str, Any]:
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


def _shapes(library: ModuleType, model: Any) -> dict[str, KnownShape]:
    try:
        inferred = library.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # inference is a help: unknown shapes are refused where they are needed
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
