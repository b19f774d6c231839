"""Contents of arrays that are made when they are read on a device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from .._support.annotations import Operands
from ..context import Context
from ..jax_internals import batched_device_put, in_x64

sharding_of = lru_cache(maxsize=64)(jax.sharding.SingleDeviceSharding)
shaped = lru_cache(maxsize=1024)(ShapedArray)
MADE: set[type] = set()


class MadeContents:
    """Contents made when they are read on the device; ``host`` has them in the host's memory."""

    __slots__ = ("host",)

    host: Any
    #: Nothing has to be computed.
    source = None
    copies = False

    def __init_subclass__(cls) -> None:
        MADE.add(cls)

    def make(self) -> jax.Array:
        raise NotImplementedError


def array_of(host: np.ndarray, kind: Operands, bound: bool = True) -> jax.Array:
    """Returns an array of NumPy's memory, to which XLA never writes, though it is donated."""
    aval, sharding = kind
    return batched_device_put(aval, sharding, [host], [*sharding.device_set], bound)


class HostContents(MadeContents):
    """Contents in the host's memory until a program reads them; nothing writes to ``host``.
    ``kind`` is the array's aval and sharding, or its context."""

    __slots__ = ("_kind", "_made")

    committed = True
    shape = property(lambda self: self.kind[0].shape)
    dtype = property(lambda self: self.kind[0].dtype)
    sharding = property(lambda self: self.kind[1])

    def __init__(self, host: np.ndarray, kind: Context | Operands) -> None:
        self.host = host
        self._kind = kind

    @property
    def kind(self) -> Operands:
        if isinstance(self._kind, Context):
            aval = shaped(self.host.shape, self.host.dtype)
            self._kind = aval, sharding_of(self._kind.device)
        return self._kind

    @in_x64
    def make(self) -> jax.Array:
        """Returns the same array each time: steps compare contents by identity."""
        host = self.host
        if host is not None:
            self._made = array_of(host, self.kind)
            self.host = None  # JAX may have copied it
        return self._made

    def read(self) -> np.ndarray:
        host = self.host
        return np.asarray(self._made) if host is None else host


class HostResult(HostContents):
    """A result of an interpreted step, which the next one takes as it is."""

    __slots__ = ()


def can_stay(values: Sequence[Any]) -> bool:
    """Tells whether interpreted steps take contents as they are: entries of stacked arrays are to
    be made into arrays."""
    return {*map(type, values)} & MADE <= {HostContents, HostResult}


def made(values: Sequence[Any]) -> Operands:
    """Returns contents as arrays, made where they are not yet."""
    if not MADE.isdisjoint(map(type, values)):
        values = [x.make() if isinstance(x, MadeContents) else x for x in values]
    return tuple(values)


def with_arrays(args: Sequence[Any]) -> Any:
    return jax.tree.map(lambda x: x.make() if isinstance(x, HostContents) else x, args)
