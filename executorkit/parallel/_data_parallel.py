"""The base class of everything that trains a symbol on several devices."""

from __future__ import annotations

from collections.abc import Sequence

from ._data_parallel_core import DataParallelCore


class DataParallel:
    """An executor group, a manager of groups, or a module: slices of a batch on several devices.

    core
        the arrays and programs of all devices, as they are bound now.
    output_layouts
        the batch axis of each output, -1 without one; None: the first axis of each.
    """

    core: DataParallelCore
    output_layouts: Sequence[int] | None = None
