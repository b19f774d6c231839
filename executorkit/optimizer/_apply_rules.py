"""Rules applied to NDArrays: one compiled call for any number of parameters.

Weights and states are written in place: the program writes into their buffers, or, where someone
else may hold these, into copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context, Device
from ..errors import DTypeError, InputTypeError, ShapeError, explain
from ..ndarray import NDArray
from ..ndarray.random_state import next_key_data, wrap_key
from ._rule import Rule, State

_traces = 0


class ApplyInfo(NamedTuple):
    """hits and misses by rules and structure, programs held, limit; traces of all of them."""

    hits: int
    misses: int
    programs: int
    limit: int
    traces: int


def apply_cache_info() -> ApplyInfo:
    """How the cache of compiled updates has been used so far in this process."""
    info = _program.cache_info()
    return ApplyInfo(info.hits, info.misses, info.currsize, info.maxsize or 0, _traces)


def same_shape_and_dtype(weight: Any, grad: Any) -> bool:
    """Whether these are NDArrays of one shape and dtype."""
    return (
        isinstance(weight, NDArray)
        and isinstance(grad, NDArray)
        and weight.shape == grad.shape
        and weight.storage.dtype == grad.storage.dtype
    )


def check_arrays(where: str, weight: Any, grad: Any) -> None:
    """InputTypeError, ShapeError or DTypeError for a gradient that does not fit its weight."""
    for name, x in (("weight", weight), ("grad", grad)):
        if not isinstance(x, NDArray):
            raise InputTypeError(
                explain(
                    where,
                    f"{name} is {type(x).__name__}, expected an NDArray",
                    hint="mx.nd.array(...)",
                )
            )
    if weight.shape != grad.shape:
        raise ShapeError(explain(where, f"grad is {grad.shape}, expected {weight.shape}"))
    if weight.dtype != grad.dtype:
        given, expected = np.dtype(grad.dtype).name, np.dtype(weight.dtype).name
        raise DTypeError(
            explain(where, f"grad is {given}, expected {expected}", hint="grad.astype(...)")
        )


def apply_rules(
    rules: Sequence[Rule],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[State],
    numbers: Sequence[Sequence[float]],
) -> None:
    """Updates weights and states in place, each by its rule; arrays have been checked.

    Gradients that an executor has promised and nobody has looked at are not asked for: the update
    becomes a part of the program that computes them.
    """
    if not weights:
        return
    context = weights[0].context
    update, flat = step = plan_update(rules, numbers)
    words = step.words(context)
    run: Any = grads[0].storage.producer
    if hasattr(run, "targets"):  # it is Promising
        targets = run.targets(weights, grads)
        if targets is not None:
            run.update(targets, update, tuple(states), flat, words)
            return
    leaves, treedef = jax.tree.flatten((tuple(weights), tuple(states)))
    held = Counter(id(x.storage) for x in leaves)
    if max(held.values()) > 1 and len(weights) > 1:
        # A weight that is there twice is updated twice, as MXNet would do.
        for i in range(len(weights)):
            apply_rules([rules[i]], [weights[i]], [grads[i]], [states[i]], [numbers[i]])
        return
    held.update(id(g.storage) for g in grads)
    device = context.device
    with jax.enable_x64(True):
        new = _program(update, treedef)(
            [_donatable_value(x, held[id(x.storage)] == 1, device) for x in leaves],
            [_on_device(g.value, g.context.device, device) for g in grads],
            np.asarray(flat, np.float64),
            words,
        )
    for x, value in zip(leaves, new, strict=True):
        x.assign(_on_device(value, device, x.context.device))


class Promising(Protocol):
    """Who has promised gradients, and can compute an update together with them."""

    def targets(
        self, weights: Sequence[NDArray], grads: Sequence[NDArray]
    ) -> tuple[int, ...] | None:
        """Which of its gradients these are; None if it cannot take an update by them over."""
        ...

    def update(
        self, targets: tuple[int, ...], update: Any, state: Any, numbers: Sequence[float], key: Any
    ) -> None:
        """Takes the update over."""
        ...


@dataclass(frozen=True)
class CombinedUpdate:
    """Rules for several parameters as one update: ``widths`` of the numbers are for each."""

    rules: tuple[Rule, ...]
    widths: tuple[int, ...]

    def __call__(
        self, weights: Sequence[Any], grads: Sequence[Any], state: Any, numbers: Any, words: Any
    ) -> tuple[tuple[Any, ...], tuple[State, ...]]:
        """The new weights and states; ``words`` make the key that random rules draw from."""
        key = None if words is None else wrap_key(words)
        new, begin = [], 0
        parts = zip(self.rules, self.widths, weights, grads, state, strict=True)
        for i, (rule, width, *arrays) in enumerate(parts):
            own = None if key is None else jax.random.fold_in(key, i)
            weight, grad, own_state = arrays
            new.append(rule(weight, grad, own_state, numbers[begin : begin + width], own))
            begin += width
        found, states = zip(*new, strict=True)
        return found, states


def _on_device(value: jax.Array, here: Device, there: Device) -> jax.Array:
    return value if here == there else jax.device_put(value, there)


def _donatable_value(x: NDArray, alone: bool, device: Device) -> jax.Array:
    """The contents in a buffer that a program may write into: a copy if others may hold it.

    They may after ``executor.params()`` or ``x.jax``; nobody else holds what an update returns.
    """
    value = _on_device(x.value, x.context.device, device)
    return value if alone and x.owns_buffer else jnp.copy(value)


class PlannedUpdate(NamedTuple):
    """One step for several parameters: the update, and the numbers of all of them."""

    update: CombinedUpdate
    numbers: list[float]

    def words(self, context: Context) -> np.ndarray | None:
        """What the key of random rules is made of, from the context's stream; None if no rule
        draws."""
        return next_key_data(context) if any(r.uses_rng for r in self.update.rules) else None


def plan_update(rules: Sequence[Rule], numbers: Sequence[Sequence[float]]) -> PlannedUpdate:
    """A step by rules for each parameter, with the numbers of each."""
    update = CombinedUpdate(tuple(rules), tuple(map(len, numbers)))
    return PlannedUpdate(update, [x for own in numbers for x in own])


@lru_cache(maxsize=256)
def _program(update: CombinedUpdate, treedef: Any) -> Callable[..., list[jax.Array]]:
    def updated(
        leaves: list[jax.Array],
        grads: list[jax.Array],
        numbers: jax.Array,
        words: jax.Array | None,
    ) -> list[jax.Array]:
        global _traces
        _traces += 1
        weights, states = jax.tree.unflatten(treedef, leaves)
        return jax.tree.leaves(update(weights, grads, states, numbers, words))

    return jax.jit(updated, donate_argnums=0)
