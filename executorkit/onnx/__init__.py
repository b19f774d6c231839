"""ONNX: symbols written as models of ONNX, and such models read as symbols.

    mx.onnx.export_model(sym, params, [(1, 3, 224, 224)], onnx_file_path="net.onnx")

:func:`export_model` has MXNet's signature; :func:`to_onnx` makes the ``ModelProto``,
:func:`save_model` writes it, :func:`compare` runs it beside the symbol, and :func:`import_model`
reads a model as a symbol and its parameters. The package ``onnx`` is optional: ``pip install
'executorkit[onnx]'``.

Nodes are written from the graph of operators: a JAX program has lost names and attributes of
layers, and many nodes stand for one fused layer.
"""

from ..ndarray.comparison import random_inputs as random_inputs
from . import _importers, _translators, mx2onnx as mx2onnx
from ._comparison import (
    OnnxComparison as OnnxComparison,
    compare as compare,
    run_model as run_model,
    run_symbol as run_symbol,
)
from ._exporter import OPSET as OPSET, inference_inputs as inference_inputs, to_onnx as to_onnx
from ._importer import import_model as import_model
from ._library import require_onnx as require_onnx
from ._model_proto import load_model as load_model, save_model as save_model
from ._mxnet_interface import (
    export_model as export_model,
    get_model_metadata as get_model_metadata,
    get_operator_support as get_operator_support,
)
from ._node_writer import (
    TRANSLATIONS as TRANSLATIONS,
    NodeWriter as NodeWriter,
    translates as translates,
)
