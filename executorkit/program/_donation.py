"""Donation without loss: results of a donating program are stored before Python can be interrupted.

A program that donates its arguments destroys them. Two things keep an exception, such as a
KeyboardInterrupt, from destroying the results too:

- C code calls the compiled program and appends its results to a list. No bytecode runs in between,
  so no interrupt is seen there. The results stay in the list until they are stored.
- JAX runs a program from Python at its first call, and for good where it has callbacks: an
  exception may come between the end of the program and the list. So the first call gives C++ its
  way, runs nothing, and is made again (:meth:`CachedJit.donate`). Donated arrays of programs with
  callbacks are copied to the host before each run (:class:`Donated`).

Calls with copies wait for the results, so that a program that fails later has not destroyed
anything either. For this alone first calls save small arrays, and large ones where there may be too
little memory for the run.
"""

import sys
from collections.abc import Collection
from functools import partial
from itertools import filterfalse, starmap
from operator import is_
from typing import Any

import jax
import numpy as np

from .._support.annotations import Function, Operands, Raw, Tree
from ..errors import MXNetError
from ..jax_internals import clone, in_x64, parts_of


class Donated:
    """The donated argument of a call: a pytree whose arrays may be saved before."""

    __slots__ = ("has_missed", "on_host", "saved", "tree")

    def __init__(self, tree: Tree, on_host: bool = False) -> None:
        self.tree = tree
        #: True if a call takes and leaves results on the host, or does nothing.
        self.on_host = on_host
        #: Copies of them on the host (of PRNG keys: on their device), in flat order; None where the
        #: call had no use for them.
        self.saved: list[Raw] | None = None
        #: True if this call has given C++ its way.
        self.has_missed = False

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in jax.tree.leaves(self.tree))

    def save(self) -> None:
        if self.saved is None:
            self.saved = [_saved(x) for x in jax.tree.leaves(self.tree)]

    def restored(self) -> Any:
        """Returns the tree, with copies in place of arrays that a failed call has destroyed."""
        leaves, structure = jax.tree.flatten(self.tree)
        deleted = [i for i, x in enumerate(leaves) if isinstance(x, jax.Array) and x.is_deleted()]
        if not deleted:
            return self.tree
        if self.saved is None:
            because = "the device failed while the program that replaces them was running"
            hint = "load the last checkpoint"
            raise MXNetError("training step", "its parameters are lost", because=because, hint=hint)
        for i in deleted:
            leaves[i] = _restored(self.saved[i], leaves[i])
        return jax.tree.unflatten(structure, leaves)


jax.tree_util.register_pytree_node(
    Donated, lambda donated: ((donated.tree,), None), lambda _, trees: Donated(trees[0])
)


def _saved(array: jax.Array) -> Tree:
    if not array.is_fully_addressable:
        return [np.array(part) for part in parts_of(array)]
    is_key = jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key)
    # Of a clone: an exception may have left JAX's list of the array's own parts incomplete.
    return array.copy() if is_key else np.array(clone(array))


@in_x64
def _restored(saved: Tree, deleted: jax.Array) -> jax.Array:
    sharding = deleted.sharding
    if not isinstance(saved, list):
        return jax.device_put(saved, sharding)
    devices = sharding.addressable_devices_indices_map(deleted.shape)
    parts = [jax.device_put(x, d) for x, d in zip(saved, devices, strict=True)]
    return jax.make_array_from_single_device_arrays(deleted.shape, sharding, parts)


@in_x64
def copied(array: jax.Array) -> jax.Array:
    """Copies an array where it is, without a program of its own for each shape."""
    if array.is_fully_addressable:
        return jax.device_put(array, array.sharding, may_alias=False)
    parts = [jax.device_put(x, x.sharding, may_alias=False) for x in parts_of(array)]
    return jax.make_array_from_single_device_arrays(array.shape, array.sharding, parts)


def held_elsewhere(arrays: list[Raw]) -> set[int]:
    """Returns the positions of arrays with references besides this list and one other object."""
    return {i for i in range(len(arrays)) if sys.getrefcount(arrays[i]) > _UNSHARED_COUNT}


def copy_at(arrays: list[Raw], positions: Collection[int]) -> None:
    for i in positions:
        arrays[i] = copied(arrays[i])


def _count_of_one_tuple() -> int:
    held = (object(),)
    arrays = [*held]
    (count,) = [sys.getrefcount(arrays[i]) for i in range(len(arrays))]
    return count


#: Reference count of an object that one tuple holds, as ``held_elsewhere`` sees it.
_UNSHARED_COUNT = _count_of_one_tuple()


def call_donating(function: Function, results: list[Raw], donated: Donated, args: Operands) -> None:
    """Appends ``function(donated, *args)`` to ``results``, unless it fails or is None. ``function``
    is one of C++, so that no bytecode runs between the end of the program and the list."""
    results.extend(filterfalse(_is_none, starmap(function, ((donated, *args),))))
    if donated.saved is not None:
        try:
            jax.block_until_ready(results)
        except Exception:
            results.clear()
            raise


_is_none = partial(is_, None)
