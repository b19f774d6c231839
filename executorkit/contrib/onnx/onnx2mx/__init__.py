"""MXNet's import path ``mxnet.contrib.onnx.onnx2mx``: the modules of the import."""

from . import import_model as import_model, import_to_gluon as import_to_gluon
