"""``mx.contrib.quantization``: networks with 8-bit layers, from trained networks of floats.

    quantised, arguments, states = mx.contrib.quantization.quantize_model(
        symbol, arg_params, aux_params, calib_mode="naive", calib_data=batches,
        quantized_dtype="auto",
    )

``quantize_model`` rewrites the graph, measures the layers' ranges on a few batches, and quantises
the parameters; ``quantize_graph`` and ``calib_graph`` are its steps. The graphs are MXNet's, node
by node, so MXNet loads their files. ``quantize_net_v2`` takes a Gluon network and a DataLoader, and
returns a block.

Differs from MXNet: convolutions take int8 data on every device, recurrent networks stay floating,
and XLA fuses in place of oneDNN subgraphs, so ``quantize_model_mkldnn`` equals ``quantize_model``.
As in MXNet on CPU, the range that a convolution of uint8 data claims is twice too wide, so choose
``quantized_dtype="int8"`` (the default) for accuracy, and 8-bit convolutions add their bias without
scaling: ``quantize_net_v2`` moves it into a sum or a normalisation first.
"""

import logging as logging
import os as os

from ...context import cpu as cpu
from ._calibration import (
    LayerHistogramCollector as LayerHistogramCollector,
    LayerOutputMinMaxCollector as LayerOutputMinMaxCollector,
    combine_histogram as combine_histogram,
    optimal_threshold as optimal_threshold,
    optimal_thresholds as optimal_thresholds,
)
from ._quantize_block import quantize_net as quantize_net, quantize_net_v2 as quantize_net_v2
from ._quantize_model import (
    calib_graph as calib_graph,
    quantize_graph as quantize_graph,
    quantize_model as quantize_model,
    quantize_model_mkldnn as quantize_model_mkldnn,
    quantize_params as quantize_params,
)
from ._quantized_graph import (
    calibrate_symbol as calibrate_symbol,
    quantize_symbol as quantize_symbol,
)

# Scripts use these of MXNet's private names.
_LayerHistogramCollector = LayerHistogramCollector
_LayerOutputMinMaxCollector = LayerOutputMinMaxCollector
_get_optimal_threshold = optimal_threshold
_get_optimal_thresholds = optimal_thresholds
_quantize_params = quantize_params
_quantize_symbol = quantize_symbol
_calibrate_quantized_sym = calibrate_symbol
