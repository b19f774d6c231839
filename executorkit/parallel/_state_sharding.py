"""Optimizer states that are sharded over the devices of a group.

Each device holds one part of a state along one of its axes. The part of a step that is mapped over
the devices sums gradients into such parts. Behind it, the update is computed of whole arrays, which
XLA partitions by their ``NamedSharding``, and the new weights are gathered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .. import processes
from .._support.annotations import Function, Operands, Raw, Tree
from ..arrays.storage import Shape
from ..context import Context
from ..jax_internals import in_x64, parts_of
from ..ops.nn.moments import DEVICE_AXIS
from ..program import Arrays, Donated, StepSpec, UpdateFunction, small_jit
from ._job_messages import JOB_AXES, is_sent_with_others, messages_of
from ._model_sharding import ShardedUpdate
from ._replicas import Replicas
from ._replicated_array import ReplicatedArray


@dataclass(frozen=True)
class StateSharding:
    """The sharding of optimizer states over this process's devices, or over a whole job."""

    replicas: Replicas
    joins_processes: bool

    @property
    def count(self) -> int:
        return len(self.replicas.of_job) if self.joins_processes else len(self.replicas)

    @property
    def axes(self) -> tuple[str, ...]:
        return JOB_AXES if self.joins_processes else (DEVICE_AXIS,)

    def axis(self, shape: Shape) -> int | None:
        """Returns the axis along which an array is divided; None if no axis has an element for each
        device. It is the first axis whose contiguous parts together are at most an eighth longer,
        or else the axis with the fewest zeros behind its last element."""
        padded = [
            (-(-n // self.count) * self.count / n, a)
            for a, n in enumerate(shape)
            if n >= self.count
        ]
        return next(
            (a for ratio, a in padded if ratio <= 1.125), min(padded)[1] if padded else None
        )

    def _axis(self, shape: Shape) -> int:
        axis = self.axis(shape)
        assert axis is not None
        return axis

    def shards(self, array: Raw) -> bool:
        return self.axis(array.shape) is not None

    def spec(self, shape: Shape) -> tuple[Any, ...]:
        return (*[None] * self._axis(shape), self.axes)

    def part_shape(self, shape: Shape) -> Shape:
        axis = self._axis(shape)
        return (*shape[:axis], -(-shape[axis] // self.count), *shape[axis + 1 :])

    def from_host(self, whole: jax.Array) -> jax.Array:
        first = jax.process_index() * len(self.replicas) if self.joins_processes else 0
        parts = self.parts(np.asarray(whole), np)[first : first + len(self.replicas)]
        return self.replicas.from_host(np.ascontiguousarray(parts))

    def parts(self, whole: Raw, xp: Any = jnp) -> Tree:
        axis, part = self._axis(whole.shape), self.part_shape(whole.shape)
        zeros = part[axis] * self.count - whole.shape[axis]
        padded = xp.pad(whole, [(0, zeros * (a == axis)) for a in range(whole.ndim)])
        rows = padded.reshape(*part[:axis], self.count, *part[axis:])
        return xp.moveaxis(rows, axis, 0)

    def whole(self, parts: Raw, shape: Shape, xp: Any = jnp) -> Any:
        axis = self._axis(shape)
        rows = xp.moveaxis(parts, 0, axis)
        padded = rows.reshape(*shape[:axis], -1, *shape[axis + 1 :])
        return padded[(slice(None),) * axis + (slice(shape[axis]),)]

    @in_x64
    def fetch(self, stacked: jax.Array, shape: Shape) -> jax.Array:
        """Returns the whole array on this process's first device. Processes that have parts all
        have to ask for the same array; MXNetError if they do not."""
        if self.joins_processes:
            processes.meet(
                "the optimizer's state",
                because="with shard_optimizer each process has a part of it",
                hint="save_optimizer_states, save_checkpoint or Step.save in every process, with a "
                "prefix of its own",
            )
            job = self.replicas.of_job
            stacked = parts_of(_gather(job.spread(stacked), job.mesh))[0]
        return jax.device_put(self.whole(np.asarray(stacked), shape, np), self.replicas.devices[0])

    # -- in programs that are mapped over the devices ----------------------------------------------

    def scatters(self, grad: Raw) -> bool:
        """Returns whether a gradient is summed into parts; on CPUs large ones are."""
        return not (self.joins_processes and is_sent_with_others(grad, self.replicas.of_job))

    def own_part(self, whole: Raw) -> Tree:
        number = lax.axis_index(self.axes)
        return lax.dynamic_index_in_dim(self.parts(whole), number, keepdims=False)

    def sum_into_parts(self, grad: Raw) -> Tree:
        return lax.psum_scatter(self.parts(grad), self.axes)


@small_jit(static_argnums=1)
def _gather(stacked: jax.Array, mesh: Mesh) -> jax.Array:
    return lax.with_sharding_constraint(stacked, NamedSharding(mesh, PartitionSpec()))


class ShardedState(ReplicatedArray):
    """An optimizer's state of which each device holds a part. Its only member is the whole: put
    together at a read, and sharded again after a write."""

    __slots__ = ("state_sharding",)

    def __init__(
        self, contexts: Sequence[Context], value: jax.Array, state_sharding: StateSharding
    ) -> None:
        self.state_sharding = state_sharding
        self.shape = value.shape
        super().__init__(contexts, value.shape, value.dtype, state_sharding.from_host(value))

    @property
    def _entry_shape(self) -> Shape:
        return self.state_sharding.part_shape(self.shape)

    def __len__(self) -> int:
        return 1

    def _member_value(self, k: int) -> jax.Array:
        return self.state_sharding.fetch(self.stacked_value, self.shape)

    def copy_first(self) -> None:
        self.assign(self.state_sharding.from_host(self[0].value))

    def part(self, k: int) -> None: ...

    def _stacked_from(self, parts: dict[int, jax.Array]) -> jax.Array:
        return self.state_sharding.from_host(parts[0])


@dataclass(frozen=True)
class StateShardedUpdate:
    """An update of sharded states; ``leaves`` are whole shapes of sharded leaves, or None."""

    update: UpdateFunction
    sharding: StateSharding
    leaves: tuple[Shape | None, ...]

    def __hash__(self) -> int:
        return hash((self.update, self.leaves[:1]))


def update_in_program(
    update: UpdateFunction, weights: Sequence[ReplicatedArray], cells: Sequence[Any]
) -> Any:
    if weights[0].replicas.width > 1:
        specs = (tuple([x.replicas.spec for x in arrays]) for arrays in (weights, cells))
        return ShardedUpdate(update, *specs)
    sharded = [x for x in cells if isinstance(x, ShardedState)]
    if not sharded:
        return update
    leaves = tuple([x.shape if isinstance(x, ShardedState) else None for x in cells])
    return StateShardedUpdate(update, sharded[0].state_sharding, leaves)


# -- steps -----------------------------------------------------------------------------------------


class _Operands(NamedTuple):
    """Weights, gradients and states of an update: the device's parts, and ``whole`` ones."""

    parts: list[Raw]
    whole: list[Raw]
    hyperparams: Raw
    key_data: Raw


class _Late:
    def __init__(self, sharded: StateShardedUpdate) -> None:
        self.sharded = sharded
        self.operands: _Operands | None = None
        loss_scale = getattr(sharded.update, "loss_scale", None)
        if loss_scale is not None:
            self.loss_scale = loss_scale

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]:
        sharding = self.sharded.sharding
        own = [sharding.own_part(w) if sharding.shards(w) else w for w in weights]
        shapes = _operand_shapes(self.sharded, [w.shape for w in weights])
        arrays = [*own, *grads, *jax.tree.leaves(state)]
        parts = [x for x, s in zip(arrays, shapes, strict=True) if s is not None]
        whole = [x for x, s in zip(arrays, shapes, strict=True) if s is None]
        self.operands = _Operands(parts, whole, hyperparams, key_data)
        return (), ()


def _operand_shapes(sharded: StateShardedUpdate, weights: Sequence[Shape]) -> list[Shape | None]:
    shapes = [None if sharded.sharding.axis(s) is None else s for s in weights]
    return [*shapes, *shapes, *sharded.leaves]


class LateUpdates:
    """The updates of a step while its mapped part is traced, by whose ``spec`` sharded ones only
    record operands; ``places`` of small weights are from :func:`gather_offsets`."""

    def __init__(self, spec: StepSpec, places: Arrays = ()) -> None:
        updates = [
            u._replace(update=_Late(u.update)) if isinstance(u.update, StateShardedUpdate) else u
            for u in spec.updates
        ]
        self.spec = spec._replace(updates=tuple(updates))
        self._places = tuple(places)

    @cached_property
    def _late(self) -> list[_Late]:
        return [u.update for u in self.spec.updates if isinstance(u.update, _Late)]

    def sums(self, grads: Arrays, sums_of: Callable[[Arrays], Arrays]) -> Operands:
        """Returns the sums of the gradients that the updates take, or the device's parts."""
        shardings = _shardings(self.spec, grads)
        scattered = [s is not None and s.scatters(g) for s, g in zip(shardings, grads, strict=True)]
        whole = iter(
            sums_of([g for g, is_alone in zip(grads, scattered, strict=True) if not is_alone])
        )
        results: list[Raw] = []
        for grad, sharding, is_alone in zip(grads, shardings, scattered, strict=True):
            total = None if is_alone else next(whole)
            if sharding is not None:
                total = sharding.sum_into_parts(grad) if is_alone else sharding.own_part(total)
            results.append(total)
        return tuple(results)

    def not_late(self, groups: Sequence[Any]) -> Operands:
        pairs = zip(groups, self.spec.updates, strict=True)
        return tuple([() if isinstance(u.update, _Late) else g for g, u in pairs])

    def with_operands(self, results: Tree) -> Tree:
        if not self._late:
            return results
        operands = [o for late in self._late if (o := late.operands) is not None]
        parts = [o.parts for o in operands]
        return (results, parts), ([o[1:] for o in operands], self._places)


def _shardings(spec: StepSpec, arrays: Arrays) -> list[StateSharding | None]:
    shardings: list[StateSharding | None] = []
    rest = iter(arrays)
    for targets, update, _ in spec.updates:
        sharded = update.sharded if isinstance(update, _Late) else update
        for array in [next(rest) for _ in targets]:
            if isinstance(sharded, StateShardedUpdate) and sharded.sharding.shards(array):
                shardings.append(sharded.sharding)
            else:
                shardings.append(None)
    return shardings


def finish_updates(
    spec: StepSpec,
    mesh: jax.sharding.Mesh,
    old: Tree,
    new: Tree,
    operands: Tree,
    out_of_data: Raw = None,
) -> tuple[Operands, Operands]:
    """Computes the updates of sharded states, which the mapped part of a program has left out;
    returns the stacked weights and flat states of all updates.

    old, new
        stacked weights and states, for each update: before the step, and after its mapped part.
    out_of_data
        stacked number of devices without a batch: if there are any, everything stays as it is.
    """
    parts, others, places = operands
    weights, states = list(new[0]), list(new[1])
    updates = [u.update for u in spec.updates]
    late = {k: u for k, u in enumerate(updates) if isinstance(u, StateShardedUpdate)}
    for (k, sharded), own, (whole, hyperparams, key_data) in zip(
        late.items(), parts, others, strict=True
    ):
        on_mesh = _OnMesh(sharded.sharding, mesh)
        shapes = _operand_shapes(sharded, [w.shape[1:] for w in old[0][k]])
        rest, both = iter(whole), iter(own)
        arrays = [next(rest) if s is None else on_mesh.array(next(both), s) for s in shapes]
        count, tree = len(old[0][k]), jax.tree.structure(old[1][k])
        with jax.named_scope("update"):
            state = jax.tree.unflatten(tree, arrays[2 * count :])
            group, state = sharded.update(
                arrays[:count], arrays[count : 2 * count], state, hyperparams, key_data
            )
        weights[k], leaves = group, zip(jax.tree.leaves(state), sharded.leaves, strict=True)
        states[k] = tuple([on_mesh.copies(x) if s is None else on_mesh.parts(x) for x, s in leaves])
    on_mesh = _OnMesh(next(iter(late.values())).sharding, mesh)
    gathered = iter(on_mesh.gathered([w for k in late for w in weights[k]], places))
    for k in late:
        weights[k] = tuple([on_mesh.copies(next(gathered)) for _ in weights[k]])
    if out_of_data is not None:
        for k in late:
            weights[k] = _unless(out_of_data, weights[k], old[0][k])
            states[k] = _unless(out_of_data, states[k], jax.tree.leaves(old[1][k]))
    return tuple(weights), tuple(states)


def finish_of_step(spec: StepSpec) -> Function | None:
    if not any(isinstance(u.update, StateShardedUpdate) for u in spec.updates):
        return None

    def finish(mesh: jax.sharding.Mesh, args: Sequence[Any], results: Tree, operands: Tree) -> Tree:
        (*updated, states), *others = results
        out_of_data = others[-1] if spec.joins_processes else None
        donated = args[0].tree if isinstance(args[0], Donated) else args[0]
        new = finish_updates(spec, mesh, donated, updated, operands, out_of_data)
        return (*new, states), *others

    return finish


def _unless(out_of_data: Raw, new: Arrays, old: Arrays) -> Operands:
    pairs = zip(new, old, strict=True)
    return tuple(
        [jnp.where(out_of_data.reshape(-1, *[1] * (x.ndim - 1)) > 0, y, x) for x, y in pairs]
    )


class _OnMesh:
    def __init__(self, sharding: StateSharding, mesh: jax.sharding.Mesh) -> None:
        self._sharding = sharding
        self._mesh = mesh

    def _constrained(self, array: Raw, *spec: Any) -> Tree:
        return lax.with_sharding_constraint(array, NamedSharding(self._mesh, PartitionSpec(*spec)))

    def array(self, parts: Raw, shape: Shape) -> Any:
        return self._constrained(self._sharding.whole(parts, shape), *self._sharding.spec(shape))

    def parts(self, array: Raw) -> Tree:
        return self._constrained(self._sharding.parts(array), self._sharding.axes)

    def copies(self, array: Raw) -> Tree:
        stacked = jnp.broadcast_to(array, (self._sharding.count, *array.shape))
        return self._constrained(stacked, self._sharding.axes)

    def gathered(self, arrays: Arrays, places: Arrays) -> list[Raw]:
        """Returns sharded arrays whole on all devices; small ones travel in one message."""
        sharding, results = self._sharding, list(arrays)
        sharded = [i for i, x in enumerate(arrays) if sharding.shards(x)]
        layout = _gather_layout(sharding, [arrays[i] for i in sharded])
        rest = iter(places)
        for group in layout.together:
            each = [self.parts(arrays[sharded[k]]) for k in group]
            rows = jnp.concatenate([x.reshape(sharding.count, -1) for x in each], 1)
            rows = self._constrained(self._constrained(rows, sharding.axes))
            for k, x in zip(group, each, strict=True):
                own = lax.dynamic_slice_in_dim(rows, next(rest), x[0].size, axis=1)
                results[sharded[k]] = sharding.whole(own.reshape(x.shape), arrays[sharded[k]].shape)
        for k in layout.alone:
            results[sharded[k]] = self._constrained(arrays[sharded[k]])
        return results


def _gather_layout(sharding: StateSharding, arrays: Arrays) -> Tree:
    together = sharding.joins_processes and sharding.replicas.of_job.joins_messages
    forms = [(math.prod(sharding.part_shape(x.shape)), jnp.dtype(x.dtype)) for x in arrays]
    return messages_of(tuple(forms), together)


def summed_whole(spec: StepSpec, weights: Sequence[Arrays]) -> list[Raw]:
    flat = [jax.ShapeDtypeStruct(w.shape[1:], w.dtype) for group in weights for w in group]
    pairs = zip(flat, _shardings(spec, flat), [w for group in weights for w in group], strict=True)
    return [w for x, s, w in pairs if s is None or not s.scatters(x)]


def gather_offsets(spec: StepSpec, weights: Sequence[Arrays]) -> Operands:
    flat = [jax.ShapeDtypeStruct(w.shape[1:], w.dtype) for group in weights for w in group]
    pairs = [(s, x) for s, x in zip(_shardings(spec, flat), flat, strict=True) if s is not None]
    if not pairs:
        return ()
    sharding = pairs[0][0]
    layout = _gather_layout(sharding, [x for _, x in pairs])
    return tuple(map(sharding.replicas.of_job.scalar, layout.offsets)) if layout.offsets else ()
