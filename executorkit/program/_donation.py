"""Donation without loss: the results of a donating program are stored before Python can be
interrupted.

A program that donates its arguments destroys them. Two things keep an exception, such as a
KeyboardInterrupt, from destroying the results too:

- C code calls the compiled program and appends its results to a list. No bytecode runs in between,
  so no interrupt is seen there. The results stay in the list until they are stored.
- Where JAX does not find the program in its C++ cache (a first call, a changed sharding, a program
  with callbacks), it runs the program from Python, and an exception may come between the end of the
  program and the list. JAX then flattens the arguments a second time before it runs the program. At
  that moment the donated arrays are copied to the host (:class:`Donated`), and these calls wait for
  the results, so that a program that fails later has not destroyed anything either.
"""

import sys
from collections.abc import Collection
from itertools import starmap
from typing import Any

import jax
import numpy as np

from .._support.annotations import Function, Operands, Raw, Tree
from ..errors import MXNetError
from ..jax_internals import clone, in_x64, parts_of


class Donated:
    """The donated argument of a call: a pytree whose arrays are saved if JAX calls from Python."""

    __slots__ = ("_n_flattened", "saved", "tree")

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        #: Copies of them on the host (of PRNG keys: on their device), in flat order; None where the
        #: call had no use for them.
        self.saved: list[Raw] | None = None
        self._n_flattened: int | None = None

    def watch(self) -> None:
        """Begins to count how often JAX flattens the arguments: once in a call from C++."""
        self._n_flattened = 0

    def save(self) -> None:
        if self.saved is None:
            self.saved = [_saved(x) for x in jax.tree.leaves(self.tree)]

    def restored(self) -> Any:
        """Returns the tree, with copies in place of arrays that a failed call has destroyed."""
        leaves, structure = jax.tree.flatten(self.tree)
        deleted = [i for i, x in enumerate(leaves) if x.is_deleted()]
        if not deleted:
            return self.tree
        if self.saved is None:
            because = "the device failed while the program that replaces them was running"
            hint = "load the last checkpoint"
            raise MXNetError("training step", "its parameters are lost", because=because, hint=hint)
        for i in deleted:
            leaves[i] = _restored(self.saved[i], leaves[i])
        return jax.tree.unflatten(structure, leaves)

    def flatten(self) -> tuple[tuple[Any], None]:
        if self._n_flattened is not None:
            self._n_flattened += 1
            if self._n_flattened == 2:
                self.save()
        return (self.tree,), None


jax.tree_util.register_pytree_node(Donated, Donated.flatten, lambda _, trees: Donated(trees[0]))


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


def stored(result: Tree, results: list[Raw] | None) -> Any:
    """Returns a result that destroyed nothing, appended to ``results`` if it is a list."""
    if results is not None:
        results.append(result)
    return result


def call_donating(
    function: Function, results: list[Raw], donated: Donated, args: Operands, in_c: bool = True
) -> Tree:
    """Appends ``function(donated, *args)`` to ``results``, unless it fails, and returns it.

    function
        a jitted function or an executable's C++ function, so that no bytecode runs between the end
        of the program and the list; if it is another one (not ``in_c``), the arrays are saved.
    """
    if not in_c:
        donated.save()
    donated.watch()
    results.extend(starmap(function, ((donated, *args),)))
    if donated.saved is not None:
        try:
            jax.block_until_ready(results)
        except Exception:
            results.clear()
            raise
    return results[-1]
