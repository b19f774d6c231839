"""The runnable: arrays bound to a program, on which pending steps run.

A :class:`~executorkit.executor.PendingStep` reads its program, buffers, random key and gradient
targets from a runnable: an Executor, a replicated executor of several devices, the backend of a
training step, or a recorded trace.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import jax

from .._support.annotations import Arrays, Key, Operands, Raw, Tree
from ..arrays.handle import buffers_of
from ..arrays.pending import register_pending_owner, resolve_pending, unregister_pending_owner
from ..arrays.protocol import PendingValue
from ..calls.rollback import Rollback
from ..jax_internals import in_x64
from ..lowering import Graph
from ..program import BaseProgram, UpdateFunction
from ._buffers import Buffers

#: The kind of array that a runnable is bound to: one per device, or replicated over devices.
Value = TypeVar("Value", bound=PendingValue)


class Runnable(ABC, Generic[Value]):
    """Arrays bound to a program: what a pending step reads."""

    #: True if an update can become a part of backward where forward has run by itself.
    updates_by_residuals = False
    #: True if this backward is the last, so that weights may be donated with the residuals.
    is_used_up = False
    #: True if its arrays may be of sizes that are new to the program.
    is_new = False

    #: The graph as it was bound, before graph passes, and the names of its outputs.
    graph: Graph
    output_names: Sequence[str]
    program: BaseProgram
    #: Pending values in the order of the graph.
    arg_arrays: list[Value]
    aux_arrays: list[Value]
    outputs: list[Value]
    #: Pending values that gradients are written to, one for each of ``program.argnums``; whether
    #: they are added to its contents (``grad_req='add'``).
    gradient_targets: Sequence[PendingValue]
    accumulate: tuple[bool, ...]
    #: Positions of gradient targets that stand earlier in the list already.
    duplicate_targets: frozenset[int]
    target_indices: dict[int, int]
    #: For inference and training True if they draw random numbers.
    uses_rng: Sequence[bool]
    #: True if the graph has effects, so that nothing of it is deferred.
    runs_eagerly: bool
    #: True if gradients are stored although an update has consumed them in the same program.
    keep_gradients: bool
    #: True if ``waitall`` will force it: since something was deferred, until then.
    is_registered: bool
    #: Held by the thread that changes or runs a step. Runnables with the same outputs share it.
    lock: threading.RLock
    buffers: Buffers
    #: A flag: gradients that an update consumes are stored as sums over the devices.
    sums_gradients: bool = False
    #: A flag: updates are by the gradients of all processes of a job, which take steps together.
    joins_processes: bool = False

    @abstractmethod
    def next_key(self) -> Any:
        """Returns a new random key from the stream of the runnable's context."""

    @property
    def fed_positions(self) -> frozenset[int]:
        """Positions of the arguments that change from call to call, for prepared inference."""
        return frozenset()

    def infer(self, args: Arrays, aux: Arrays, key: Key) -> Tree:
        """Runs inference: the outputs, and the auxiliary states that forward changes."""
        return self.program.infer[False](args, aux, key)

    def key_aval(self) -> Any:
        """Returns the shape and dtype of :meth:`next_key`'s result."""
        raise NotImplementedError

    def filled_like(self, array: Value, number: float) -> jax.Array:
        """Returns new contents for an array: one number everywhere."""
        raise NotImplementedError

    def update_for(
        self, update: UpdateFunction, weights: Sequence[Value], state: Sequence[PendingValue]
    ) -> UpdateFunction:
        """Returns an update of these weights in the program, given the leaves of its state."""
        return update

    def note_step(self, results: Tree, undo: Sequence[Callable[[], object]]) -> None:
        """Notes the results of a step of all processes; ``undo`` takes its counts back."""

    @property
    def can_fuse_updates(self) -> bool:
        return self.program.can_fuse_updates and not (self.runs_eagerly or self.duplicate_targets)

    def set_keep_gradients(self, keep: bool) -> None:
        self.keep_gradients = keep

    # -- gradients that are added, and several with one target; programs know nothing of requests --

    def accumulated_gradients(self) -> Operands:
        targets = enumerate(zip(self.gradient_targets, self.accumulate, strict=True))
        adds = [t.value if a and k not in self.duplicate_targets else None for k, (t, a) in targets]
        return tuple(adds)

    @in_x64
    def final_gradients(self, grads: Arrays) -> Arrays:
        """Returns the gradients, with final contents in each place of a repeated target."""
        targets = self.gradient_targets
        final: dict[int, Raw] = {}
        for k, (target, grad) in enumerate(zip(targets, grads, strict=True)):
            adds = k in self.duplicate_targets and self.accumulate[k]
            final[id(target)] = final[id(target)] + grad if adds else grad
        return [final[id(target)] for target in targets]

    def register(self) -> None:
        register_pending_owner(self)
        self.is_registered = True

    @property
    def deferred_arrays(self) -> tuple[Sequence[PendingValue], ...]:
        args, aux, grads, outputs = self.buffers
        return grads, outputs, aux, args

    def force(self) -> None:
        with Rollback() as rollback:
            rollback.add(self.register)  # some work may be left
            with self.lock:
                self.is_registered = False
                unregister_pending_owner(self)
            resolve_pending(itertools.chain(*self.deferred_arrays))


class BoundGraph(Runnable[Value]):
    """Arrays bound to the program of a graph for many steps."""

    def __init__(
        self,
        graph: Graph,
        program: BaseProgram,
        arg_arrays: Sequence[Value],
        aux_arrays: Sequence[Value],
        outputs: Sequence[Value],
        gradient_targets: Sequence[PendingValue],
        accumulate: Sequence[bool],
        keep_gradients: bool = True,
        lock: threading.RLock | None = None,
    ) -> None:
        self.lock = threading.RLock() if lock is None else lock
        self.graph = graph
        self.output_names = graph.output_names
        self.program = program
        self.arg_arrays = list(arg_arrays)
        self.aux_arrays = list(aux_arrays)
        self.outputs = list(outputs)
        self.gradient_targets = list(gradient_targets)
        self.accumulate = tuple(accumulate)
        first: dict[int, int] = {}
        self.duplicate_targets = frozenset(
            k for k, t in enumerate(self.gradient_targets) if first.setdefault(id(t), k) != k
        )
        self.target_indices = {id(t): k for k, t in enumerate(self.gradient_targets)}
        self.uses_rng = (graph.uses_rng(False), graph.uses_rng(True))
        self.runs_eagerly = graph.has_effects
        self.keep_gradients = keep_gradients
        self.is_registered = False
        lists = (self.arg_arrays, self.aux_arrays, self.gradient_targets, self.outputs)
        self.buffers = Buffers(*[tuple(buffers_of(arrays)) for arrays in lists])
        self._constants: dict[int, jax.Array] = {}

    def overwrite_constants(self) -> None:
        for index, number in self.program.constant_inputs:
            target = self.arg_arrays[index]
            constant = self._constants.get(index)
            if constant is None or target.value is not constant:
                constant = self._constants[index] = self.filled_like(target, number)
                target.assign(constant, shared=True)
