"""What notebooks show of arrays: a row of statistics for each, and a corner of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

from ..display import Cell, Emphasis, Lines, Sparkline, Table, View, count, scaled
from ..display import value as shown
from .array_statistics import Statistics, host_statistics, statistics

if TYPE_CHECKING:
    from ._ndarray import NDArray

#: Columns of :func:`statistics_cells`.
STATISTICS_COLUMNS = ("mean", "std", "min", "max", "NaN", "Inf", "histogram")
#: Numbers of columns that are aligned to the right, counted from the first of them.
RIGHT_ALIGNED = range(6)

#: Arrays of so many elements are looked at on the host; repr brings them there too.
_ON_HOST = 2**18
_PREVIEW = (6, 8)


def statistics_cells(found: Statistics) -> list[Cell]:
    """Cells for the columns ``STATISTICS``; what is not finite stands out."""
    odd: list[Cell] = [Emphasis(count(n)) if n else "0" for n in (found.nans, found.infs)]
    measured = [shown(x) for x in (found.mean, found.std, found.low, found.high)]
    return [*measured, *odd, Sparkline(found.counts)]


def array_view(array: NDArray) -> View:
    """Shape, dtype and place, statistics, and the first elements."""
    dtype = array.storage.dtype
    size = scaled(array.size * dtype.itemsize, "B", 1024)
    title = f"NDArray {array.shape} {dtype.name} @{array.context}, {size}"
    if not array.size:
        return View(title)
    value = array.value
    if array.size <= _ON_HOST:
        host = np.asarray(value)
        found, corner = host_statistics(host), host[_corner(array.shape)]
    else:
        with jax.enable_x64(True):
            corner = np.asarray(value[_corner(array.shape)])
        found = statistics([value])[0]
    table = Table(STATISTICS_COLUMNS, [statistics_cells(found)], RIGHT_ALIGNED)
    return View(title, [table, Lines(_preview(corner, array.shape))])


def _corner(sizes: Sequence[int]) -> tuple[slice, ...]:
    """What is shown: the first rows and columns of the first matrix."""
    kept = [1] * max(0, len(sizes) - 2) + list(_PREVIEW[-len(sizes) :] if sizes else ())
    return tuple(slice(0, n) for n in kept)


def _preview(corner: np.ndarray, sizes: Sequence[int]) -> list[str]:
    with np.printoptions(precision=4, suppress=False, threshold=math.prod(_PREVIEW)):
        text = str(corner)
    lines = text.split("\n")
    if corner.shape != tuple(sizes):
        lines.append(f"the first {corner.shape} of {tuple(sizes)}")
    return lines
