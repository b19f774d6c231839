"""Convolution kernels: one entry per operation, with the algorithm that runs best on the platform.

``convolve`` and ``conv_transpose`` choose between XLA's own convolution and the algorithms of this
folder, which are faster on CPUs (``dispatch`` has the table); ``pointwise_matmul`` is the
convolution with a kernel of one element. ``use_winograd`` and ``prepared_weights`` are contexts in
which a program is traced.
"""

from .conv_dims import ConvDims
from .dispatch import conv_transpose, convolve, pointwise_matmul
from .winograd import (
    WINOGRAD_SETTINGS,
    prepared_weights,
    use_winograd,
    winograd_default,
    winograd_in,
)

__all__ = [
    "WINOGRAD_SETTINGS",
    "ConvDims",
    "conv_transpose",
    "convolve",
    "pointwise_matmul",
    "prepared_weights",
    "use_winograd",
    "winograd_default",
    "winograd_in",
]
