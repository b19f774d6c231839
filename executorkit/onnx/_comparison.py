"""Comparison of an exported model with the symbol that it was made of, on random inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..display import text_table
from ..errors import NotSupportedError
from ._exporter import as_numpy, plain_name
from ._library import onnxruntime, require_onnx
from ._model_proto import load_model


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """One output in both libraries: the largest absolute difference, and the largest absolute
    value that our output has."""

    name: str
    shape: tuple[int, ...]
    difference: float
    magnitude: float

    @property
    def relative(self) -> float:
        """The difference as a share of the magnitude (of 1, if that is smaller)."""
        return self.difference / max(self.magnitude, 1.0)


@dataclass(frozen=True, slots=True)
class OnnxComparison:
    """The differences of all outputs, and the library that ran the model."""

    outputs: tuple[OutputDifference, ...]
    runtime: str

    @property
    def largest(self) -> float:
        """The largest absolute difference of any output."""
        return max((o.difference for o in self.outputs), default=0.0)

    @property
    def relative(self) -> float:
        """The largest difference as a share of its output's magnitude."""
        return max((o.relative for o in self.outputs), default=0.0)

    def __str__(self) -> str:
        rows = [
            (o.name, str(o.shape), f"{o.difference:.2g}", f"{o.magnitude:.3g}")
            for o in self.outputs
        ]
        head = ("output", "shape", "max difference", "max value")
        return text_table(head, rows, right={2, 3})


def random_inputs(
    shapes: Mapping[str, Sequence[int]], dtypes: Mapping[str, str], seed: int = 0
) -> dict[str, np.ndarray]:
    """Random inputs: normally distributed, small numbers for integers."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for name, shape in shapes.items():
        dtype = dtypes.get(name, "float32")
        if np.dtype(dtype).kind in "iub":
            inputs[name] = generator.integers(0, 5, shape).astype(dtype)
        else:
            inputs[name] = generator.normal(size=tuple(shape)).astype(dtype)
    return inputs


def run_model(
    model: Any, inputs: Mapping[str, np.ndarray]
) -> tuple[list[np.ndarray], list[str], str]:
    """The outputs of a model (a path, or a ModelProto), their names, and the library that ran it.

    ONNX Runtime on the CPU; the reference implementation of ``onnx`` where that is not installed,
    or lacks an operator for some type. Raises :class:`NotSupportedError` if neither can run it.
    """
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
    runtime: Any, model: Any, inputs: Mapping[str, np.ndarray]
) -> tuple[list[np.ndarray], list[str], str]:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    is_path = isinstance(model, str | os.PathLike)
    source = os.fspath(model) if is_path else model.SerializeToString()
    session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    results = session.run(names, {n: a for n, a in inputs.items() if n in known})
    return results, names, "ONNX Runtime"


def _run_by_reference(
    model: Any, inputs: Mapping[str, np.ndarray]
) -> tuple[list[np.ndarray], list[str], str]:
    require_onnx()
    from onnx.reference import ReferenceEvaluator

    proto = load_model(model) if isinstance(model, str | os.PathLike) else model
    evaluator = ReferenceEvaluator(proto)
    known = set(evaluator.input_names)
    outputs = evaluator.run(None, {n: a for n, a in inputs.items() if n in known})
    names = [str(n) for n in evaluator.output_names]
    return [np.asarray(o) for o in outputs], names, "onnx.reference"


def compare(
    model: Any,
    symbol: Any,
    params: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
) -> OnnxComparison:
    """Runs an exported model (a path, or a ModelProto) and the symbol on the same inputs.

    ``inputs`` are arrays by name, :func:`random_inputs` for instance; labels that only losses read
    may be left out.
    """
    theirs, names, runtime = run_model(model, inputs)
    ours = run_symbol(symbol, params, inputs)
    differences = []
    for name, mine, other in zip(names, ours, theirs, strict=True):
        a, b = mine.astype(np.float64), np.asarray(other).astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) if a.shape == b.shape else np.False_
        with np.errstate(invalid="ignore"):
            distance = np.where(same, 0.0, np.abs(a - b)) if a.shape == b.shape else np.inf
        largest = float(np.max(np.nan_to_num(distance, nan=np.inf), initial=0.0))
        finite = np.abs(a[np.isfinite(a)])
        magnitude = float(np.max(finite, initial=0.0))
        differences.append(OutputDifference(name, mine.shape, largest, magnitude))
    return OnnxComparison(tuple(differences), runtime)


def run_symbol(
    symbol: Any, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The symbol's outputs in inference."""
    arrays = {plain_name(n): as_numpy(a) for n, a in params.items()} | dict(inputs)
    function = symbol.to_jax()
    args = {n: arrays[n] for n in function.arguments if n in arrays}
    aux = {n: arrays[n] for n in function.auxiliary_states if n in arrays}
    wide = any(a.dtype.name in ("int64", "float64", "uint64") for a in arrays.values())
    with jax.enable_x64(True) if wide else nullcontext():
        outputs, _ = jax.jit(function)(args, aux, jax.random.key(0))
    return [np.asarray(output) for output in outputs]
