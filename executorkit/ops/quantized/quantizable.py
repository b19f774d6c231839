"""Operators that MXNet's quantisation replaces by one on 8-bit integers, and how.

A quantised operator takes the tensors of the original, and then the least and greatest value of
each tensor that is quantised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantizable:
    """The replacement of one operator.

    name
        the quantised operator.
    essential
        True if it is worth quantising by itself; others are only between two that are.
    requantized
        True if its results are 32-bit sums, which are converted to 8 bits next.
    quantized_inputs
        numbers of the inputs that are quantised; None for all.
    calibrated
        True if the range of its results is an attribute of it.
    offline_only
        True if its quantised inputs have to be parameters.
    required
        values of attributes, each with those that the quantised operator can have.
    """

    name: str
    essential: bool = False
    requantized: bool = False
    quantized_inputs: tuple[int, ...] | None = None
    calibrated: bool = False
    offline_only: bool = False
    required: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def accepts(self, attrs: Mapping[str, str]) -> bool:
        """True if the quantised operator serves these attributes."""
        return all(attrs.get(name, values[0]) in values for name, values in self.required)


QUANTIZABLE: Mapping[str, Quantizable] = {
    "Activation": Quantizable("_contrib_quantized_act", required=(("act_type", ("relu",)),)),
    "BatchNorm": Quantizable(
        "_contrib_quantized_batch_norm", quantized_inputs=(0,), calibrated=True
    ),
    "Concat": Quantizable("_contrib_quantized_concat"),
    "Convolution": Quantizable("_contrib_quantized_conv", essential=True, requantized=True),
    "Embedding": Quantizable(
        "_contrib_quantized_embedding", quantized_inputs=(1,), offline_only=True
    ),
    "Flatten": Quantizable("_contrib_quantized_flatten"),
    "FullyConnected": Quantizable(
        "_contrib_quantized_fully_connected", essential=True, requantized=True
    ),
    "Pooling": Quantizable("_contrib_quantized_pooling", required=(("pool_type", ("max", "avg")),)),
    "elemwise_add": Quantizable("_contrib_quantized_elemwise_add", requantized=True),
    "elemwise_mul": Quantizable("_contrib_quantized_elemwise_mul", requantized=True),
}
