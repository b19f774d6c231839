"""``mx.gluon.contrib.nn``: parallel layers, pixel shuffles, normalization over devices."""

from . import basic_layers as basic_layers
from .basic_layers import (
    Concurrent as Concurrent,
    HybridConcurrent as HybridConcurrent,
    Identity as Identity,
    PixelShuffle1D as PixelShuffle1D,
    PixelShuffle2D as PixelShuffle2D,
    PixelShuffle3D as PixelShuffle3D,
    SparseEmbedding as SparseEmbedding,
    SyncBatchNorm as SyncBatchNorm,
)
