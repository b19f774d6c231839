"""MXNet's import path ``mxnet.contrib.onnx.onnx2mx.import_to_gluon``."""

from ...._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.contrib.onnx")
