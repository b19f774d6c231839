"""Views of arrays: a row of statistics for each of many, statistics and a corner of one."""

import math
from collections.abc import Sequence

import numpy as np

from .. import display
from ._ndarray import NDArray
from .array_statistics import Statistics, statistics

#: Columns of :func:`statistics_cells`.
STATISTICS_COLUMNS = ("mean", "std", "min", "max", "NaN", "Inf", "histogram")
#: Indices of the right-aligned ones among these columns.
RIGHT_ALIGNED = range(6)

#: Maximum numbers of rows and columns that are printed.
_PREVIEW = (6, 8)


def statistics_cells(array: Statistics) -> list[display.Cell]:
    """Returns cells for ``STATISTICS_COLUMNS``; counts of NaNs and infinities stand out."""
    not_finite: list[display.Cell] = [
        display.Emphasis(display.count(n)) if n else "0" for n in (array.nans, array.infs)
    ]
    moments = [display.value(x) for x in (array.mean, array.std, array.low, array.high)]
    return [*moments, *not_finite, display.Sparkline(array.counts)]


@display.view_of.register
def array_view(array: NDArray) -> display.View:
    """Shows shape, dtype, context, size, statistics, and the first elements."""
    dtype = array.storage.dtype
    size = display.scaled(array.size * dtype.itemsize, "B", 1024)
    title = f"NDArray {array.shape} {dtype.name} @{array.context}, {size}"
    if not array.size:
        return display.View(title)
    host = array.host
    table = display.Table(STATISTICS_COLUMNS, [statistics_cells(statistics(host))], RIGHT_ALIGNED)
    sizes = array.shape
    lengths = [1] * max(0, len(sizes) - 2) + list(_PREVIEW[-len(sizes) :] if sizes else ())
    corner = host[tuple(slice(0, n) for n in lengths)]
    return display.View(title, [table, display.Lines(_preview(corner, sizes))])


def _preview(corner: np.ndarray, sizes: Sequence[int]) -> list[str]:
    with np.printoptions(precision=4, suppress=False, threshold=math.prod(_PREVIEW)):
        text = str(corner)
    lines = text.split("\n")
    if corner.shape != tuple(sizes):
        lines.append(f"the first {corner.shape} of {tuple(sizes)}")
    return lines
