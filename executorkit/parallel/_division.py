"""Division of arrays over devices: each has an equal part of the elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..arrays.storage import Shape
from ..ops.nn.moments import DEVICE_AXIS
from ._joint_sums import JOB_AXES, messages_of
from ._replicas import Replicas


@dataclass(frozen=True)
class Division:
    """Devices that have a part each of an array.

    Elements are taken in C order, with zeros behind the last, so that all parts are equal.

    replicas
        the devices of this process.
    joins_processes
        whether their counterparts in all other processes have parts, too.

    The methods that programs call are traced with the axes of the devices' mesh.
    """

    replicas: Replicas
    joins_processes: bool

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.replicas.of_job) if self.joins_processes else len(self.replicas)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh of the devices."""
        return JOB_AXES if self.joins_processes else (DEVICE_AXIS,)

    def divides(self, shape: Shape) -> bool:
        """True for arrays with an element for each device at least; others stay whole."""
        return math.prod(shape) >= self.count

    def part_size(self, shape: Shape) -> int:
        """The number of elements in a part of an array, zeros behind the last one included."""
        return -(-math.prod(shape) // self.count)

    def divided(self, whole: jax.Array) -> jax.Array:
        """The parts of an array that this process's devices have, stacked."""
        size, first = self.part_size(whole.shape), 0
        if self.joins_processes:
            first = jax.process_index() * len(self.replicas) * size
        host = np.asarray(whole).reshape(-1)[first : first + len(self.replicas) * size]
        padded = np.zeros((len(self.replicas), size), host.dtype)
        padded.reshape(-1)[: host.size] = host
        return self.replicas.from_host(padded)

    # -- in programs ---------------------------------------------------------------------------

    def own_part(self, whole: Any) -> Any:
        """The device's part of an array that it has."""
        return lax.dynamic_index_in_dim(self._rows(whole), self.number, keepdims=False)

    @property
    def number(self) -> Any:
        """The device's number among all."""
        return lax.axis_index(self.axes)

    def sums(self, arrays: Sequence[Any], offsets: Sequence[Any]) -> list[Any]:
        """The device's parts of the sums of arrays over the devices; ``offsets`` as
        :meth:`offsets`."""
        rows = [self._rows(x) for x in arrays]
        parts: list[Any] = [None] * len(rows)
        layout, places = self._layout([x.shape for x in arrays], rows), iter(offsets)
        for group in layout.together:
            buffer = jnp.concatenate([rows[i] for i in group], 1)
            total = lax.psum_scatter(buffer, self.axes)
            for i in group:
                parts[i] = lax.dynamic_slice(total, (next(places),), rows[i].shape[1:])
        for i in layout.alone:
            parts[i] = lax.psum_scatter(rows[i], self.axes)
        return parts

    def gathered(
        self, parts: Sequence[Any], shapes: Sequence[Shape], offsets: Sequence[Any] = ()
    ) -> list[Any]:
        """The arrays of these shapes of which every device has a part; each is a message of its own
        without offsets."""
        results: list[Any] = [None] * len(parts)
        alone = list(range(len(parts)))
        if offsets:
            layout, places = self._layout(shapes, parts), iter(offsets)
            alone = layout.alone
            for group in layout.together:
                rows = lax.all_gather(jnp.concatenate([parts[i] for i in group]), self.axes)
                for i in group:
                    place = next(places)
                    start = (jnp.zeros_like(place), place)
                    results[i] = lax.dynamic_slice(rows, start, (self.count, parts[i].size))
        for i in alone:
            results[i] = lax.all_gather(parts[i], self.axes)
        pairs = zip(results, shapes, strict=True)
        return [rows.reshape(-1)[: math.prod(shape)].reshape(shape) for rows, shape in pairs]

    def offsets(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The places of small arrays in the messages, as arrays that programs take.

        arrays
            have the shapes and dtypes of those that are divided.
        """
        layout = self._layout([x.shape for x in arrays], arrays)
        return tuple(map(self.replicas.of_job.scalar, layout.offsets)) if layout.offsets else ()

    def _layout(self, shapes: Sequence[Shape], like: Sequence[Any]) -> Any:
        together = self.joins_processes and self.replicas.of_job.joins_messages
        forms = [(self.part_size(s), x.dtype) for s, x in zip(shapes, like, strict=True)]
        return messages_of(tuple(forms), together)

    def _rows(self, whole: Any) -> Any:
        """An array's parts, one behind the other, with zeros behind the last element."""
        size = self.part_size(whole.shape)
        flat = whole.reshape(-1)
        return jnp.pad(flat, (0, self.count * size - flat.size)).reshape(self.count, size)
