"""``mx.gluon.contrib.cnn``: deformable convolutions."""

from . import conv_layers as conv_layers
from .conv_layers import (
    DeformableConvolution as DeformableConvolution,
    ModulatedDeformableConvolution as ModulatedDeformableConvolution,
)
