"""Operators on 8-bit integers with ranges."""

from . import (
    fused_attention,
    fused_layers,
    int8_arithmetic,
    quantize,
    quantized_layers,
    quantized_tensors,
)
