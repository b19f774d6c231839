"""One forward call: a snapshot of its inputs, and the work that is done when someone looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from ..ndarray import NDArray
from ..ndarray._pending import register

if TYPE_CHECKING:
    from ._executor import Executor


class Run:
    """What one call of ``Executor.forward`` promised.

    The snapshot is free, since arrays are immutable. ``resolve`` computes the outputs when one is
    looked at; ``backward`` before that runs forward and backward as one program.
    """

    __slots__ = (
        "__weakref__", "args", "aux", "done", "executor", "key", "residuals", "resolve",
        "step_aux", "train",
    )  # fmt: skip

    def __init__(self, executor: Executor, train: bool, key: Any = None) -> None:
        self.executor = executor
        self.train = train
        self.args = tuple([a._value for a in executor.arg_arrays])
        self.aux = tuple([a._value for a in executor.aux_arrays])
        self.key = executor._next_key() if key is None and executor._draws[train] else key
        self.done = False
        self.residuals: Any = None
        self.step_aux: Sequence[Any] = ()
        self.resolve = self._resolve
        for output in executor.outputs:
            output._promise(self.resolve)
        register(self)

    def force(self) -> None:
        """Computes the outputs, unless that has happened."""
        if not self.done:
            self._resolve()

    def _resolve(self) -> None:
        program = self.executor._program
        if self.train and program.wanted:
            outputs, side, step, residuals = program.forward[1](self.args, self.aux, self.key)
            self.step_aux, self.residuals = step, residuals
        else:
            outputs, side = program.infer[self.train](self.args, self.aux, self.key)
        self.keep(outputs, side)

    def keep(self, outputs: Sequence[Any], side_aux: Sequence[Any]) -> None:
        """Hands the outputs to the arrays that still wait for them."""
        self.done = True
        executor = self.executor
        for array, value in zip(executor.outputs, outputs, strict=True):
            array._fulfil(self.resolve, value)
        if side_aux:
            for n, value in zip(executor._program.side_aux_numbers, side_aux, strict=True):
                executor.aux_arrays[n]._assign(value)

    def backward(self, heads: Sequence[Any]) -> None:
        """Computes the gradients from this run's inputs and writes them to ``grad_arrays``."""
        executor = self.executor
        program = executor._program
        if not program.wanted:
            return
        targets: list[NDArray] = executor._grad_targets
        old = self._old_gradients(targets, program.add)
        if self.residuals is not None:
            step = self.step_aux
            grads = program.backward(self.residuals, heads, old)
        else:
            outputs, side, step, grads = program.forward_backward[self.train](
                self.args, self.aux, self.key, heads, old
            )
            if not self.done:
                self.keep(outputs, side)
        for i, (target, grad) in enumerate(zip(targets, grads, strict=True)):
            if program.add[i] and i in executor._again:
                with jax.enable_x64(True):
                    grad = target._value + grad
            target._assign(grad)
        if step:
            self._update_aux(step)

    def _old_gradients(self, targets: Sequence[NDArray], add: Sequence[bool]) -> tuple[Any, ...]:
        """What gradients are added to. An array that is the target of several arguments is read
        once; the others' gradients are added to it one after the other."""
        again = self.executor._again
        if not again:
            return tuple([t._value for t, a in zip(targets, add, strict=True) if a])
        with jax.enable_x64(True):
            return tuple(
                jax.numpy.zeros_like(t._value) if i in again else t._value
                for i, (t, a) in enumerate(zip(targets, add, strict=True))
                if a
            )

    def _update_aux(self, step: Sequence[Any]) -> None:
        """Writes what backward changes. MXNet starts from the state's value at that time, so a
        state that was written since the snapshot (by an earlier backward, say) is updated anew."""
        program = self.executor._program
        arrays = self.executor.aux_arrays
        numbers = program.step_aux_numbers
        current = tuple(a._value for a in arrays)
        if any(current[n] is not self.aux[n] for n in numbers):
            step = program.forward[1](self.args, current, self.key)[2]
        for n, value in zip(numbers, step, strict=True):
            arrays[n]._assign(value)
