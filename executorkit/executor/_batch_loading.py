"""Batches copied into bound arrays."""

from collections.abc import Sequence
from typing import Any

from ..errors import BatchError
from ..ndarray import NDArray


def load_arrays(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copies each array into its target: an array, or a list of pairs (rows, array)."""
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        rows = target[-1][0].stop
        if source.shape[0] != rows:
            raise BatchError("batch", f"{source.shape[0]} rows, expected {rows}")
        for part, array in target:
            source[part].copyto(array)


def load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the data of a batch, as :func:`load_arrays`."""
    load_arrays(batch.data, targets)


def load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the labels of a batch, as :func:`load_arrays`."""
    load_arrays(batch.label, targets)
