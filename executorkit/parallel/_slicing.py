"""Slices of a batch: the rows that each device gets."""

import math
from collections.abc import Sequence

from ..errors import BatchError


def split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """One slice of the batch for each device, in proportion to its workload.

    Each share is rounded to the nearest number of rows (half to even), the last device gets the
    rest: MXNet's slices. Where rounding up would leave the last devices nothing (6 rows on
    4 devices, which MXNet refuses), the rows are cut at the rounded sums of the shares instead,
    at least one row each.

    Raises :class:`BatchError` (a ValueError) if there are fewer rows than devices, or a workload
    that is not positive.

    >>> split_input_slice(10, [1, 2, 1])
    [slice(0, 2, None), slice(2, 7, None), slice(7, 10, None)]
    >>> split_input_slice(6, [1, 1, 1, 1])
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None), slice(5, 6, None)]
    """
    loads = list(work_load_list)
    _check(batch_size, loads)
    total = sum(loads)
    sizes = [round(load * batch_size / total) for load in loads]
    left = batch_size - sum(sizes[:-1])
    sizes[-1] = left if sum(sizes) < batch_size else min(sizes[-1], left)
    stops = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    if min(sizes) < 1:
        stops = _spread(batch_size, loads, total)
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _spread(batch_size: int, loads: Sequence[float], total: float) -> list[int]:
    """The stops of slices at the sums of the exact shares, rounded, and one row apart."""
    stops, share = [], 0.0
    for k, load in enumerate(loads, start=1):
        share += load
        stop = math.floor(share * batch_size / total + 0.5)
        first = stops[-1] + 1 if stops else 1
        stops.append(min(max(stop, first), batch_size - (len(loads) - k)))
    return stops


def _check(batch_size: int, loads: Sequence[float]) -> None:
    request = f"batch of {batch_size} rows, {len(loads)} devices, workloads {loads}"
    if not loads:
        problem, hint = "there is no device to divide a batch over", "give at least one context"
    elif not all(load > 0 for load in loads):
        problem, hint = "every workload must be positive", "leave the context out instead"
    elif batch_size < len(loads):
        problem = f"{batch_size} rows cannot be divided over {len(loads)} devices"
        hint = f"a batch of at least {len(loads)} rows, or fewer contexts"
    else:
        return
    raise BatchError("slicing", problem, given_by=request, hint=hint)
