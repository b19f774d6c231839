"""Lists of images with their labels: files of lines with tabs, and Python's lists."""

from typing import Any

import numpy as np

from .. import ndarray as nd
from ..errors import DataArgumentError, FileFormatError
from ..ndarray import NDArray


def _labels(values: object, dtype: str, where: str) -> NDArray:
    try:
        return nd.array(np.array(values, np.dtype(dtype)), dtype=dtype)
    except (TypeError, ValueError):
        raise DataArgumentError(where, f"{values!r} are not labels") from None


def listed_in_file(path: str, dtype: str) -> dict[Any, tuple[NDArray, str]]:
    """Returns labels and paths by number, from a file of lines with tabs."""
    listed = {}
    try:
        with open(path) as lines:
            for number, line in enumerate(lines, 1):
                key, *labels, name = line.strip().split("\t")
                listed[int(key)] = _labels(labels, dtype, f"{path}, line {number}"), name
    except ValueError as error:
        if isinstance(error, DataArgumentError):
            raise
        problem = f"line {number} is {line.rstrip()!r}, expected a number, labels and a path"
        raise FileFormatError(path, f"{problem}, separated by tabs") from None
    return listed


def listed(entries: list[Any], dtype: str) -> dict[Any, tuple[NDArray, str]]:
    """Returns labels and paths by '1', '2', ..., from a list of [label, ..., path]."""
    listed = {}
    for number, entry in enumerate(entries, 1):
        labels = entry[:-1] if len(entry) > 2 else entry[0]
        if isinstance(labels, int | float | np.generic):
            labels = [labels]
        listed[str(number)] = _labels(labels, dtype, f"imglist[{number - 1}]"), entry[-1]
    return listed
