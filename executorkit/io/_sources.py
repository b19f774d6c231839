"""Named arrays that batches are cut from, each where its data are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context
from ..errors import DataArgumentError, explain
from ..ndarray import NDArray, array
from ..ndarray._values import batch_to_device


class Source(NamedTuple):
    """One named array: NumPy's view of it where it is on the CPU, else the array on its device."""

    name: str
    value: Any
    context: Context

    def take(self, rows: np.ndarray, axis: int) -> NDArray:
        """The given examples, as an NDArray in the context of the data."""
        if isinstance(self.value, jax.Array):
            with jax.enable_x64(True):
                taken = _gather(self.value, rows, axis)
            return NDArray.from_jax(taken, self.context, shared=False)
        consecutive = len(rows) > 0 and bool((np.diff(rows) == 1).all())
        if not consecutive:
            taken = np.take(self.value, rows, axis)
        else:
            window = slice(int(rows[0]), int(rows[-1]) + 1)
            taken = np.ascontiguousarray(self.value[(slice(None),) * axis + (window,)])
        # A contiguous part may be used without a copy, so it must not be donated.
        return NDArray.from_jax(
            batch_to_device(taken, self.context.device), self.context, shared=consecutive
        )


@partial(jax.jit, static_argnums=2)
def _gather(value: jax.Array, rows: jax.Array, axis: int) -> jax.Array:
    return jnp.take(value, rows, axis, mode="clip")


def named_sources(given: Any, name: str, what: str) -> list[Source]:
    """Named arrays of whatever NDArrayIter is given."""
    if given is None:
        return []
    if isinstance(given, NDArray | np.ndarray | jax.Array):
        given = [given]
    if isinstance(given, list):
        names = [name] if len(given) == 1 else [f"_{i}_{name}" for i in range(len(given))]
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, Mapping):
        raise DataArgumentError(
            explain(
                f"NDArrayIter: {what}",
                f"a {type(given).__name__}, expected an array, a list of arrays or a dict",
            )
        )
    return [_source(name, given[name]) for name in sorted(given)]


def _source(name: str, given: Any) -> Source:
    try:
        made = given if isinstance(given, NDArray) else array(given)
    except (TypeError, ValueError) as error:
        raise DataArgumentError(explain(f"NDArrayIter: {name!r}", str(error))) from None
    value: Any = made.jax
    if made.context.device.platform == "cpu":
        value = np.asarray(value)
    return Source(name, value, made.context)
