"""Translations of operators into ONNX nodes, a file per theme; importing it registers them."""

from . import (
    convolution_nodes,
    creation_nodes,
    detection_nodes,
    elementwise_nodes,
    image_nodes,
    indexing_nodes,
    matrix_nodes,
    normalization_nodes,
    pooling_nodes,
    recurrent_nodes,
    reduction_nodes,
    reshaping_nodes,
    slicing_nodes,
)
