"""Operators on arrays: arithmetic, shapes, indexing, linear algebra."""

from . import (
    binary_arithmetic,
    broadcast,
    cast,
    constants,
    derivatives,
    elemwise,
    indexing,
    join,
    linear_algebra,
    matmul,
    ordering,
    reduce,
    shape,
    slicing,
    spectral,
    tiling,
)
