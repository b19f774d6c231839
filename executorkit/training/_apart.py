"""A step on a group whose slices run as a program each: uneven ones, or repeated contexts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..ndarray import NDArray
from ..optimizer import Updater
from ..parallel._batch import gather
from ..parallel._group import DataParallelCore
from ..program._counted import InstrumentedJit
from ..program._stepping import StepSpec, UpdateFunction
from ._cells import StateRef
from ._targets import ExecutorBackend, scatter_head_gradients


class PerDeviceBackend:
    """What :class:`ExecutorBackend` is for one executor, for several that cannot run as one program.

    Forward and backward run on every device, without waiting; the first one sums the gradients and
    updates its weights and the state, and the others get copies of the weights. Nothing is donated.
    """

    def __init__(
        self, group: DataParallelCore, wanted: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        self._group = group
        self._axes = axes
        self._wanted = wanted
        self._members = [ExecutorBackend(e, wanted) for e in group.execs]
        self.arg_arrays = group.arg_arrays
        self.aux_arrays = group.aux_arrays

    def functions(self, plan: StepSpec) -> list[InstrumentedJit]:
        """The compiled functions of a step."""
        ((_, update, _),) = plan.parts
        programs = {id(m._program): m._program for m in self._members}
        return [*(p.forward_backward[True] for p in programs.values()), _update_program(update)]

    def start(self) -> _PerDeviceStep:
        """A training forward on all devices, to be gone back through and updated by."""
        return _PerDeviceStep(self._members, self._wanted)

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients of the whole batch for each output, a list with one for each device."""
        return scatter_head_gradients(self._group, out_grads, names, self._axes)

    def cell(self, value: jax.Array) -> StateRef:
        """What holds one array of the optimizer's state."""
        return self._members[0].cell(value)

    def value(self, cell: Any) -> jax.Array:
        """The array that a cell holds."""
        return cell.value

    def state_of(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        return updater.states[index]

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self._members[0].arg_arrays[i]

    def shown_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch."""
        outputs = zip(*(m.outputs for m in self._members), strict=True)
        return [gather(list(o), axis) for o, axis in zip(outputs, self._axes, strict=True)]


class _PerDeviceStep:
    """One step: what its devices start with, then backward and an update."""

    def __init__(self, members: Sequence[ExecutorBackend], wanted: tuple[int, ...]) -> None:
        self._members = members
        self._wanted = wanted
        for member in members:
            member.executor._pin(member._program.constant_inputs)
        self._inputs = [
            (
                tuple(a.value for a in m.arg_arrays),
                tuple(a.value for a in m.aux_arrays),
                m._next_key() if m._draws[True] else None,
            )
            for m in members
        ]
        self.executor = members[0]
        self.args, self.aux, self.key = self._inputs[0]
        self._heads: Sequence[Any] = ()

    def backward(self, heads: Sequence[Any]) -> None:
        """Takes the head gradients."""
        self._heads = heads

    def update(
        self, targets: Sequence[int], update: UpdateFunction, state: Any, numbers: Sequence[float],
        words: Any,
    ) -> None:  # fmt: skip
        """Computes the gradients and updates everything by them."""
        cells, tree = jax.tree.flatten(state, is_leaf=lambda x: hasattr(x, "set_result"))
        values = jax.tree.unflatten(tree, [c.value for c in cells])
        loss_scale = getattr(update, "loss_scale", None)
        scale = None if loss_scale is None else loss_scale(values)
        place = self.executor.executor._ctx.device
        found = [self._backward(k, scale) for k in range(len(self._members))]
        grads = [tuple(jax.device_put(g, place) for g in own) for own in found]
        weights = tuple(self.args[i] for i in self._wanted)
        new, state = _update_program(update)(
            weights, grads, values, np.array(numbers, np.float64), words
        )
        for cell, value in zip(cells, jax.tree.leaves(state), strict=True):
            cell.assign(value)
        for member in self._members:
            device = member.executor._ctx.device
            for i, value in zip(self._wanted, new, strict=True):
                member.arg_arrays[i].assign(jax.device_put(value, device), shared=True)

    def _backward(self, k: int, scale: Any) -> Sequence[Any]:
        """The gradients of one device, whose outputs and auxiliary states are written."""
        member, (args, aux, key) = self._members[k], self._inputs[k]
        heads = [None if h is None else h[k].value for h in self._heads]
        if scale is not None:
            scale = jax.device_put(scale, member.executor._ctx.device)
            heads = [None if h is None else h * scale.astype(h.dtype) for h in heads]
        program = member._program
        function = program.forward_backward[True]
        given = (args, aux, key, tuple(heads), ())
        outputs, _, states, grads = function(*given) if scale is None else function(*given, scale)
        for output, value in zip(member.outputs, outputs, strict=True):
            output.assign(value)
        for n, value in zip(program.backward_state_indices, states, strict=True):
            member.aux_arrays[n].assign(value)
        return grads


@lru_cache(maxsize=64)
def _update_program(update: UpdateFunction) -> InstrumentedJit:
    """The program ``(weights, gradients of each device, state, numbers, words) -> (weights,
    state)``."""

    def step(weights: Any, grads: Any, state: Any, numbers: Any, words: Any) -> Any:
        total = [sum(own[1:], start=own[0]) for own in zip(*grads, strict=True)]
        new, state = update(weights, tuple(total), state, numbers, words)
        return tuple(new), state

    return InstrumentedJit(step, "update")
