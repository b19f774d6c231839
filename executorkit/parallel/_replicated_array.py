"""Replicated arrays: one array per device, held as a single array sharded over the devices."""

from collections.abc import Sequence
from typing import Any, overload

import jax

from ..context import Context
from ..errors import InputTypeError
from ..ndarray import NDArray
from ..ndarray.protocol import Producer
from ..ndarray.rollback import complete
from ..ndarray.storage import Shape, Storage
from ._replicas import Replicas


class ReplicatedArray(Sequence[NDArray]):
    """The arrays of one parameter (gradient, input, output) on all devices of a group.

    To scripts it is the sequence of its per-device NDArrays, its members. They are real ones: the
    next run sees what is written to a member. To a pmapped program it is one stacked array of shape
    (devices, *shape), whose storage is a pending value as that of an NDArray is for an executor.

    Members are made when one is first asked for, their contents are split off when one is read,
    and the stacked array is put together again only if a member was written to in between; the
    version of its storage tells.
    """

    __slots__ = (
        "__weakref__", "_members", "_splitters", "_stacked", "_versions", "contexts", "dtype",
        "replicas", "shape",
    )  # fmt: skip

    def __init__(
        self, contexts: Sequence[Context], shape: Shape, dtype: Any, value: jax.Array | None = None
    ) -> None:
        self.contexts = tuple(contexts)
        self.replicas = Replicas.on([c.device for c in contexts])
        self.shape = shape
        self.dtype = jax.numpy.dtype(dtype)
        if value is None:
            value = self.replicas.zeros(shape, dtype)
        self._stacked = Storage((len(self.contexts), *shape), self.dtype, value)
        #: Empty until one is asked for.
        self._members: list[NDArray] = []
        self._versions: list[int] = []
        self._splitters: list[_MemberProducer] = []

    # -- the pending value that a pmapped program sees ------------------------------------------

    @property
    def value(self) -> jax.Array:
        """The stacked array, with everything that was written to members."""
        written = self._written() if self._members else []
        return self._merge(written) if written else self._stacked.value

    @property
    def current(self) -> jax.Array | None:
        """The stacked array if nothing is pending and no member can have been written to."""
        return None if self._members else self._stacked.current

    @property
    def pending(self) -> Producer | None:
        """The producer that reading would run; None if nothing has to be computed."""
        if self._stacked.producer is not None or not self._members:
            return self.source
        producers = (member.pending for member in self._members)
        return next((p for p in producers if p is not None), None)

    @property
    def source(self) -> Producer | None:
        """The producer that the stacked array waits for, whatever its members wait for."""
        return self._stacked.pending

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the contents on all devices and cancels deferred work."""
        if not self._members:
            self._stacked.assign(value, shared)
        else:
            complete(lambda: (self._stacked.assign(value, shared), self._renew_members()))

    def defer(self, producer: Producer) -> None:
        """Lets the contents on all devices come from ``producer``."""
        if not self._members:
            self._stacked.defer(producer)
        else:
            complete(lambda: (self._stacked.defer(producer), self._renew_members()))

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Stores ``value`` and returns True if ``producer`` is still what these arrays wait for.
        Members that were written to since keep their contents."""
        return self._stacked.set_result(producer, value)

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
        members = []
        splitters = [_MemberProducer(self, k) for k in range(len(self.contexts))]
        for splitter, context in zip(splitters, self.contexts, strict=True):
            storage = Storage(self.shape, self.dtype, producer=splitter)
            members.append(NDArray.from_storage(storage, 0, self.shape, context))
        self._splitters = splitters
        self._versions = [m.storage.version for m in members]
        self._members = members

    def split_off(self, k: int) -> None:
        """Gives member ``k`` its part of the stacked array."""
        value = self.replicas.split(self._stacked.value, k)
        storage = self._members[k].storage
        # Before the version changes, so that no exception in between makes it a write by a script.
        self._versions[k] = storage.version + 1
        storage.assign(value)

    def _renew_members(self) -> None:
        """Lets members that have contents of their own show those of the stacked array again."""
        for k, member in enumerate(self._members):
            storage = member.storage
            if storage.producer is not self._splitters[k] or storage.current is not None:
                storage.defer(self._splitters[k])
            self._versions[k] = storage.version

    @property
    def has_written_members(self) -> bool:
        """True if a member was written to since the stacked array was last put together."""
        return bool(self._written())

    def _written(self) -> list[int]:
        return [
            k
            for k, (member, version) in enumerate(zip(self._members, self._versions, strict=True))
            if member.storage.version != version
        ]

    def _merge(self, written: list[int]) -> jax.Array:
        parts = {k: self._members[k].value for k in written}
        if len(parts) == len(self._members):
            value = self.replicas.assemble(list(parts.values()))
        else:
            value = self.replicas.replace(self._stacked.value, parts)
        self._stacked.assign(value)
        for k in written:
            self._versions[k] = self._members[k].storage.version
        return value


class _MemberProducer:
    """The producer of a member's contents: its part of the stacked array."""

    __slots__ = ("_array", "_position")

    def __init__(self, array: ReplicatedArray, position: int) -> None:
        self._array = array
        self._position = position

    def __call__(self) -> None:
        self._array.split_off(self._position)

    force = __call__

    @property
    def source(self) -> Producer | None:
        """The producer that the stacked array waits for."""
        return self._array.source


#: The per-device arrays of one parameter: replicated, or each by itself.
PerDevice = ReplicatedArray | list[NDArray]


def shapes_of(arrays: PerDevice) -> list[Shape]:
    """The shape of each device's array."""
    if isinstance(arrays, ReplicatedArray):
        return [arrays.shape] * len(arrays)
    return [a.shape for a in arrays]


def first_of(arrays: PerDevice) -> Any:
    """Any of the devices' arrays, for its shape and dtype: a replicated array makes no member."""
    return arrays if isinstance(arrays, ReplicatedArray) else arrays[0]
