"""MXNet's own functions for ONNX: ``mx.onnx.export_model`` and ``mx.contrib.onnx``'s."""

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentValueError, InputTypeError, NotSupportedError
from ..inspection import plain_name
from ..ndarray import load as load_arrays
from ..ndarray.comparison import random_inputs
from ..ops import lookup
from ..ops.schema.attrs import dtype_name
from ..symbol import Symbol, load as load_symbol
from ._comparison import compare
from ._exporter import OPSET, inference_inputs, to_onnx
from ._free_dimensions import FreeShapes
from ._library import require_onnx
from ._model_proto import load_model, save_model
from ._node_writer import TRANSLATIONS

_LOG = logging.getLogger(__name__)


def export_model(
    sym: Symbol | str | os.PathLike[str],
    params: Any,
    in_shapes: Sequence[Sequence[int]] | Mapping[str, Sequence[int]] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Sequence[int | str | None]] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
    *,
    opset_version: int = OPSET,
    check: bool = True,
) -> str:
    """Writes a symbol's inference as an ONNX file, checks it and returns its path.

    sym, params
        a symbol and a dict of its parameters and states (or a list of two dicts), or their files.
    in_shapes, in_types
        shape and dtype of each input in the symbol's order, or by name; one dtype stands for all.
        Labels may be left out. (``input_shape`` and ``input_type`` are their former names.)
    onnx_file_path
        the file, written under a temporary name; above 2 GB with ``<path>.data`` beside it.
    verbose
        logs the comparison with executorkit (logger ``executorkit.onnx``, level INFO).
    dynamic, dynamic_input_shapes
        leaves lengths of the inputs open: None or a name in ``dynamic_input_shapes``, all without
        it. Lengths that parameters fix stay fixed.
    run_shape_inference
        has no effect: shapes of the outputs are always part of the file.
    opset_version
        the version of ONNX's operators, 17 or newer.
    check
        runs the file on random input, in ONNX Runtime if it is installed; a relative difference
        above 1e-3 (float16: 1e-2) is logged as a warning.

    Losses are written without labels, Dropout not at all. One :class:`UnknownOperatorError` names
    everything that ONNX cannot express, before a file is written. (MXNet's exporter writes opset 12
    or 13, and refuses labels that are not called after the last layer.)
    """
    symbol, arrays = _model(sym, params)
    names = inference_inputs(symbol, arrays)
    every = [n for n in symbol.list_inputs() if n not in arrays]
    in_shapes = in_shapes if input_shape is None else input_shape
    shapes = _by_name("in_shapes", in_shapes, names, every)
    types = _types(in_types if input_type is None else input_type, list(shapes))
    free: FreeShapes | None = None
    if dynamic:
        requested = dynamic_input_shapes
        free = (
            {n: [None] * len(shapes[n]) for n in shapes if n in names}
            if requested is None
            else _by_name("dynamic_input_shapes", requested, names, every)
        )
    model = to_onnx(symbol, arrays, shapes, types, free=free, opset_version=opset_version)
    path = os.fspath(onnx_file_path)
    save_model(model, path)
    if check:
        inputs = random_inputs({n: shapes[n] for n in shapes if n in names}, types)
        try:
            comparison = compare(path, symbol, arrays, inputs)
        except NotSupportedError as error:
            _LOG.warning("%s was not compared: %s", path, error)
            return path
        if not comparison.is_within(1e-2 if "float16" in types.values() else 1e-3):
            _LOG.warning("%s differs from executorkit:\n%s", path, comparison)
        elif verbose:
            _LOG.info("%s, run by %s:\n%s", path, comparison.runtime, comparison)
    return path


def _model(sym: object, params: object) -> tuple[Symbol, dict[str, Any]]:
    if isinstance(sym, str | os.PathLike) and isinstance(params, str | os.PathLike):
        return load_symbol(os.fspath(sym)), _by_plain_name(load_arrays(os.fspath(params)))
    if isinstance(params, list | tuple) and all(isinstance(p, Mapping) for p in params):
        params = {name: array for part in params for name, array in part.items()}
    if not isinstance(sym, Symbol) or not isinstance(params, Mapping):
        problem = f"sym is {type(sym).__name__} and params is {type(params).__name__}"
        hint = "a symbol and a dict of parameters, or the paths of both files"
        raise InputTypeError("export_model", problem, hint=hint)
    return sym, _by_plain_name(params)


def _by_plain_name(params: Any) -> dict[str, Any]:
    return {plain_name(n): array for n, array in dict(params).items()}


def _by_name(what: str, values: Any, names: Sequence[str], every: Sequence[str]) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    if values is None:
        values = []
    for order in (names, every):
        if len(values) == len(order):
            return dict(zip(order, values, strict=True))
    problem = f"{what} has {len(values)} entries, expected {len(names)}"
    raise ArgumentValueError("export_model", problem, because=f"the inputs are {', '.join(names)}")


def _types(types: object, names: Sequence[str]) -> dict[str, str]:
    if not isinstance(types, list | tuple):
        return dict.fromkeys(names, dtype_name(types))
    if len(types) == 1:
        types = list(types) * len(names)
    return {n: dtype_name(t) for n, t in _by_name("in_types", types, names, names).items()}


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Returns names of the operators that can be exported, with ``null`` (a variable)."""
    operators = (lookup(name) for name in TRANSLATIONS)
    return sorted({"null", *(name for op in operators if op is not None for name in op.names)})


def get_model_metadata(model_file: str | os.PathLike[str]) -> dict[str, list[tuple[str, tuple]]]:
    """Returns ``{"input_tensor_data": [(name, shape), ...], "output_tensor_data": [...]}`` of a
    model. A length that varies is 0. Parameters are not inputs. Raises :class:`FileAccessError` and
    :class:`FileFormatError`."""
    require_onnx()
    graph = load_model(model_file).graph
    parameters = {tensor.name for tensor in graph.initializer}

    def described(values: Any) -> list[tuple[str, tuple]]:
        return [
            (v.name, tuple(d.dim_value for d in v.type.tensor_type.shape.dim))
            for v in values
            if v.name not in parameters
        ]

    return {
        "input_tensor_data": described(graph.input),
        "output_tensor_data": described(graph.output),
    }
