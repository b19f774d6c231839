"""Operators on 8-bit integers with ranges."""

from . import (  # noqa: F401 - importing a family registers its operators
    fused_attention,
    fused_layers,
    int8_arithmetic,
    quantize,
    quantized_layers,
    quantized_tensors,
)
