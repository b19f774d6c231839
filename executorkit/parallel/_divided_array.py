"""Arrays that are divided over devices: the state of an optimizer, mostly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax import lax

from .. import processes
from ..arrays.storage import Shape
from ..context import Context
from ..jax_internals import in_x64, parts_of
from ..program import UpdateFunction
from ._divided_update import DividedUpdate
from ._division import Division
from ._joined_processes import JoiningFunction
from ._model_sharding import ShardedUpdate
from ._replicated_array import ReplicatedArray


class DividedArray(ReplicatedArray):
    """An array of which each device has a part, held as one array of shape (devices, part).

    Its only member, on the first device, shows the whole: put together when somebody reads it, and
    divided again if somebody has written to it.
    """

    __slots__ = ("division",)

    def __init__(
        self,
        contexts: Sequence[Context],
        shape: Shape,
        dtype: Any,
        value: jax.Array,
        division: Division,
    ) -> None:
        self.division = division
        self.shape = shape
        super().__init__(contexts, shape, dtype, division.divided(value))

    @property
    def _entry_shape(self) -> Shape:
        return (self.division.part_size(self.shape),)

    def __len__(self) -> int:
        return 1

    def _member_value(self, k: int) -> jax.Array:
        return _whole(self.stacked_value, self.shape, self.division)

    def copy_first(self) -> None:
        """Divides what somebody has written to the member."""
        self.assign(self.division.divided(self[0].value))

    def part(self, k: int) -> None:
        """None: nobody holds the member's contents without reading them."""

    def _stacked_from(self, parts: dict[int, jax.Array]) -> jax.Array:
        return self.division.divided(parts[0])


@in_x64
def _whole(stacked: jax.Array, shape: Shape, division: Division) -> jax.Array:
    """The array of which these are the parts, on the first device of this process.

    Where other processes have parts, they have to ask for the same array: they wait for each other.
    MXNetError if they do not come.
    """
    if division.joins_processes:
        processes.meet(
            "the optimizer's state",
            because="with shard_optimizer each process has a part of it",
            hint="save_optimizer_states, save_checkpoint or Step.save in every process, with a "
            "prefix of its own",
        )
        stacked = parts_of(_gather_function(division)(stacked))[0]
    elements = np.asarray(stacked).reshape(-1)[: math.prod(shape)]
    return jax.device_put(elements.reshape(shape), division.replicas.devices[0])


@lru_cache(maxsize=8)
def _gather_function(division: Division) -> JoiningFunction:
    def gather(part: Any) -> Any:
        return lax.all_gather(part, division.axes)

    return JoiningFunction(gather, "gather", division.replicas.of_job)


def update_in_program(
    update: UpdateFunction, weights: Sequence[ReplicatedArray], cells: Sequence[Any]
) -> Any:
    """The update of these weights for a step, given the leaves of its state: as it is, unless
    states are divided, or weights."""
    if weights[0].replicas.width > 1:
        specs = (tuple([x.replicas.spec for x in arrays]) for arrays in (weights, cells))
        return ShardedUpdate(update, *specs)
    divided = [x for x in cells if isinstance(x, DividedArray)]
    if not divided:
        return update
    leaves = tuple([x.shape if isinstance(x, DividedArray) else None for x in cells])
    return DividedUpdate(update, divided[0].division, leaves)
