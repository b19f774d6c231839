"""Replicated arrays: one array per device, held as a single array sharded over the devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import jax
import numpy as np

from .._support.annotations import Arrays, DType
from ..arrays.protocol import Producer
from ..arrays.storage import Shape, Storage
from ..calls.rollback import complete
from ..context import Context
from ..errors import InputTypeError
from ..ndarray import NDArray
from ..program import HostContents, MadeContents
from ._replicas import Replicas, Spec, can_replicate


class StackedPart(MadeContents):
    """The entry of a stacked array at a device's position; an array once it is read."""

    __slots__ = ("position", "replicas", "stacked")

    def __init__(self, stacked: jax.Array, replicas: Replicas, position: int) -> None:
        self.host = None
        self.stacked = stacked
        self.replicas = replicas
        self.position = position

    @property
    def shape(self) -> Shape:
        return self.stacked.shape[1:]

    @property
    def dtype(self) -> Any:
        return self.stacked.dtype

    def make(self) -> jax.Array:
        return self.replicas.split(self.stacked, self.position)


class MemberStorage(Storage):
    """The storage of a replicated array's member."""

    __slots__ = ("array", "position", "shown", "splitter")

    array: ReplicatedArray
    position: int
    #: The producer of contents that come from the stacked array.
    splitter: _MemberProducer
    #: The version that has these contents; another one was written to.
    shown: int

    def snapshot(self) -> Any:
        part = self.array.part(self.position)
        return self.value if part is None else part

    def shows(self, value: Any) -> bool:
        part = self.array.part(self.position)
        if part is None or value.__class__ is not StackedPart:
            return self.current is value
        return part.stacked is value.stacked


class ReplicatedArray(Sequence[NDArray]):
    """The arrays of one parameter (gradient, input, output) on all devices of a group.

    To scripts it is the sequence of its per-device NDArrays, its members: the next run sees what
    they write to a member. To a pmapped program it is one stacked array of shape (devices, *shape),
    whose storage is a pending value like an NDArray's for an executor.

    Members are made when one is first asked for, and their contents are split off when one is read.
    The stacked array is assembled again only if a member was written to in between, which the
    version of its storage shows. With a ``spec`` members have the whole, in the host's memory until
    it is used on a device.
    """

    __slots__ = (
        "__weakref__", "_follower", "_members", "_stacked", "_storages", "contexts", "dtype",
        "replicas", "shape",
    )  # fmt: skip

    def __init__(
        self,
        contexts: Sequence[Context],
        shape: Shape,
        dtype: DType,
        value: jax.Array | None = None,
        spec: Spec = (),
    ) -> None:
        self.contexts = tuple(contexts)
        self.replicas = Replicas.of(contexts).sharded(spec)
        self.shape = shape
        self.dtype = jax.numpy.dtype(dtype)
        if value is None:
            value = self.replicas.zeros(shape, dtype)
        self._stacked = Storage((len(self.contexts), *self._entry_shape), self.dtype, value)
        #: Empty until one is asked for.
        self._members: list[NDArray] = []
        #: Those of the members.
        self._storages: list[MemberStorage] = []
        self._follower: NDArray | None = None

    @property
    def _entry_shape(self) -> Shape:
        return self.shape

    # -- the pending value that a pmapped program sees ------------------------------------------

    @property
    def value(self) -> jax.Array:
        return self._merge() if self.has_written_members else self._stacked.value

    def compute(self) -> None:
        _ = self.value

    @property
    def current(self) -> jax.Array | None:
        return None if self.has_written_members else self._stacked.current

    @property
    def pending(self) -> Producer | None:
        if self._stacked.producer is not None or not self._storages:
            return self._stacked.pending
        producers = (storage.pending for storage in self._storages)
        return next((p for p in producers if p is not None), None)

    @property
    def source(self) -> Producer | None:
        """Returns what the stacked array waits for, whatever its members wait for."""
        return self._stacked.pending

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        if not self._storages:
            self._stacked.assign(value, shared)
        else:
            complete(lambda: (self._stacked.assign(value, shared), self._renew_members()))

    def defer(self, producer: Producer) -> None:
        if not self._storages:
            self._stacked.defer(producer)
        else:
            complete(lambda: (self._stacked.defer(producer), self._renew_members()))

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        return self._stacked.set_result(producer, value)

    def copy_first(self) -> None:
        first = self[0]
        self.assign(self.replicas.broadcast(first.host if self.replicas.spec else first.value))

    @property
    def stacked_value(self) -> jax.Array:
        """Returns the stacked array without the writes to members."""
        return self._stacked.value

    # -- the sequence of NDArrays that scripts see -----------------------------------------------

    def __len__(self) -> int:
        return len(self.contexts)

    @overload
    def __getitem__(self, index: int) -> NDArray: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray]: ...
    def __getitem__(self, index: Any) -> Any:
        if not self._members:
            self._make_members()
        return self._members[index]

    def __setitem__(self, index: int, value: NDArray) -> None:
        """Lets ``arrays[k] += x`` work as on a list; other arrays cannot take a member's place."""
        if value is not self[index]:
            problem = "the arrays of a group cannot be replaced"
            hint = f"write to its contents: arrays[{index}][:] = value"
            raise InputTypeError(f"arrays[{index}]", problem, hint=hint)

    def __repr__(self) -> str:
        return repr(list(self))

    def _make_members(self) -> None:
        members, storages = [], []
        for k, context in enumerate(self.contexts[: len(self)]):
            splitter = _MemberProducer(self, k)
            storage = MemberStorage(self.shape, self.dtype, producer=splitter)
            storage.array, storage.position, storage.splitter = self, k, splitter
            storage.shown = storage.version
            members.append(NDArray.from_storage(storage, 0, self.shape, context))
            storages.append(storage)
        self._storages = storages
        self._members = members

    def split_off(self, k: int) -> None:
        storage = self._storages[k]
        if self.replicas.spec:
            host = self.replicas.host_entry(self._stacked.value, k)
            if storage.producer is storage.splitter:
                storage.producer = HostContents(host, self.contexts[k])
            return
        value = self._member_value(k)
        if storage.producer is storage.splitter:
            storage.current = value
            storage.shared = False
            storage.producer = None

    def _member_value(self, k: int) -> jax.Array:
        return self.replicas.split(self._stacked.value, k)

    def part(self, k: int) -> StackedPart | None:
        """Returns a member's contents without splitting them off; None if it was written to."""
        storage = self._storages[k]
        if storage.version != storage.shown:
            return None
        value = self._stacked.value
        return StackedPart(value, self.replicas, k)

    def shows(self, contents: Arrays) -> bool:
        storages: Any = [member.storage for member in self]
        return all(s.shows(x) for s, x in zip(storages, contents, strict=True))

    def follow(self, array: NDArray) -> None:
        """Lets an array show the stacked array's first part, until the array is written to."""
        if self._follower is not array:
            self._settle_follower()
            self._follower = array
        if not isinstance(array.storage.producer, _FirstPart):
            array.storage.defer(_FirstPart(self, array.storage))

    def _settle_follower(self) -> None:
        follower = self._follower
        if follower is not None and isinstance(follower.storage.producer, _FirstPart):
            _ = follower.storage.value

    def _renew_members(self) -> None:
        for storage in self._storages:
            if storage.producer is not storage.splitter or storage.current is not None:
                storage.defer(storage.splitter)
            else:
                storage.version += 1
            storage.shown = storage.version

    @property
    def has_written_members(self) -> bool:
        for storage in self._storages:  # noqa: SIM110 (it is asked for each array in each step)
            if storage.version != storage.shown:
                return True
        return False

    def _merge(self) -> jax.Array:
        self._settle_follower()
        written = [s for s in self._storages if s.version != s.shown]
        value = self._stacked_from({s.position: s.value for s in written})
        self._stacked.assign(value)
        for storage in written:
            storage.shown = storage.version
        return value

    def _stacked_from(self, parts: dict[int, jax.Array]) -> jax.Array:
        if len(parts) == len(self._members):
            return self.replicas.assemble(list(parts.values()))
        return self.replicas.replace(self._stacked.value, parts)


