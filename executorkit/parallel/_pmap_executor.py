"""A symbol bound to replicated arrays: one pmapped program for all devices of a group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ..arrays.protocol import PendingValue
from ..arrays.random_state import next_key_data, rewound_on_error, wrap_key
from ..context import Context
from ..executor import BoundGraph, Executor, PendingStep, PrecompileSpec, check_head_gradients
from ..lowering import Graph
from ..ndarray import NDArray
from ..ops.schema.inference import is_fully_known
from ..program import Program, ProgramCall, UpdateFunction
from ..symbol import Symbol
from ._job_steps import note_joint_step
from ._model_sharding import ProgramSharding
from ._pmap_program import PmapProgram
from ._replicas import Replicas
from ._replicated_array import PerDevice, ReplicatedArray
from ._state_sharding import update_in_program


class PmapExecutor(BoundGraph[ReplicatedArray]):
    """A symbol on all devices as one pmapped program, deferred as an Executor is.

    arg_arrays, grad_arrays, aux_arrays, outputs
        replicated arrays in the symbol's order; None where no gradient is wanted.
    execs
        an Executor for each device, on the members of the replicated arrays; made when asked for.
    runs_separately
        whether the devices have run their own programs since: where a script runs one of ``execs``
        by itself, or watches one with a monitor. Results are the same.
    last_step
        the last forward of all devices together.

    ``gradient_targets``, those of a training step, take the gradients in place of ``grad_arrays``.
    Updates then consume them.
    """

    def __init__(
        self,
        symbol: Symbol,
        graph: Graph,
        contexts: Sequence[Context],
        program: Program,
        arg_arrays: Sequence[ReplicatedArray],
        grad_arrays: Sequence[ReplicatedArray | None],
        grad_req: Sequence[str],
        aux_arrays: Sequence[ReplicatedArray],
        outputs: Sequence[ReplicatedArray],
        gradient_targets: Sequence[PendingValue] | None = None,
        lock: threading.RLock | None = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.grad_req = list(grad_req)
        self.grad_arrays = list(grad_arrays)
        self.replicas = Replicas.of(contexts)
        #: The program of one device, which the devices' program maps.
        self.device_program = program
        targets = gradient_targets or [g for g in grad_arrays if g is not None]
        super().__init__(
            graph,
            PmapProgram.of(program, self.replicas, _sharding_of(arg_arrays, aux_arrays)),
            arg_arrays,
            aux_arrays,
            outputs,
            targets,
            accumulate=[self.grad_req[i] == "add" for i in program.argnums],
            keep_gradients=gradient_targets is None,
            lock=lock,
        )
        self.last_step: PendingStep | None = None
        self.runs_separately = False
        program.add_user(self)

    @cached_property
    def execs(self) -> list[ReplicaExecutor]:
        """One executor per device, created on first access."""
        return [ReplicaExecutor(self, k) for k in range(len(self.contexts))]

    def run_separately(self) -> None:
        """Notes that a device has run its own program."""
        self.runs_separately = True

    # -- what a pending step needs ---------------------------------------------------------------

    def next_key(self) -> jax.Array:
        """Draws the data of one key per device, each from its context's stream; where processes
        train together, from the streams that one process of all devices would use. Every process
        draws from all of these, so that each saves the state of all."""
        if not self.joins_processes:
            return self.replicas.keys(self.contexts)
        kinds = [c.device_type for c in self.contexts] * jax.process_count()
        width = self.replicas.width
        drawn = [next_key_data(Context(kind, k * width)) for k, kind in enumerate(kinds)]
        first = jax.process_index() * len(self.contexts)
        return self.replicas.from_host(np.stack(drawn[first : first + len(self.contexts)]))

    def key_aval(self) -> jax.ShapeDtypeStruct:
        return self._aval(self.replicas, (2,), "uint32")

    def filled_like(self, array: ReplicatedArray, number: float) -> jax.Array:
        return array.replicas.filled(array.shape, array.dtype, number)

    def device_key(self, key_data: Any, k: int) -> Any:
        """Returns device ``k``'s key in a step; None where there are no keys."""
        return None if key_data is None else wrap_key(self.replicas.split(key_data, k))

    def update_for(
        self,
        update: UpdateFunction,
        weights: Sequence[ReplicatedArray],
        state: Sequence[PendingValue],
    ) -> UpdateFunction:
        return update_in_program(update, weights, state)

    def note_step(self, results: Any, undo: Sequence[Callable[[], object]]) -> None:
        note_joint_step(results, [self.arg_arrays[i] for i in self.program.argnums], undo)

    @staticmethod
    def _aval(replicas: Replicas, shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
        stacked = (len(replicas), *shape)
        return jax.ShapeDtypeStruct(stacked, dtype, sharding=replicas.sharding)

    def calls(self, spec: PrecompileSpec) -> list[ProgramCall]:
        """Returns the calls that the devices will make, with abstract arguments."""
        args, aux, outputs = (
            tuple([self._aval(a.replicas, a.shape, a.dtype) for a in arrays])
            for arrays in (self.arg_arrays, self.aux_arrays, self.outputs)
        )
        return list(spec.calls(self, args, aux, outputs, with_update=True))

    # -- running -----------------------------------------------------------------------------------

    def forward(self, is_train: bool) -> None:
        """Defers the outputs on all devices."""
        execs = self.__dict__.get("execs", ())  # none before they have been asked for
        self.runs_separately = any(e.is_monitored for e in execs)
        if self.runs_separately:
            for executor in execs:
                executor.forward(is_train)
            return
        for executor in execs:
            executor.forget_step()
        self.overwrite_constants()
        with rewound_on_error(self.uses_rng[is_train]):
            self.last_step = PendingStep(self, is_train)

    def backward(self, heads: Sequence[PerDevice | None]) -> None:
        """Computes the gradients on all devices, given the outputs' head gradients."""
        if self.runs_separately:
            for k, executor in enumerate(self.execs):
                executor.backward([None if h is None else h[k] for h in heads])
            return
        step = self.last_step
        if step is None:
            self.overwrite_constants()
            self.last_step = step = PendingStep(self, True)
        values = tuple([h.value if isinstance(h, ReplicatedArray) else None for h in heads])
        needed = self.program.may_need_head_gradient
        if any(n and h is None for n, h in zip(needed, values, strict=True)):
            check_head_gradients(values, self.output_names, step.needs_head_gradients())
        step.backward(values)


def _sharding_of(
    args: Sequence[ReplicatedArray], aux: Sequence[ReplicatedArray]
) -> ProgramSharding | None:
    if next(iter((*args, *aux))).replicas.width == 1:
        return None
    return ProgramSharding(*(tuple([a.replicas.spec for a in arrays]) for arrays in (args, aux)))


class ReplicaExecutor(Executor):
    """The executor of one device of a group, on that device's members of the group's arrays.

    A whole Executor: running it by itself writes to the same arrays. ``backward`` after the
    group's ``forward`` goes back through this device's part of it.
    """

    def __init__(self, group: PmapExecutor, k: int) -> None:
        super().__init__(
            group.symbol,
            group.contexts[k],
            [a[k] for a in group.arg_arrays],
            [None if g is None else g[k] for g in group.grad_arrays],
            group.grad_req,
            [a[k] for a in group.aux_arrays],
            outputs=[o[k] for o in group.outputs],
        )
        self._group = group
        self._position = k

    def forget_step(self) -> None:
        self.last_step = None

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        self._group.run_separately()
        return super().forward(is_train, **kwargs)

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        group_step = self._group.last_step
        if self.last_step is None and group_step is not None:
            key = self._group.device_key(group_step.key, self._position)
            self.last_step = PendingStep(self, group_step.train, key)
        super().backward(out_grads, is_train)


def replicated_outputs(
    contexts: Sequence[Context], shapes: Sequence[Any], dtypes: Sequence[str | None]
) -> list[ReplicatedArray]:
    assert all(is_fully_known(s) for s in shapes)
    forms = zip(shapes, dtypes, strict=True)
    return [ReplicatedArray(contexts, s, d or "float32") for s, d in forms]
