"""Checkpoints for other libraries: StableHLO and ONNX for networks, safetensors and ``.npz`` for
parameters.

    symbol = mx.sym.load("resnet-50-symbol.json")
    params = mx.nd.load("resnet-50-0000.params")
    print(executorkit.export.to_stablehlo("resnet-50.stablehlo", symbol, params))
    model = executorkit.export.load("resnet-50.stablehlo")
    model(data=images)["softmax_output"]

Every export is loaded again and compared, and returns the :class:`Comparison`. On the command line:
``python -m executorkit export``.
"""

from ._checkpoint_export import ENDINGS, NETWORK_FORMS, ExportReport, export_checkpoint
from ._differences import Comparison, Difference
from ._inference_graph import InferenceNetwork
from ._parameter_files import (
    load_npz,
    load_safetensors,
    read_parameters,
    save_npz,
    save_safetensors,
)
from ._stablehlo import PLATFORMS, StableHLOModel, load, to_stablehlo

__all__ = [
    "ENDINGS",
    "NETWORK_FORMS",
    "PLATFORMS",
    "Comparison",
    "Difference",
    "ExportReport",
    "InferenceNetwork",
    "StableHLOModel",
    "export_checkpoint",
    "load",
    "load_npz",
    "load_safetensors",
    "read_parameters",
    "save_npz",
    "save_safetensors",
    "to_stablehlo",
]
