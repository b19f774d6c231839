"""Metrics over the devices of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ndarray import NDArray
from ._batch import slice_array
from ._group import DataParallelCore

Update = Callable[[Sequence[NDArray], Sequence[NDArray]], Any]


def update_metric(
    group: DataParallelCore,
    labels: Sequence[Any],
    pre_sliced: bool,
    axes: Sequence[int],
    update: Update,
) -> None:
    """Calls ``update(labels, outputs)`` for each device, with its part of the labels.

    Each device by itself, as in MXNet: some metrics are means over updates. The parts of the
    labels are brought to the devices, where the outputs are; nothing comes to the host.
    """
    if pre_sliced:
        parts = list(labels)
    else:
        axes = [*axes, *[0] * (len(labels) - len(axes))]
        cut = [
            slice_array(label, group.slices, axis, group.contexts, f"update_metric: label {i}")
            for i, (label, axis) in enumerate(zip(labels, axes, strict=False))
        ]
        parts = [[arrays[k] for arrays in cut] for k in range(len(group.contexts))]
    for k, own in enumerate(parts):
        update(own, [output[k] for output in group.outputs])
