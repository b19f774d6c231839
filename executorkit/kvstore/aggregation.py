"""The sum of gradients: where it is taken, and the store of a training loop."""

import os
from collections.abc import Iterable
from enum import Enum
from typing import Any

import jax

from ..errors import InputTypeError

#: Number of elements of a parameter above which a 'local' store only sums.
_LARGE_PARAMETER = 16 * 1024 * 1024


class Aggregation(Enum):
    """The place of the sum of gradients before an update. MXNet keeps parameters in the store or
    with the devices, by the store, the environment and the size of the parameters; results are
    equal, so here they are always with the devices. Only stores that compress gradients, and users'
    classes (``KVStoreBase.register``), are called: ``pushpull`` gets gradients, and a store with
    the capability 'optimizer' updates."""

    NONE = "each device follows its own gradients"
    DEVICES = "a program sums over this process's devices"
    JOB = "a program sums over the devices of all processes, which call it together"
    STORE = "the store sums"

    @classmethod
    def of(cls, store: object) -> "Aggregation":
        if store is None:
            return cls.NONE
        from ._kvstore import KVStore

        if not isinstance(store, KVStore) or store.compresses:
            return cls.STORE
        return cls.JOB if "dist" in store.type and jax.process_count() > 1 else cls.DEVICES


def choose_store(kvstore: object, num_device: int, sizes: Iterable[int]) -> tuple[Any, bool]:
    """Returns the store for a training loop, or None, and True if it updates the parameters.
    TypeError if ``kvstore`` is of another type.

    kvstore
        a store, the name of one, or None.
    num_device
        number of devices; one device alone needs no store unless it is a 'dist' one.
    sizes
        number of elements of each parameter: if one is large, a 'local' store only sums gradients.

    The environment variable ``MXNET_UPDATE_ON_KVSTORE=0`` has every store only sum.
    """
    update_on_kvstore = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    is_name = isinstance(kvstore, str)
    if kvstore is None or (is_name and num_device == 1 and "dist" not in kvstore):
        return None, False
    from ._kvstore import KVStoreBase, create

    if is_name:
        store = create(kvstore)
        if kvstore == "local" and max(sizes) > _LARGE_PARAMETER:
            update_on_kvstore = False
    elif isinstance(kvstore, KVStoreBase):
        store = kvstore
    else:
        problem = f"a {type(kvstore).__name__}, expected a KVStore, a name or None"
        raise InputTypeError("kvstore", problem)
    return store, update_on_kvstore and store.is_capable(KVStoreBase.OPTIMIZER)
