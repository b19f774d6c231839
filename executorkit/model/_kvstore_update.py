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
    # As in MXNet, one device alone needs no store unless it is a 'dist' one; a 'local' store only
    # sums gradients if a parameter is large, as does every store with MXNET_UPDATE_ON_KVSTORE=0.
    return kvs.choose_store(kvstore, num_device, (a.size for a in arg_params.values()))


def _initialize_kvstore(
    kvstore: Any,
    param_arrays: Sequence[PerDevice],
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Puts the parameters in a store under their names. If the store updates parameters, the arrays
    of all devices are given the stored values."""
    rows = list(zip(param_names, param_arrays, strict=False))
    if isinstance(kvstore, kvs.KVStore) and rows:
        names, values = [n for n, _ in rows], [arg_params[n] for n, _ in rows]
        if update_on_kvstore:
            kvstore.broadcast(names, values, out=[arrays for _, arrays in rows])
        else:
            kvstore.init(names, values)
        return
    for name, arrays in rows:
        if update_on_kvstore:
            kvstore.broadcast(name, arg_params[name], out=list(arrays))
        else:
            kvstore.init(name, arg_params[name])


def _update_params_on_kvstore(
    param_arrays: Sequence[PerDevice],
    grad_arrays: Sequence[PerDevice | None],
    kvstore: Any,
    param_names: Sequence[str],
) -> None:
    _push_and_pull(kvstore, param_names, _with_gradients(param_arrays, grad_arrays))


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
        called once per device with tuples (indices, gradients, parameters). Parameter i of device k
        has the index ``i * num_device + k``, so that each device has optimizer states of its own.
    param_names
        the keys of the parameters in the store.

    Without a store devices follow their own gradients. Parameters without gradients are left out.
    """
    rows = _with_gradients(param_arrays, grad_arrays)
    if kvstore:
        assert param_names is not None
        _push_and_pull(kvstore, param_names, [(i, grads, grads) for i, grads, _ in rows])
    updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in range(num_device)]
    for index, grads, params in rows:
        for k, (param, grad) in enumerate(zip(params, grads, strict=True)):
            updates[k].append((index * num_device + k, grad, param))
    for update in updates:
        if update:
            updater(*zip(*update, strict=True))


#: The number of a parameter with its gradients and the arrays that are written.
_Row = tuple[int, PerDevice, PerDevice]


def _with_gradients(
    param_arrays: Sequence[PerDevice], grad_arrays: Sequence[PerDevice | None]
) -> list[_Row]:
    return [
        (index, grads, params)
        for index, (params, grads) in enumerate(zip(param_arrays, grad_arrays, strict=False))
        if grads is not None and (isinstance(grads, ReplicatedArray) or grads[0] is not None)
    ]


def _push_and_pull(store: Any, names: Sequence[str], rows: Sequence[_Row]) -> None:
    if isinstance(store, kvs.KVStore) and rows:
        indices, pushed, pulled = map(list, zip(*rows, strict=True))
        store.pushpull([names[i] for i in indices], pushed, out=pulled)
        return
    for index, grads, outs in rows:
        store.pushpull(names[index], list(grads), out=list(outs), priority=-index)
