"""Checkpoints for other libraries: StableHLO and ONNX for networks, safetensors and ``.npz`` for
parameters.

    symbol, params = mx.sym.load("resnet-50-symbol.json"), mx.nd.load("resnet-50-0000.params")
    print(executorkit.export.to_stablehlo("resnet-50.stablehlo", symbol, params))
    executorkit.export.load("resnet-50.stablehlo")(data=images)["softmax_output"]

Every export is loaded again and compared, and returns the :class:`Comparison`. On the command line:
``python -m executorkit export``.
"""

from ..ndarray.comparison import Comparison as Comparison, Difference as Difference
from ._checkpoint_export import (
    ENDINGS as ENDINGS,
    NETWORK_FORMS as NETWORK_FORMS,
    ExportReport as ExportReport,
    export_checkpoint as export_checkpoint,
)
from ._inference_graph import InferenceNetwork as InferenceNetwork
from ._parameter_files import (
    load_npz as load_npz,
    load_safetensors as load_safetensors,
    read_parameters as read_parameters,
    save_npz as save_npz,
    save_safetensors as save_safetensors,
)
from ._stablehlo import (
    PLATFORMS as PLATFORMS,
    StableHLOModel as StableHLOModel,
    load as load,
    to_stablehlo as to_stablehlo,
)
