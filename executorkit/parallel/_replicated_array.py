"""One array per device, kept as a single array that is sharded over the devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import jax

from ..context import Context
from ..errors import InputTypeError, explain
from ..ndarray import NDArray
from ..ndarray.storage import Producer, Shape, Storage
from ._replicas import Replicas


class ReplicatedArray(Sequence[NDArray]):
    """The arrays of one parameter (gradient, input, output) on all devices of a group.

    To scripts it is the sequence of its per-device NDArrays, its members. They are real ones: what
    is written to a member, the next run sees. To a mapped program it is one stacked array of shape
    (devices, *shape), which it reads, assigns and promises as an executor does with an NDArray.

    Members are made when one is first asked for, their contents are split off when one is looked
    at, and the stacked array is put together again only if a member was written to in between,
    which its storage's version tells.
    """

    __slots__ = (
        "__weakref__", "_made", "_members", "_promise_of_all", "_value_of_all", "_versions",
        "contexts", "dtype", "replicas", "shape",
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
        self._value_of_all: jax.Array | None = value
        self._promise_of_all: Producer | None = None
        self._members: list[NDArray] | None = None
        self._versions: list[int] = []
        self._made: list[Producer] = []

    # What a mapped program needs

    @property
    def value(self) -> jax.Array:
        """The stacked array as it is now, with everything that was written to members."""
        if self._members is None:
            value = self._value_of_all
            return self._whole() if value is None else value
        written = self._written()
        return self._merged(written) if written else self._whole()

    def _whole(self) -> jax.Array:
        """The stacked array without what was written to members since."""
        if self._value_of_all is None:
            producer = self._promise_of_all
            assert producer is not None
            producer()
        assert self._value_of_all is not None
        return self._value_of_all

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the contents on all devices; cancels what was promised."""
        self._value_of_all = value
        self._promise_of_all = None
        if self._members is not None:
            self._renew_members()

    def defer(self, producer: Producer) -> None:
        """The contents on all devices are what ``resolve()`` assigns."""
        self._value_of_all = None
        self._promise_of_all = producer
        if self._members is not None:
            self._renew_members()

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Assigns ``value`` if ``resolve`` is still what these arrays wait for. Members that were
        written to since keep what was written."""
        if self._promise_of_all != producer:
            return False
        self._value_of_all = value
        self._promise_of_all = None
        return True

    # What scripts need

    def __len__(self) -> int:
        return len(self.contexts)

    @overload
    def __getitem__(self, index: int) -> NDArray: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray]: ...
    def __getitem__(self, index: Any) -> Any:
        if self._members is None:
            self._make_members()
        assert self._members is not None
        return self._members[index]

    def __setitem__(self, index: int, value: NDArray) -> None:
        """Lets ``arrays[k] += x`` work as on a list; other arrays cannot take a member's place."""
        if value is not self[index]:
            raise InputTypeError(
                explain(
                    f"arrays[{index}]",
                    "the arrays of a group cannot be replaced",
                    hint=f"write to its contents: arrays[{index}][:] = value",
                )
            )

    def __repr__(self) -> str:
        return repr(list(self))

    def _make_members(self) -> None:
        members, made = [], []
        for k, context in enumerate(self.contexts):
            split = _MemberProducer(self, k)
            storage = Storage(self.shape, self.dtype, producer=split)
            members.append(NDArray.from_storage(storage, 0, self.shape, context))
            made.append(split)
        self._made = made
        self._versions = [m.storage.version for m in members]
        self._members = members

    def _split(self, k: int) -> None:
        """Gives member ``k`` its part of the stacked array: the promise that it is made with."""
        value = self.replicas.split(self._whole(), k)
        assert self._members is not None
        storage = self._members[k].storage
        storage.assign(value)
        self._versions[k] = storage.version

    def _renew_members(self) -> None:
        """Members that have contents of their own show those of the stacked array again."""
        assert self._members is not None
        for k, member in enumerate(self._members):
            storage = member.storage
            if storage.producer is not self._made[k]:
                storage.defer(self._made[k])
                self._versions[k] = storage.version

    @property
    def pending(self) -> Producer | None:
        """As an NDArray's: the promise that reading would have kept."""
        if self._promise_of_all is not None or self._members is None:
            return self._promise_of_all
        waiting = (m.pending for m in self._members)
        return next((w for w in waiting if w is not None), None)

    @property
    def has_written_members(self) -> bool:
        """Whether a member was written to since the stacked array was last put together."""
        return self._members is not None and bool(self._written())

    def _written(self) -> list[int]:
        assert self._members is not None
        return [
            k
            for k, (member, version) in enumerate(zip(self._members, self._versions, strict=True))
            if member.storage.version != version
        ]

    def _merged(self, written: list[int]) -> jax.Array:
        assert self._members is not None
        parts = {k: self._members[k].value for k in written}
        if len(parts) == len(self._members):
            value = self.replicas.assemble(list(parts.values()))
        else:
            value = self.replicas.replace(self._whole(), parts)
        self._value_of_all = value
        self._promise_of_all = None
        for k in written:
            self._versions[k] = self._members[k].storage.version
        return value


class _MemberProducer:
    """The promise that a member is made with: its part of the stacked array."""

    __slots__ = ("_k", "_stack")

    def __init__(self, stack: ReplicatedArray, k: int) -> None:
        self._stack = stack
        self._k = k

    def __call__(self) -> None:
        self._stack._split(self._k)

    @property
    def source(self) -> Producer | None:
        """What the stacked array itself waits for."""
        return self._stack._promise_of_all


#: The per-device arrays of one parameter: stacked, or each by itself.
PerDevice = ReplicatedArray | list[NDArray]
