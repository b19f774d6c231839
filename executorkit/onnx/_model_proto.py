"""Models of ONNX: made of a draft, checked, written to files and read again."""

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np

from .._files import open_to_read, write_atomically
from ..errors import FileFormatError, UnknownOperatorError, shorten
from ._draft import GraphDraft, Value
from ._free_dimensions import OpenShapes, Origins
from ._library import TYPE_NUMBERS, require_onnx

#: Maximum size in bytes of a model in one file: Protocol Buffers allow 2 GiB.
_ONE_FILE = (1 << 31) - (1 << 24)
#: Alignment in bytes of parameters in a file of their own, for mapping into memory.
_ALIGNMENT = 4096


def make_model(
    library: ModuleType,
    draft: GraphDraft,
    inputs: Mapping[str, Value],
    outputs: Sequence[tuple[Value, Origins]],
    shapes: OpenShapes,
    name: str,
) -> Any:
    helper = library.helper
    places = {place: d.name for d in shapes.dimensions for place in d.places}
    graph_inputs = []
    for variable, value in inputs.items():
        dims = [places.get((variable, axis), n) for axis, n in enumerate(value.sizes)]
        graph_inputs.append(_described(helper, value, dims))
    graph_outputs = []
    for value, origins in outputs:
        dims = [
            n if n is not None else _symbol(o) for n, o in zip(value.shape, origins, strict=True)
        ]
        graph_outputs.append(_described(helper, value, dims))
    read = {name for node in draft.nodes for name in node.inputs}
    tensors = [
        library.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), constant)
        for constant, array in draft.constants.items()
        if constant in read
    ]
    nodes = []
    for node in draft.nodes:
        attrs = {
            key: library.numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
            for key, v in node.attrs.items()
        }
        nodes.append(helper.make_node(node.op_type, node.inputs, node.outputs, node.name, **attrs))
    opsets = [helper.make_opsetid("", draft.opset)]
    return helper.make_model(
        helper.make_graph(nodes, name, graph_inputs, graph_outputs, tensors),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="executorkit",
        producer_version=version("executorkit"),
    )


def _symbol(origin: Any) -> str | None:
    return origin[0].name if origin is not None and origin[1] == 1 else None


def _described(helper: Any, value: Value, dims: Sequence[int | str | None]) -> Any:
    return helper.make_tensor_value_info(value.name, TYPE_NUMBERS[value.dtype], list(dims))


def check(library: ModuleType, model: Any) -> None:
    """Checks a model with ONNX's checker and shape inference (one too large for a file in
    :func:`save_model`). Raises :class:`UnknownOperatorError`."""
    if _parameter_bytes(model) >= _ONE_FILE:
        return
    try:
        library.checker.check_model(model, full_check=True)
    except (library.checker.ValidationError, library.shape_inference.InferenceError) as error:
        problem = "ONNX refuses the model"
        raise UnknownOperatorError("export to ONNX", problem, because=str(error).strip()) from None


def _parameter_bytes(model: Any) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def save_model(model: Any, path: str | os.PathLike[str], *, one_file: int = _ONE_FILE) -> list[str]:
    """Writes a model, each file whole or not at all; returns the paths. With ``one_file`` bytes of
    parameters or more (2 GB, ONNX's limit) large ones go to ``<path>.data``.
    :class:`FileAccessError`."""
    path = os.fspath(path)
    if _parameter_bytes(model) < one_file:
        write_atomically(path, [model.SerializeToString()])
        return [path]
    library = require_onnx()
    data = f"{path}.data"
    stored = [t for t in model.graph.initializer if len(t.raw_data) >= 1024]
    write_atomically(data, _aligned(stored))
    slim = _without_parameters(library, model, {t.name for t in stored})
    offset = 0
    for tensor in stored:
        reference = slim.graph.initializer.add()
        reference.name, reference.data_type = tensor.name, tensor.data_type
        reference.dims.extend(tensor.dims)
        reference.data_location = library.TensorProto.EXTERNAL
        for key, value in (
            ("location", os.path.basename(data)),
            ("offset", offset),
            ("length", len(tensor.raw_data)),
        ):
            entry = reference.external_data.add()
            entry.key, entry.value = key, str(value)
        offset += len(tensor.raw_data) + -len(tensor.raw_data) % _ALIGNMENT
    write_atomically(path, [slim.SerializeToString()])
    library.checker.check_model(path)
    return [path, data]


def _aligned(tensors: Sequence[Any]) -> Iterator[bytes]:
    for tensor in tensors:
        yield tensor.raw_data
        yield bytes(-len(tensor.raw_data) % _ALIGNMENT)


def _without_parameters(library: ModuleType, model: Any, left_out: set[str]) -> Any:
    slim = library.ModelProto(
        ir_version=model.ir_version,
        producer_name=model.producer_name,
        producer_version=model.producer_version,
    )
    slim.opset_import.extend(model.opset_import)
    slim.graph.name = model.graph.name
    for field in ("node", "input", "output"):
        getattr(slim.graph, field).extend(getattr(model.graph, field))
    slim.graph.initializer.extend(t for t in model.graph.initializer if t.name not in left_out)
    return slim


def load_model(path: str | os.PathLike[str]) -> Any:
    """Returns the ModelProto of a file and the parameter files beside it. Raises
    :class:`FileAccessError` or :class:`FileFormatError`."""
    library = require_onnx()
    open_to_read(path).close()
    try:
        model = library.load(os.fspath(path))
    except Exception as error:
        problem = "it cannot be read as an ONNX model"
        raise FileFormatError(os.fspath(path), problem, because=str(error)) from None
    if not model.graph.node and not model.graph.output:
        raise FileFormatError(os.fspath(path), "it holds no graph of ONNX")
    for name in _names(model.graph):
        if not isinstance(name, str):
            raise FileFormatError(os.fspath(path), f"the name {shorten(name)} is not text in UTF-8")
    return model


def _names(graph: Any) -> Iterator[Any]:
    # Protocol Buffers give bytes for names that are not text.
    for value in (*graph.input, *graph.output, *graph.initializer):
        yield value.name
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
