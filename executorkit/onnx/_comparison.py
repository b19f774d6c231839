"""Comparison of an exported model with the symbol that it was made of, on random inputs."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..context import cpu
from ..display import text_table
from ..errors import NotSupportedError
from ..inspection import plain_name
from ..ndarray.comparison import Comparison, Difference, as_ndarray, host_arrays
from ._library import onnxruntime, require_onnx
from ._model_proto import load_model

_Arrays = Mapping[str, np.ndarray]


class OnnxComparison(Comparison):
    """The differences of all outputs, and the library that ran the model (``runtime``)."""

    def __init__(self, differences: Sequence[Difference], runtime: str) -> None:
        super().__init__("output", differences)
        self.runtime = runtime

    def __str__(self) -> str:
        rows = [(d.name, str(d.shape), f"{d.absolute:.2g}", f"{d.magnitude:.3g}") for d in self]
        return text_table(("output", "shape", "max difference", "max value"), rows, right={2, 3})


def run_model(model: object, inputs: _Arrays) -> tuple[list[np.ndarray], list[str], str]:
    """Returns the outputs of a model (a path, or a ModelProto), their names, and the library that
    ran it: ONNX Runtime, or ``onnx``'s reference. :class:`NotSupportedError` if neither can."""
    runtime = onnxruntime()
    reason = "onnxruntime is not installed"
    if runtime is not None:
        errors = runtime.capi.onnxruntime_pybind11_state
        try:
            return _run_by_runtime(runtime, model, inputs)
        except (errors.NotImplemented, errors.RuntimeException, errors.Fail) as error:
            reason = f"ONNX Runtime: {str(error).strip()}"
    try:
        return _run_by_reference(model, inputs)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        raise NotSupportedError(
            "a model of ONNX", "it cannot be run here", because=f"{reason}; onnx: {error}"
        ) from None


def _run_by_runtime(
    runtime: Any, model: Any, inputs: _Arrays
) -> tuple[list[np.ndarray], list[str], str]:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    source = os.fspath(model) if isinstance(model, str | os.PathLike) else model.SerializeToString()
    session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    results = session.run(names, {n: a for n, a in inputs.items() if n in known})
    return results, names, "ONNX Runtime"


def _run_by_reference(model: object, inputs: _Arrays) -> tuple[list[np.ndarray], list[str], str]:
    require_onnx()
    from onnx.reference import ReferenceEvaluator

    proto = load_model(model) if isinstance(model, str | os.PathLike) else model
    evaluator = ReferenceEvaluator(proto)
    known = set(evaluator.input_names)
    outputs = evaluator.run(None, {n: a for n, a in inputs.items() if n in known})
    names = [str(n) for n in evaluator.output_names]
    return [np.asarray(o) for o in outputs], names, "onnx.reference"


def compare(
    model: object, symbol: object, params: Mapping[str, object], inputs: _Arrays
) -> OnnxComparison:
    """Compares an exported model (a path, or a ModelProto) with the symbol on ``inputs``, arrays by
    name, such as :func:`random_inputs`; labels may be left out."""
    theirs, names, runtime = run_model(model, inputs)
    wide = [
        {
            name: np.asarray(array).astype(np.float64)
            for name, array in zip(names, side, strict=True)
        }
        for side in (run_symbol(symbol, params, inputs), theirs)
    ]
    return OnnxComparison(Comparison.of("output", *wide), runtime)


def run_symbol(symbol: Any, params: Mapping[str, Any], inputs: _Arrays) -> list[np.ndarray]:
    """Returns the symbol's outputs in inference, computed by an executor; labels are zeros."""
    arrays = {plain_name(n): a for n, a in host_arrays(params).items()} | dict(inputs)
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    sizes, _, _ = symbol.infer_shape(**{n: arrays[n].shape for n in names if n in arrays})
    zeros = {n: np.zeros(size, np.float32) for n, size in zip(names, sizes, strict=True)}
    values = {n: as_ndarray(a) for n, a in (zeros | arrays).items()}
    executor = symbol.bind(
        cpu(),
        {n: values[n] for n in names},
        grad_req="null",
        aux_states={n: values[n] for n in states},
    )
    return [output.asnumpy() for output in executor.forward(is_train=False)]
