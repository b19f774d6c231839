"""The packages ``onnx`` and ``onnxruntime``, which are optional, and ONNX's numbers of types."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..errors import MissingDependencyError, UnknownOperatorError, listed

#: ONNX's number (``TensorProto.DataType``) of each element type.
TYPE_NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}


def require_onnx() -> Any:
    """Returns the package ``onnx``, or raises :class:`MissingDependencyError`, an ImportError."""
    try:
        for part in ("checker", "shape_inference", "numpy_helper", "helper", "defs"):
            import_module(f"onnx.{part}")
        return import_module("onnx")
    except ImportError:
        raise MissingDependencyError(
            "ONNX (the package onnx)",
            "it is not installed",
            because="files of ONNX are read, checked and written by it",
            hint="pip install 'executorkit[onnx]'",
        ) from None


def refuse_nodes(problem: str, nodes: Sequence[str]) -> None:
    if nodes:
        raise UnknownOperatorError(f"{problem}:\n  " + listed(nodes, 100, "\n  "))


def onnxruntime() -> Any | None:
    try:
        return import_module("onnxruntime")
    except ImportError:
        return None