class _MemberProducer:
    __slots__ = ("_array", "_position")

    copies = False

    def __init__(self, array: ReplicatedArray, position: int) -> None:
        self._array = array
        self._position = position

    def __call__(self) -> None:
        self._array.split_off(self._position)

    force = __call__

    @property
    def source(self) -> Producer | None:
        return self._array.source


class _FirstPart:
    __slots__ = ("_array", "_storage")

    copies = False

    def __init__(self, array: ReplicatedArray, storage: Storage) -> None:
        self._array = array
        self._storage = storage

    def __call__(self) -> None:
        array = self._array
        self._storage.set_result(self, array.replicas.split(array.stacked_value, 0))

    force = __call__

    @property
    def source(self) -> Producer | None:
        return self._array.source


def replicate(arrays: Sequence[NDArray]) -> list[NDArray]:
    """Returns arrays with these contents: a replicated one's members if possible, or themselves."""
    contexts = [x.context for x in arrays]
    if not can_replicate(contexts, ()) or replicated(arrays):
        return list(arrays)
    first, replicas = arrays[0], Replicas.of(contexts)
    value = replicas.assemble([x.value for x in arrays])
    return list(ReplicatedArray(contexts, first.shape, first.storage.dtype, value))


def scattered_parts(host: np.ndarray, contexts: Sequence[Context], axis: int) -> list[NDArray]:
    replicas, shape = Replicas.of(contexts), list(host.shape)
    shape[axis : axis + 1] = [len(contexts), shape[axis] // len(contexts)]
    parts = np.ascontiguousarray(np.moveaxis(host.reshape(shape), axis, 0))
    stacked, arrays = replicas.scatter_host(parts), []
    for k, context in enumerate(contexts):
        storage = Storage(parts.shape[1:], host.dtype, producer=StackedPart(stacked, replicas, k))
        arrays.append(NDArray.from_storage(storage, 0, storage.shape, context))
    return arrays


def replicated(arrays: Sequence[NDArray]) -> ReplicatedArray | None:
    """Returns the replicated array whose members these are, all of them in their order, or None."""
    array = getattr(arrays[0].storage, "array", None)
    if not isinstance(array, ReplicatedArray) or len(array) != len(arrays):
        return None
    same = all(x is member for x, member in zip(arrays, array, strict=True))
    return array if same else None


#: The per-device arrays of one parameter: replicated, or each by itself.
PerDevice = ReplicatedArray | list[NDArray]


def shapes_of(arrays: PerDevice) -> list[Shape]:
    if isinstance(arrays, ReplicatedArray):
        return [arrays.shape] * len(arrays)
    return [a.shape for a in arrays]


def first_of(arrays: PerDevice) -> Any:
    return arrays if isinstance(arrays, ReplicatedArray) else arrays[0]
