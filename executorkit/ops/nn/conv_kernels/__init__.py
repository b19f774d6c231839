"""Convolution kernels: one entry per operation, with the algorithm that runs best on the platform.

``convolve`` and ``conv_transpose`` choose between XLA's own convolution and the algorithms of this
folder, which are faster on CPUs (``dispatch`` has the table).
"""

from .conv_dims import ConvDims as ConvDims
from .dispatch import (
    conv_transpose as conv_transpose,
    convolve as convolve,
    pointwise_matmul as pointwise_matmul,
)
from .winograd import (
    WINOGRAD_SETTINGS as WINOGRAD_SETTINGS,
    prepared_weights as prepared_weights,
    use_winograd as use_winograd,
    winograd_default as winograd_default,
    winograd_in as winograd_in,
)
