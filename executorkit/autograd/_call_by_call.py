"""Runs of traces that do not recur, call by call: tracing each as one program would cost twenty
times as much as its calls.

Values are NumPy arrays where the host computes calls for good, otherwise JAX arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import Arrays, NumberedArrays, Raw, Tree
from ..arrays.random_state import wrap_key
from ..arrays.values import HOST_TYPES, to_device
from ..calls.ways import backward, forward
from ..context import Context
from ..ndarray import NDArray
from ..program import small_jit
from ._run import Contents, key_rows
from ._trace import DIFFERENTIATED, CallTrace, Role
from ._trace_plan import TracePlan


@small_jit
def sum_of(x: jax.Array, y: jax.Array) -> jax.Array:
    return x + y


def _add(x: Raw, y: Raw) -> Tree:
    return x + y if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) else sum_of(x, y)


def can_run_by_calls(trace: CallTrace) -> bool:
    def find() -> bool:
        return all(
            leaf.role is not Role.STATE
            and (leaf.role not in DIFFERENTIATED or jnp.issubdtype(leaf.dtype, jnp.inexact))
            for leaf in trace.all_leaves
        )

    return trace.pattern.known("by calls", find)


class CallRun:
    """The values of a trace, computed one call after the other; ``outputs`` are their numbers."""

    __slots__ = (
        "_active", "_calls", "_draws", "_keys", "_leaf_numbers", "_on_host", "context", "outputs",
        "values",
    )  # fmt: skip

    def __init__(
        self, trace: CallTrace, context: Context, leaves: Arrays, draws: Sequence[np.ndarray]
    ) -> None:
        self.context = context
        self._calls = trace.calls
        self._leaf_numbers = trace.leaf_numbers
        self._draws = draws
        self._on_host = context.device_typeid in HOST_TYPES
        device = context.device
        self._keys = [wrap_key(to_device(words, device)) for words in draws]
        self.outputs = range(trace.n_values)
        self.values: dict[int, Raw] = dict(zip(self._leaf_numbers, leaves, strict=True))
        kinds = zip(self._leaf_numbers, trace.all_leaves, strict=True)
        self._active = {n for n, kind in kinds if kind.role in DIFFERENTIATED}
        for call in self._calls:
            inputs = [self.values[n if n >= 0 else ~n] for n in call.inputs]
            train = call.op is call.resolved.op
            results = forward(call.resolved, train, self._key(call), inputs, self._on_host)
            self.values.update(zip(call.outputs, results, strict=False))
            if not self._active.isdisjoint(call.inputs):
                self._active.update(call.outputs)

    def _key(self, call: CallTrace) -> Any:
        return self._keys[call.n_draws - 1] if call.draws else None

    def array(self, number: int) -> jax.Array:
        return self._on_device(self.values[number])

    def _on_device(self, value: Any) -> jax.Array:
        return to_device(value, self.context.device) if isinstance(value, np.ndarray) else value

    def contents(self, plan: TracePlan) -> Contents:
        args = tuple([self.array(self._leaf_numbers[i]) for i in plan.sources])
        rows = key_rows(plan, self._draws)
        return args, (), None if rows is None else self._on_device(rows)

    def vjp(
        self, heads: NumberedArrays
    ) -> tuple[list[tuple[int, Raw]], list[tuple[int, NDArray, Raw]]]:
        grads = dict(heads)
        for call in reversed(self._calls):
            if any(n in grads for n in call.outputs):
                self._backward(call, grads)
        positions = {number: i for i, number in enumerate(self._leaf_numbers)}
        leaves = [(positions[n], self._on_device(g)) for n, g in grads.items() if n in positions]
        return leaves, []

    def _backward(self, call: CallTrace, grads: dict[int, Raw]) -> None:
        active = enumerate(call.inputs)
        positions = [k for k, n in active if n in self._active and self._is_floating(n)]
        outputs = [n for n in call.outputs if self._is_floating(n)]
        if not positions or not outputs:
            return
        heads = tuple([grads[n] if n in grads else self._zeros(n) for n in outputs])
        values = [self.values[n if n >= 0 else ~n] for n in call.inputs]
        computed = backward(
            call.resolved, call.op, tuple(positions), key=self._key(call), heads=heads,
            values=values, on_host=self._on_host,
        )  # fmt: skip
        for k, grad in zip(positions, computed, strict=True):
            n = call.inputs[k]
            grads[n] = _add(grads[n], grad) if n in grads else grad

    def _is_floating(self, number: int) -> bool:
        return jnp.issubdtype(self.values[number].dtype, jnp.inexact)

    def _zeros(self, number: int) -> np.ndarray:
        value = self.values[number]
        return np.zeros(value.shape, value.dtype)
