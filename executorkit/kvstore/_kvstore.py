"""``KVStore``, the store of this package, and ``create``, which makes stores by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.experimental import multihost_utils

from .. import optimizer as opt
from .._files import naming, write_atomically
from ..display import brief, many
from ..errors import InputTypeError, KVStoreError
from ..parallel import ReplicatedArray
from ..processes import connect, process_count, process_index
from ._key_value_table import KeyValueTable, arrays_by_key
from ._kvstore_base import KVStoreBase

_LOCAL = ("local", "local_update_cpu", "local_allreduce_cpu")
_DEVICE = ("device", "local_allreduce_device", "nccl")
_DIST = (
    "dist", "dist_sync", "dist_async", "dist_device_sync", "dist_sync_device", "dist_device_async",
)  # fmt: skip


def create(name: str = "local") -> Any:
    """Makes a store by name, upper or lower case: see ``help(mx.kv)`` for the names. A 'dist' store
    joins the processes of the job, if the environment names several. Raises TypeError if ``name``
    is not a str, MXNetError for an unknown store, or if the processes cannot be joined."""
    if not isinstance(name, str):
        raise InputTypeError("kvstore: create", f"a {type(name).__name__} as name, expected a str")
    registered = KVStoreBase.kv_registry.get(name.lower())
    return KVStore(name) if registered is None else registered()


class KVStore(KVStoreBase):
    """Arrays by key; pushed arrays replace them, or update them if there is an optimizer.

    Keys are ints or strs, one of the two in a store. Each method takes one, or a list of them with
    one array (or list of arrays, which ``push`` sums) for each; everything is checked first. All
    methods return at once, and ``priority`` changes nothing: JAX orders dependent operations.

    >>> import executorkit as mx
    >>> store, out = create("local"), mx.nd.zeros((2,))
    >>> store.init("w", mx.nd.ones((2,)))
    >>> store.push("w", [mx.nd.array([1, 2]), mx.nd.array([10, 20])])
    >>> store.pull("w", out=out)
    >>> out.asnumpy().tolist()
    [11.0, 22.0]
    """

    def __init__(self, name: str = "local") -> None:
        name = name.lower()
        if name not in (*_LOCAL, *_DEVICE, *_DIST):
            hint = " or ".join(map(repr, ("local", "device", "nccl", *_DIST)))
            raise KVStoreError(f"kvstore {name!r}", "unknown store", hint=hint)
        self._name = name
        if name in _DIST:
            connect(f"kvstore {name!r}")
        on_first_device = "device" in name or name == "nccl"
        self._table = KeyValueTable(on_first_device=on_first_device, dist=name in _DIST)
        self._updater: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        updates = "updated by an optimizer" if self._updater is not None else ""
        workers = f"worker {self.rank} of {self.num_workers}"
        return brief(self, repr(self._name), [many(len(self._table), "key"), workers, updates])

    @property
    def type(self) -> str:
        return self._name

    @property
    def rank(self) -> int:
        return process_index() if self._table.dist else 0

    @property
    def num_workers(self) -> int:
        return process_count() if self._table.dist else 1

    @property
    def compresses(self) -> bool:
        """True once :meth:`set_gradient_compression` has been called."""
        return self._table.threshold is not None

    def is_capable(self, capability: str) -> bool:
        """Returns True for 'optimizer'; ValueError for other capabilities."""
        if capability.lower() != self.OPTIMIZER:
            raise KVStoreError("is_capable", f"{capability!r} is not a known capability")
        return True

    def init(self, key: object, value: object) -> None:
        """Adds keys with copies of their arrays, of process 0 in a dist store. MXNetError for a key
        that the store has."""
        self._table.add(arrays_by_key(key, value, "init"))

    def share(self, key: object, value: object) -> None:
        """Adds keys without copies: writes to an array are seen in the store, and the reverse while
        an updater updates it. For a trainer with one device in one process."""
        self._table.add(arrays_by_key(key, value, "init"), shared=True)

    def follow(self, keys: Sequence[Any], arrays: Sequence[ReplicatedArray]) -> bool:
        """Lets arrays of keys show the first of replicated members with their contents, until
        another array is stored. False, with nothing changed, if one is on another device."""
        return self._table.follow(keys, arrays)

    def push(self, key: object, value: object, priority: int = 0) -> None:
        """Stores the sum of the arrays of each key, over the processes too in a dist store, or
        calls the updater with (key, sum, stored array).

        The sum has the dtype of the first array pushed. Raises MXNetError for an unknown key, and
        for arrays of other shapes than the stored one (MXNet stores them).
        """
        self._table.push(arrays_by_key(key, value, "push"), self._updater, "push")

    def pull(
        self, key: object, out: object = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Writes each key's array to all arrays in ``out``, converted to their dtypes.
        ``ignore_sparse`` has no effect: all arrays are dense."""
        if out is None:
            raise InputTypeError("pull", "out is None, expected NDArrays")
        self._table.pull(arrays_by_key(key, out, "pull"), "pull")

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Does ``push``, then ``pull`` into ``out``, or into the arrays that were pushed."""
        values = arrays_by_key(key, value, "pushpull")
        outs = values if out is None else arrays_by_key(key, out, "pushpull")
        if self._updater is None:
            values, outs = self._table.reduce_in_place(values, outs, "pushpull")
        self._table.push(values, self._updater, "pushpull")
        self._table.pull(outs, "pushpull")

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Does :meth:`init` of ``key`` with ``value``, then :meth:`pull` into ``out``. ``priority``
        has no effect."""
        outs = arrays_by_key(key, out, "broadcast")
        self._table.add(arrays_by_key(key, value, "broadcast"))
        self._table.pull(outs, "broadcast")

    def row_sparse_pull(
        self, key: object, out: object = None, priority: int = 0, row_ids: object = None
    ) -> None:
        """Raises MXNetError for any arguments, as MXNet does for arrays that are not row_sparse."""
        if out is None or row_ids is None:
            raise InputTypeError("row_sparse_pull", "out or row_ids is None")
        problem, hint = "sparse storage is not served", "pull(key, out=...)"
        raise KVStoreError("row_sparse_pull", problem, hint=hint)

    def set_updater(self, updater: Callable[..., Any]) -> None:
        """Makes ``push`` call ``updater(key, sum, stored)``, which writes to the stored NDArray. A
        str key comes as a str (in MXNet as bytes)."""
        self._updater = updater

    _set_updater = set_updater

    @property
    def _updater_func(self) -> Callable[..., Any] | None:
        return self._updater

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes ``push`` update the stored arrays by an :class:`executorkit.optimizer.Optimizer`.
        In a dist store every process makes the same update (in MXNet the servers make it)."""
        self.set_updater(opt.get_updater(optimizer))

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Rounds pushed arrays to two bits, and adds the remainder to the next push.

        compression_params
            ``{"type": "2bit", "threshold": 0.5}``: values become -threshold, 0 or threshold. Other
            entries are ignored.

        In a 'device' store each pushed array is rounded, in a dist store each process's sum. The
        numbers equal MXNet's; messages are as long as without compression. MXNetError for other
        stores, types, and thresholds that are not positive.
        """
        where = "set_gradient_compression"
        if "device" not in self._name and not self._table.dist:
            raise KVStoreError(where, f"a {self._name!r} store does not compress")
        if not isinstance(compression_params, Mapping):
            raise InputTypeError(where, f"{compression_params!r}, expected a dict")
        kind = compression_params.get("type")
        if kind != "2bit":
            raise KVStoreError(where, f"type {kind!r}, expected '2bit'")
        threshold = float(compression_params.get("threshold", 0.5))
        if not threshold > 0:
            raise KVStoreError(where, f"threshold {threshold:g}, expected more than 0")
        self._table.threshold = threshold

    def save_optimizer_states(self, fname: Any, dump_optimizer: bool = False) -> None:
        updater = self._with_states("save_optimizer_states")
        write_atomically(fname, [updater.get_states(dump_optimizer)])

    def load_optimizer_states(self, fname: Any) -> None:
        updater = self._with_states("load_optimizer_states")
        with naming(fname):
            updater.set_states(opt.read_state_file(fname))

    def barrier(self) -> None:
        """Waits until every process of a dist store calls this."""
        if self.num_workers > 1:
            multihost_utils.sync_global_devices("kvstore barrier")

    _barrier = barrier

    def _with_states(self, where: str) -> Any:
        if self._updater is None:
            hint = "set_optimizer(optimizer) first"
            raise InputTypeError(where, "it has no optimizer", hint=hint)
        return self._updater


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The smallest store: it sums over the devices and stores nothing. ``create("teststore")``."""

    __test__ = False  # not a class of tests

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        for array in _listed(out):
            array[:] = value

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        values = _listed(value)
        total = values[0].copy()
        for other in values[1:]:
            total += other.as_in_context(total.context)
        for array in values if out is None else _listed(out):
            array[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise KVStoreError("is_capable", f"{capability!r} is not a known capability")
        return False

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def _listed(arrays: object) -> list[Any]:
    return list(arrays) if isinstance(arrays, list | tuple) else [arrays]
