"""Convolution kernels: the algorithm that runs best on the platform (``dispatch`` has the
table)."""

from . import native as native_convolution
from .conv_dims import ConvDims as ConvDims
from .dispatch import (
    conv_transpose as conv_transpose,
    convolve as convolve,
    is_native as is_native,
    pointwise_matmul as pointwise_matmul,
    xla_conv as xla_conv,
)
from .winograd import (
    WINOGRAD_SETTINGS as WINOGRAD_SETTINGS,
    prepared_weights as prepared_weights,
    use_winograd as use_winograd,
    winograd_default as winograd_default,
    winograd_in as winograd_in,
)
