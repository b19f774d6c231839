"""A symbol bound to stacked arrays: one program for all devices of a group."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax

from ..context import Context
from ..errors import MXNetError, explain
from ..executor import Executor
from ..executor._buffers import Buffers
from ..executor._pending_step import PendingStep
from ..executor._precompile_spec import PrecompileSpec, ProgramCall
from ..executor._validation import check_head_gradients
from ..lowering import Graph
from ..ndarray import NDArray
from ..ndarray.pending import register_pending_owner, resolve_pending
from ..ndarray.random_state import wrap_key
from ..ops.schema.inference import is_fully_known
from ..program import Program
from ..program._train_step import StepSpec
from ..symbol import Symbol
from ._pmap_program import PmapFunction as MappedFunction
from ._pmap_program import PmapProgram
from ._replicas import Replicas
from ._replicated_array import PerDevice, ReplicatedArray


class PmapExecutor:
    """Runs a symbol on all devices at once; deferred like an Executor, of which it is the like.

    arg_arrays, grad_arrays, aux_arrays, outputs
        stacked arrays in the symbol's order; None for a gradient that is not wanted.
    execs
        an Executor for each device, on the members of the stacked arrays; made when asked for.

    Where a script runs one of ``execs`` by itself, or watches one with a monitor, the devices run
    their own programs instead, with the same results.
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
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.grad_req = list(grad_req)
        self.arg_arrays = list(arg_arrays)
        self.grad_arrays = list(grad_arrays)
        self.aux_arrays = list(aux_arrays)
        self.outputs = list(outputs)
        self._names = graph.output_names
        self._replicas = Replicas.on([c.device for c in contexts])
        self._program = PmapProgram.of(program, self._replicas)
        self._draws = (graph.uses_rng(False), graph.uses_rng(True))
        self._grad_targets = [g for g in grad_arrays if g is not None]
        self._target_numbers = {id(g): k for k, g in enumerate(self._grad_targets)}
        self._keep_gradients = True
        self._again: frozenset[int] = frozenset()
        self._eager = False
        self._pinned: dict[int, jax.Array] = {}
        self._run: PendingStep | None = None
        self._apart = False
        self._places = Buffers.of(arg_arrays, aux_arrays, self._grad_targets, outputs)
        register_pending_owner(self)

    @cached_property
    def execs(self) -> list[Executor]:
        return [ReplicaExecutor(self, k) for k in range(len(self.contexts))]

    @property
    def _fusable(self) -> bool:
        """Whether an update can be a part of the mapped program: not if other processes have
        gradients too."""
        return jax.process_count() == 1

    def _step_function(self, train: bool, plan: StepSpec) -> MappedFunction:
        return self._program.step_function(train, plan)

    def _replicas_made(self) -> list[ReplicaExecutor]:
        return self.__dict__.get("execs", [])

    def force(self) -> None:
        """Computes whatever is promised to one of these arrays and not computed yet."""
        promised = (self._grad_targets, self.outputs, self.aux_arrays, self.arg_arrays)
        resolve_pending(itertools.chain(*promised))

    def _next_key(self) -> jax.Array:
        """One key per device, each from its context's stream."""
        return self._replicas.keys(self.contexts)

    def _key_aval(self) -> jax.ShapeDtypeStruct:
        return self._aval((2,), "uint32")

    def _aval(self, shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
        stacked = (len(self.contexts), *shape)
        return jax.ShapeDtypeStruct(stacked, dtype, sharding=self._replicas.sharding)

    def calls(self, request: PrecompileSpec) -> list[ProgramCall]:
        """What the devices will run, said in shapes."""
        args, aux, outputs = (
            tuple([self._aval(a.shape, a.dtype) for a in arrays])
            for arrays in (self.arg_arrays, self.aux_arrays, self.outputs)
        )
        return list(request.calls(self, args, aux, outputs, steps=True))

    def forward(self, is_train: bool) -> None:
        """Promises the outputs on all devices."""
        made = self._replicas_made()
        self._apart = any(e._callback is not None for e in made)
        if self._apart:
            for executor in made:
                executor.forward(is_train)
            return
        for executor in made:
            executor._run = None
        self._pin()
        self._run = PendingStep(self, is_train)  # type: ignore[arg-type]

    def backward(self, heads: Sequence[PerDevice | None]) -> None:
        """Computes the gradients on all devices; ``heads`` are the outputs' head gradients."""
        if self._apart:
            for k, executor in enumerate(self.execs):
                executor.backward([None if h is None else h[k] for h in heads])
            return
        run = self._run
        if run is None:
            raise no_forward_error()
        stacks = tuple([h.value if isinstance(h, ReplicatedArray) else None for h in heads])
        if any(n and h is None for n, h in zip(self._may_need_head, stacks, strict=True)):
            check_head_gradients(
                stacks, self._names, self._program.needs_head_gradient(run.args, run.aux, run.key)
            )
        run.backward(stacks)

    @property
    def _may_need_head(self) -> tuple[bool, ...]:
        return self._program.program.may_need_head_gradient

    def _pin(self) -> None:
        """Overwrites what MXNet overwrites when it runs (gamma, with fix_gamma)."""
        for number, constant in self._program.constant_inputs:
            target = self.arg_arrays[number]
            pinned = self._pinned.get(number)
            if pinned is None or target.value is not pinned:
                value = self._replicas.filled(target.shape, target.dtype, constant)
                self._pinned[number] = value
                target.assign(value, shared=True)


class ReplicaExecutor(Executor):
    """The executor of one device of a group, on that device's members of the group's arrays.

    A whole Executor: running it by itself writes to the same arrays. ``backward`` after the
    group's ``forward`` goes back through this device's part of it.
    """

    def __init__(self, mapped: PmapExecutor, k: int) -> None:
        super().__init__(
            mapped.symbol,
            mapped.contexts[k],
            [a[k] for a in mapped.arg_arrays],
            [None if g is None else g[k] for g in mapped.grad_arrays],
            mapped.grad_req,
            [a[k] for a in mapped.aux_arrays],
            outputs=[o[k] for o in mapped.outputs],
        )
        self._mapped = mapped
        self._number = k

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """As :meth:`Executor.forward`, on this device alone."""
        self._mapped._apart = True
        return super().forward(is_train, **kwargs)

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """As :meth:`Executor.backward`, on this device alone."""
        group_run = self._mapped._run
        if self._run is None and group_run is not None:
            key = group_run.key
            if key is not None:
                key = wrap_key(self._mapped._replicas.split(key, self._number))
            self._run = PendingStep(self, group_run.train, key)
        super().backward(out_grads, is_train)


def no_forward_error() -> MXNetError:
    """The error of a backward that has nothing to go back through."""
    return MXNetError(
        explain(
            "backward",
            "there was no forward to go back through",
            hint="call forward(is_train=True) first",
        )
    )


def replicated_outputs(
    contexts: Sequence[Context], shapes: Sequence[Any], dtypes: Sequence[str | None]
) -> list[ReplicatedArray]:
    """Stacked arrays for outputs of the shapes that were inferred for one device."""
    assert all(is_fully_known(s) for s in shapes)
    return [
        ReplicatedArray(contexts, s, d or "float32") for s, d in zip(shapes, dtypes, strict=True)
    ]
