"""Parameter updates of training loops: through a key-value store, or by an updater.

The functions keep MXNet's names, underscores included: training scripts import them.

    params, grads, names = group.param_arrays, group.grad_arrays, group.param_names
    kvstore, update_on_kvstore = _create_kvstore("device", len(contexts), arg_params)
    if update_on_kvstore:
        kvstore.set_optimizer(optimizer)
    if kvstore:
        _initialize_kvstore(kvstore, params, arg_params, names, update_on_kvstore)
    ...                                                    # after backward of each batch:
    if update_on_kvstore:
        _update_params_on_kvstore(params, grads, kvstore, names)
    else:
        _update_params(params, grads, updater, len(contexts), kvstore, names)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import kvstore as kvs
from ..ndarray import NDArray
from ..parallel import PerDevice, ReplicatedArray


def _create_kvstore(
    kvstore: Any, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[Any, bool]:
    """The store for a training loop, or None, and True if it updates the parameters.

    kvstore
        a store, the name of one, or None.
    num_device
        number of devices; one device alone needs no store unless it is a 'dist' one.
    arg_params
        the parameters: if one of them is large, a 'local' store only sums gradients.

    The environment variable ``MXNET_UPDATE_ON_KVSTORE=0`` has every store only sum. TypeError if
    ``kvstore`` is of another type.
    """
    return kvs.choose_store(kvstore, num_device, (a.size for a in arg_params.values()))


def _initialize_kvstore(
    kvstore: Any,
    param_arrays: Sequence[PerDevice],
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Puts the parameters in a store under their names.

    param_arrays
        for each of ``param_names`` the arrays of all devices; if the store updates parameters,
        they are given the stored values.
    """
    for name, arrays in zip(param_names, param_arrays, strict=False):
        if update_on_kvstore:
            kvstore.broadcast(name, arg_params[name], out=_arrays_for(kvstore, arrays))
        else:
            kvstore.init(name, arg_params[name])


def _update_params_on_kvstore(
    param_arrays: Sequence[PerDevice],
    grad_arrays: Sequence[PerDevice | None],
    kvstore: Any,
    param_names: Sequence[str],
) -> None:
    """Pushes the gradients of all devices, and pulls the parameters that the store updated.

    A parameter whose gradients are None is left out.
    """
    for index, (params, grads) in enumerate(zip(param_arrays, grad_arrays, strict=False)):
        if grads is not None and not _without_gradients(grads):
            kvstore.pushpull(
                param_names[index],
                _arrays_for(kvstore, grads),
                out=_arrays_for(kvstore, params),
                priority=-index,
            )


#: MXNet pushes several keys at once to its NCCL store.
_update_params_on_kvstore_nccl = _update_params_on_kvstore


def _update_params(
    param_arrays: Sequence[PerDevice],
    grad_arrays: Sequence[PerDevice | None],
    updater: Callable[..., Any],
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Updates the parameters on each device; a store, if there is one, sums the gradients first.

    updater
        called once per device with tuples (indices, gradients, parameters). Parameter i of device
        k has the index ``i * num_device + k``, so that each device has optimizer states of its own.
    param_names
        the keys of the parameters in the store.

    Without a store every device follows its own gradients. A parameter whose gradients are None is
    left out.
    """
    updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in range(num_device)]
    for index, (params, grads) in enumerate(zip(param_arrays, grad_arrays, strict=False)):
        if grads is None or _without_gradients(grads):
            continue
        if kvstore:
            assert param_names is not None
            kvstore.pushpull(param_names[index], _arrays_for(kvstore, grads), priority=-index)
        for k, (param, grad) in enumerate(zip(params, grads, strict=True)):
            updates[k].append((index * num_device + k, grad, param))
    for update in updates:
        if update:
            updater(*zip(*update, strict=True))


def _arrays_for(store: Any, arrays: PerDevice) -> PerDevice:
    """Arrays as a store's methods take them: lists, unless the store takes replicated arrays."""
    return arrays if isinstance(store, kvs.KVStore) else list(arrays)


def _without_gradients(grads: PerDevice) -> bool:
    return not isinstance(grads, ReplicatedArray) and grads[0] is None
