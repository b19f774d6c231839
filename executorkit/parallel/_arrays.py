"""The arrays of a group: stacked over the devices where they can be, its own or shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from ..context import Context
from ..errors import MXNetError, ShapeError, explain
from ..executor._fresh import lazy_zeros
from ..lowering import Graph, placements
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ._stacked import PerDevice, ReplicatedArray

if TYPE_CHECKING:
    from ._group import DataParallelCore

ContextGroups = Mapping[str, Context]


def can_replicate(contexts: Sequence[Context], group2ctxs: Sequence[ContextGroups | None]) -> bool:
    """Whether arrays of these contexts can be one sharded array: on distinct devices of one
    platform, more than one of them counting all processes."""
    devices = [c.device for c in contexts]
    several = len(devices) > 1 or jax.process_count() > 1
    alike = len(set(devices)) == len(devices) and len({d.platform for d in devices}) == 1
    return several and alike and not any(group2ctxs)


class ReplicaArrayFactory:
    """Makes the arrays of a group, or takes those that it shares."""

    def __init__(
        self,
        group: DataParallelCore,
        found: list[InferenceResult],
        shared: DataParallelCore | None,
        names: set[str],
    ) -> None:
        graph: Graph = group._graph
        self.group = group
        self.found = found
        self.shared = shared
        self.names = names
        self.stackable = can_replicate(group.contexts, group.group2ctxs)
        self.places = [
            placements(graph, c, g) if g else None
            for c, g in zip(group.contexts, group.group2ctxs, strict=True)
        ]

    def argument(self, i: int) -> PerDevice:
        name = self.group.arg_names[i]
        there = self._there(i)
        if self.shared is not None and name in self.names:
            return self._fitting(there, name, self._shapes(i), self._dtype(i))
        if there is not None and self._is_like(there, self._shapes(i), self._dtype(i)):
            return there
        return self._new(self._shapes(i), self._dtype(i), self.group._graph.args[i])

    def gradient(self, i: int) -> PerDevice | None:
        if self.group.grad_req[i] == "null":
            return None
        shared = self.shared
        if shared is not None and self._there(i) is self.group.arg_arrays[i]:
            there = _find_by_name(shared.arg_names, shared.grad_arrays, self.group.arg_names[i])
            if there is not None:
                return there
        return self._new(self._shapes(i), self._dtype(i), self.group._graph.args[i])

    def state(self, i: int) -> PerDevice:
        name = self.group.aux_names[i]
        shapes = [f.aux_shapes[i] for f in self.found]
        dtype = self.found[0].aux_dtypes[i] or "float32"
        if self.shared is not None:
            there = _find_by_name(self.shared.aux_names, self.shared.aux_arrays, name)
            if there is not None:
                return self._fitting(there, name, shapes, dtype)
        return self._new(shapes, dtype, self.group._graph.aux[i])

    def _there(self, i: int) -> PerDevice | None:
        """The other group's arrays of argument ``i``, unless it is loaded with batches."""
        name = self.group.arg_names[i]
        if self.shared is None or any(name == one.name for one in self.group.inputs):
            return None
        return _find_by_name(self.shared.arg_names, self.shared.arg_arrays, name)

    @staticmethod
    def _is_like(there: PerDevice, shapes: Sequence[Any], dtype: str) -> bool:
        first = there if isinstance(there, ReplicatedArray) else there[0]
        found = (
            [there.shape] * len(there)
            if isinstance(there, ReplicatedArray)
            else [a.shape for a in there]
        )
        return found == list(shapes) and jax.numpy.dtype(first.dtype).name == dtype

    def _shapes(self, i: int) -> list[Any]:
        return [f.arg_shapes[i] for f in self.found]

    def _dtype(self, i: int) -> str:
        return self.found[0].arg_dtypes[i] or "float32"

    def _fitting(
        self, there: PerDevice | None, name: str, shapes: Sequence[Any], dtype: str
    ) -> PerDevice:
        if there is None:
            raise MXNetError(
                explain(
                    f"group: shared parameter {name!r}",
                    "the group that it is to be shared with has none of that name",
                    hint="share with the group of the largest bucket, whose symbol has them all",
                )
            )
        if not self._is_like(there, shapes, dtype):
            first = there if isinstance(there, ReplicatedArray) else there[0]
            raise ShapeError(
                explain(
                    f"group: shared parameter {name!r}",
                    f"{first.shape} {jax.numpy.dtype(first.dtype).name}, "
                    f"expected {shapes[0]} {dtype}",
                    because="that is what this group's symbol infers for its inputs",
                )
            )
        return there

    def _new(self, shapes: Sequence[Any], dtype: str, node: Any) -> PerDevice:
        contexts = self.group.contexts
        if self.stackable and len(set(shapes)) == 1:
            return ReplicatedArray(contexts, shapes[0], dtype)
        placed = [p[node] if p else c for p, c in zip(self.places, contexts, strict=True)]
        return [_new_array(s, dtype, c) for s, c in zip(shapes, placed, strict=True)]


def _find_by_name(names: Sequence[str], arrays: Sequence[Any], name: str) -> Any:
    return arrays[names.index(name)] if name in names else None


def _new_array(shape: tuple[int, ...], dtype: str, context: Context) -> NDArray:
    return lazy_zeros(shape, dtype, context)
