"""The runnable: everything that a pending step needs of whoever runs it.

A :class:`~executorkit.executor.PendingStep` is one forward call and the backward and update that
may follow. It reads its program, its buffers, its random key and its gradient targets from a
runnable: an Executor, a replicated executor of several devices, or the backend of a training step.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import jax

from ..lowering import Graph
from ..ndarray.pending import (
    register_pending_owner,
    resolve_pending,
    unregister_pending_owner,
)
from ..ndarray.protocol import PendingValue
from ..program import BaseProgram
from ._buffers import Buffers

#: The kind of array that a runnable is bound to: one per device, or replicated over devices.
Value = TypeVar("Value", bound=PendingValue)


class Runnable(ABC, Generic[Value]):
    """Arrays bound to the program of a graph.

    graph, output_names
        the graph as it was bound, before graph passes, and the names of its outputs.
    program
        the compiled functions that its steps call.
    arg_arrays, aux_arrays, outputs
        pending values in the order of the graph.
    gradient_targets
        pending values that gradients are written to, one for each of ``program.argnums``.
    accumulate
        for each of them, whether gradients are added to its contents (``grad_req='add'``).
    duplicate_targets
        positions of gradient targets that stand earlier in the list already.
    uses_rng
        whether inference and training draw random numbers.
    runs_eagerly
        whether the graph has effects, so that nothing of it is deferred.
    keep_gradients
        whether gradients are stored although an update has consumed them in the same program.
    steps
        number of training steps since the optimizer of these arrays has counted an update, where
        somebody knows one, or since they were bound.
    age
        age of the training that the arrays belong to, on which it depends whether a step is
        interpreted: the number of updates or of steps, whichever is larger; None once somebody has
        asked for compiled programs.
    is_registered
        whether ``waitall`` will force it: since something was deferred, until then.
    lock
        held by the thread that changes or runs one of its steps. Runnables with the same outputs
        share it.
    """

    arg_arrays: list[Value]
    aux_arrays: list[Value]
    outputs: list[Value]

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
        self.duplicate_targets = _duplicate_positions(self.gradient_targets)
        self.target_indices = {id(t): k for k, t in enumerate(self.gradient_targets)}
        self.uses_rng = (graph.uses_rng(False), graph.uses_rng(True))
        self.runs_eagerly = graph.has_effects
        self.keep_gradients = keep_gradients
        self._updates = 0
        self.steps = 0
        self.age: int | None = 0
        self.is_registered = False
        self.buffers = Buffers.of(
            self.arg_arrays, self.aux_arrays, self.gradient_targets, self.outputs
        )
        self._constants: dict[int, jax.Array] = {}

    def set_updates(self, updates: int) -> None:
        """Takes over the number of updates that an optimizer has counted."""
        if updates != self._updates:
            self._updates = updates
            self.count_steps(0)

    def count_steps(self, steps: int) -> None:
        """Takes over the number of training steps since the last update."""
        self.steps = steps
        if self.age is not None:
            self.age = max(self._updates, steps)

    def take_age_of(self, other: Runnable[Any]) -> None:
        """Goes on with the training of another runnable, whose arrays these share."""
        self._updates, self.steps, self.age = other._updates, other.steps, other.age

    def compile_at_once(self) -> None:
        """Has no step interpreted from now on."""
        self.age = None

    @abstractmethod
    def next_key(self) -> Any:
        """A new random key from the stream of the runnable's context."""

    @property
    def fed_positions(self) -> frozenset[int]:
        """Positions of the arguments that are expected to change from call to call; empty where
        inference prepares nothing."""
        return frozenset()

    def infer(self, args: Sequence[Any], aux: Sequence[Any], key: Any) -> Any:
        """Runs inference: the outputs, and the auxiliary states that forward changes."""
        return self.program.infer[False](args, aux, key)

    @abstractmethod
    def key_aval(self) -> Any:
        """The shape and dtype of :meth:`next_key`'s result."""

    @abstractmethod
    def filled_like(self, array: Value, number: float) -> jax.Array:
        """New contents for an array: one number everywhere."""

    @property
    def can_fuse_updates(self) -> bool:
        """True if an update can become a part of the program that computes the gradients."""
        return self.program.can_fuse_updates and not (self.runs_eagerly or self.duplicate_targets)

    def set_keep_gradients(self, keep: bool) -> None:
        """Chooses whether gradients that an update consumes are stored nevertheless."""
        self.keep_gradients = keep

    def overwrite_constants(self) -> None:
        """Overwrites the arguments that MXNet overwrites when it runs (gamma, with fix_gamma)."""
        for index, number in self.program.constant_inputs:
            target = self.arg_arrays[index]
            constant = self._constants.get(index)
            if constant is None or target.value is not constant:
                constant = self._constants[index] = self.filled_like(target, number)
                target.assign(constant, shared=True)

    def register(self) -> None:
        """Lets ``waitall`` force what is deferred from now on; whoever defers holds the lock."""
        register_pending_owner(self)
        self.is_registered = True

    def force(self) -> None:
        """Computes everything that these arrays still wait for."""
        arrays = (self.gradient_targets, self.outputs, self.aux_arrays, self.arg_arrays)
        try:
            with self.lock:
                self.is_registered = False
                unregister_pending_owner(self)
            resolve_pending(itertools.chain(*arrays))
        except BaseException:  # some work may be left
            self.register()
            raise


def _duplicate_positions(arrays: Sequence[Any]) -> frozenset[int]:
    """Positions of arrays that stand earlier in the list already."""
    seen: set[int] = set()
    return frozenset(i for i, a in enumerate(arrays) if id(a) in seen or seen.add(id(a)))
