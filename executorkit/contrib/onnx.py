"""``mx.contrib.onnx``: ONNX models, written and read (the functions of ``mx.onnx``)."""

from __future__ import annotations

from ..onnx import export_model, get_model_metadata, import_model, import_to_gluon

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]
