"""Imports of ONNX nodes as operators, a file per theme; importing this package registers them."""

from . import elementwise_imports, indexing_imports, layer_imports, shape_imports, window_imports
