"""Allocation of a group's arrays: one replicated array if all devices share it, else one each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from ..context import Context
from ..errors import MXNetError, ShapeError
from ..executor import is_input_name, lazy_zeros
from ..lowering import Graph, InferenceResult, placements
from ._model_sharding import Spec, sharding_of
from ._replica_choice import ContextGroups, can_replicate
from ._replicated_array import PerDevice, ReplicatedArray, first_of, shapes_of


class SharedArrays(NamedTuple):
    """Arrays of another group by name, that a new one may use; none by default.

    names
        arguments that have to be shared; others are where they have the same shape.
    """

    args: Mapping[str, PerDevice] = {}
    grads: Mapping[str, PerDevice | None] = {}
    aux: Mapping[str, PerDevice] = {}
    names: frozenset[str] = frozenset()


class ReplicaArrayFactory:
    """Makes the arrays of a group, or takes those that it shares.

    contexts, group2ctxs
        for each device its context, and the contexts of its ``ctx_group``s.
    inferred
        for each device the shapes and dtypes of its arrays.
    loaded
        names of arguments that are loaded with batches, which are never shared.
    """

    def __init__(
        self,
        graph: Graph,
        contexts: Sequence[Context],
        group2ctxs: Sequence[ContextGroups | None],
        inferred: Sequence[InferenceResult],
        loaded: frozenset[str],
        shared: SharedArrays,
    ) -> None:
        self._graph = graph
        self._contexts = contexts
        self._inferred = inferred
        self._loaded = loaded
        self._shared = shared
        self._replicates = can_replicate(contexts, group2ctxs)
        groups = zip(contexts, group2ctxs, strict=True)
        self._placements = [placements(graph, c, g) if g else None for c, g in groups]

    def make(
        self, grad_req: Sequence[str]
    ) -> tuple[list[PerDevice], list[PerDevice | None], list[PerDevice]]:
        """For each argument, gradient and state the arrays of all devices; gradients of the
        arguments whose request is not 'null'."""
        args = [self._argument(i) for i in range(len(self._graph.args))]
        requests = enumerate(grad_req)
        grads = [None if req == "null" else self._gradient(i, args[i]) for i, req in requests]
        return args, grads, [self._state(i) for i in range(len(self._graph.aux))]

    def _argument(self, i: int) -> PerDevice:
        name, shared = self._graph.arg_names[i], self._shared_argument(i)
        shapes, dtype = self._shapes(i), self._dtype(i)
        if name in self._shared.names:
            return self._checked_shared(shared, name, shapes, dtype)
        if shared is not None and _has_shapes(shared, shapes, dtype):
            return shared
        return self._new(shapes, dtype, self._graph.args[i], self._spec_of_argument(i))

    def _gradient(self, i: int, argument: PerDevice) -> PerDevice:
        if self._shared_argument(i) is argument:
            gradient = self._shared.grads.get(self._graph.arg_names[i])
            if gradient is not None:
                return gradient
        spec: Spec = ()
        if isinstance(argument, ReplicatedArray):
            spec = argument.replicas.spec
        return self._new(self._shapes(i), self._dtype(i), self._graph.args[i], spec)

    def _state(self, i: int) -> PerDevice:
        name = self._graph.aux_names[i]
        shapes = [r.aux_shapes[i] for r in self._inferred]
        dtype = self._inferred[0].aux_dtypes[i] or "float32"
        state = self._shared.aux.get(name)
        if state is not None:
            return self._checked_shared(state, name, shapes, dtype)
        spec = self._spec(name, self._graph.aux[i], shapes)
        return self._new(shapes, dtype, self._graph.aux[i], spec)

    def _shared_argument(self, i: int) -> PerDevice | None:
        """The other group's arrays of argument ``i``, unless it is loaded with batches."""
        name = self._graph.arg_names[i]
        return None if name in self._loaded else self._shared.args.get(name)

    def _shapes(self, i: int) -> list[Any]:
        return [r.arg_shapes[i] for r in self._inferred]

    def _dtype(self, i: int) -> str:
        return self._inferred[0].arg_dtypes[i] or "float32"

    def _spec_of_argument(self, i: int) -> Spec:
        name = self._graph.arg_names[i]
        is_loaded = name in self._loaded
        return () if is_loaded else self._spec(name, self._graph.args[i], self._shapes(i))

    def _spec(self, name: str, node: Any, shapes: Sequence[Any]) -> Spec:
        """The axis of a variable that is divided over the devices of each replica."""
        return sharding_of(name, node.attrs, shapes[0], len(self._contexts[0].devices))

    def _new(self, shapes: Sequence[Any], dtype: str, node: Any, spec: Spec) -> PerDevice:
        if self._replicates and len(set(shapes)) == 1:
            return ReplicatedArray(self._contexts, shapes[0], dtype, spec=spec)
        places = zip(self._placements, self._contexts, strict=True)
        contexts = [placed[node] if placed else context for placed, context in places]
        return [lazy_zeros(s, dtype, c) for s, c in zip(shapes, contexts, strict=True)]

    def _checked_shared(
        self, arrays: PerDevice | None, name: str, shapes: Sequence[Any], dtype: str
    ) -> PerDevice:
        where = f"group: shared parameter {name!r}"
        if arrays is None:
            problem = "the group that it is to be shared with has none of that name"
            hint = "share with the group of the largest bucket, whose symbol has them all"
            raise MXNetError(where, problem, hint=hint)
        if not _has_shapes(arrays, shapes, dtype):
            first = first_of(arrays)
            actual = f"{first.shape} {jax.numpy.dtype(first.dtype).name}"
            sizes = zip(self._graph.arg_names, self._inferred[0].arg_shapes, strict=True)
            raise ShapeError(
                where,
                f"{actual}, expected {shapes[0]} {dtype}",
                because="that is what this group's symbol infers for its inputs",
                given_by=", ".join(f"{n}={s}" for n, s in sizes if n in self._loaded),
                hint=f"label_names=[{name!r}], if it is a label" if is_input_name(name) else None,
            )
        return arrays


def _has_shapes(array: PerDevice, shapes: Sequence[Any], dtype: str) -> bool:
    return shapes_of(array) == list(shapes) and jax.numpy.dtype(first_of(array).dtype).name == dtype
