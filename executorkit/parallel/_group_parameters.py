"""Parameters of a group as a whole: set on all devices alike, read as the mean over the devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..errors import BindError, ShapeError
from ..executor import convert_for
from ..ndarray import NDArray
from ..ndarray.rollback import complete
from ..ndarray.values import fit
from ._batch_transfer import mean_over_devices
from ._data_parallel_core import DataParallelCore
from ._pmap_program import reduce_replicated
from ._replicated_array import PerDevice, ReplicatedArray


def set_parameters(
    group: DataParallelCore,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any] | None,
    allow_extra: bool = False,
) -> None:
    """Copies arrays by name to all devices, converted to the bound dtypes.

    Raises ValueError for a name that the symbol does not have, unless ``allow_extra``, and for a
    wrong shape; nothing is copied then. Arrays that are not named keep their contents.
    """
    writes = []
    for params, names, arrays, what in (
        (arg_params, group.arg_names, group.arg_arrays, "argument"),
        (aux_params or {}, group.aux_names, group.aux_arrays, "auxiliary state"),
    ):
        for name, value in params.items():
            if name in names:
                where = f"set_params: {what} {name!r}"
                writes += _parameter_writes(arrays[names.index(name)], value, where)
            elif not allow_extra:
                raise BindError(
                    "set_params",
                    f"{name!r} is not an {what} of this symbol",
                    hint="allow_extra=True to skip such names",
                )
    complete(lambda: [target.assign(value, shared) for target, value, shared in writes])


def _parameter_writes(
    arrays: PerDevice, value: Any, where: str
) -> list[tuple[Any, jax.Array, bool]]:
    if isinstance(arrays, ReplicatedArray):
        if value.shape != arrays.shape:
            raise ShapeError(where, f"shape {value.shape}, expected {arrays.shape}")
        one = fit(value, arrays.shape, arrays.dtype, arrays.replicas.devices[0], where).value
        return [(arrays, arrays.replicas.broadcast(one), False)]
    writes = []
    for array in arrays:
        fitted = convert_for(value, array, where)
        writes.append((array, fitted.value, fitted.shared))
    return writes


def mean_parameters(
    names: Sequence[str], arrays: Sequence[PerDevice], into: Mapping[str, NDArray]
) -> None:
    """Writes the means over the devices (of all processes) to the NDArrays of the same names.

    KeyError for a name that ``into`` does not have. With several processes each of them has to
    call this: they wait for each other.
    """
    if jax.process_count() > 1:
        arrays = all_reduce(arrays, mean=True)
    for name, members in zip(names, arrays, strict=True):
        target = into[name]
        device = target.context.device
        value = mean_over_devices(members, target.context)
        dtype = target.storage.dtype
        target.assign(*fit(value, target.shape, dtype, device, f"get_params: {name!r}"))


def all_reduce(arrays: Sequence[PerDevice], mean: bool = False) -> list[PerDevice]:
    """The sum (or mean) over the devices of all processes, of each of several parameters.

    arrays
        ``group.grad_arrays``, say: for each parameter the arrays of all devices.

    Returns the same structure with new arrays, in which every device has the sum. Stacked arrays
    are reduced by one program, on the devices; others on the device of the first.
    """
    results: list[PerDevice] = list(arrays)
    stacks = {i: a for i, a in enumerate(arrays) if isinstance(a, ReplicatedArray)}
    if stacks:
        replicas = next(iter(stacks.values())).replicas
        values = reduce_replicated(replicas, [a.value for a in stacks.values()], mean)
        for (i, old), value in zip(stacks.items(), values, strict=True):
            results[i] = ReplicatedArray(old.contexts, old.shape, old.dtype, value)
    for i, members in enumerate(arrays):
        if not isinstance(members, ReplicatedArray):
            results[i] = _reduce_one_by_one(members, mean)
    return results


def _reduce_one_by_one(members: Sequence[NDArray], mean: bool) -> list[NDArray]:
    first = members[0]
    total = first.copy()
    for other in members[1:]:
        total += other.as_in_context(first.context)
    if mean:
        total /= len(members)
    return [total.copyto(m.context) for m in members]
