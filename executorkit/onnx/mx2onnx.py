"""MXNet's import path ``mxnet.onnx.mx2onnx``: the functions of ``mx.onnx``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.onnx")
