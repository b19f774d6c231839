"""Operators on 8-bit integers with ranges."""

from . import fused_attention, fused_layers, quantize, quantized_layers, quantized_tensors
