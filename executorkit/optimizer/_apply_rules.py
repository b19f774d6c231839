"""Updates of NDArrays by rules: as a part of the program that computes the gradients
(:func:`attach_update`), or as one compiled call for any number of parameters.

Weights and states are written in place: the program writes into their buffers, or, where someone
else may hold these, into copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context, Device
from ..errors import DTypeError, InputTypeError, ShapeError, explain
from ..ndarray import NDArray
from ..ndarray.protocol import PendingValue, UpdateCall
from ..ndarray.random_state import next_key_data, wrap_key
from ..program import SMALL_BYTES, CacheInfo, CodeCache, SmallJit
from ._rule import Rule, State

#: Further memory of a compiled update for each array that it writes, in bytes.
_ARRAY_BYTES = 30_000

_traces = 0
_updates: CodeCache[SmallJit] = CodeCache("updates", 256, 0.1)


def apply_cache_info() -> CacheInfo:
    """The use of the cache of compiled updates so far in this process."""
    return _updates.info(_traces)


def same_shape_and_dtype(weight: Any, grad: Any) -> bool:
    """True for two NDArrays of one shape and dtype."""
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
        actual, expected = np.dtype(grad.dtype).name, np.dtype(weight.dtype).name
        raise DTypeError(
            explain(where, f"grad is {actual}, expected {expected}", hint="grad.astype(...)")
        )


def attach_update(
    weights: Sequence[PendingValue],
    grads: Sequence[PendingValue],
    prepare: Callable[[], UpdateCall | None],
) -> bool:
    """Makes an update a part of the program that computes the gradients, if that is pending.

    weights, grads
        arrays to be updated, and the gradient of each.
    prepare
        makes the update with its state and this step's hyperparameters. It is called only when the
        pending step can take the update; None withdraws it.

    Returns False if the update cannot become a part of a program: the gradients have been computed,
    someone has looked at an output since forward, or a weight has been written. Nothing is changed
    then, and the caller updates by the gradients themselves.
    """
    producer = grads[0].pending
    return producer is not None and producer.attach_update(weights, grads, prepare)


def apply_rules(
    rules: Sequence[Rule],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[State],
    hyperparams: Sequence[Sequence[float]],
) -> None:
    """Updates weights and states in place, each by its rule; arrays have been checked.

    Gradients that are pending on an executor are not computed for that: the update becomes a part
    of the program that computes them.
    """
    if not weights:
        return
    context = weights[0].context
    planned = plan_update(rules, hyperparams)
    key_data = planned.key_data(context)
    call = UpdateCall(planned.update, tuple(states), planned.hyperparams, key_data)
    if attach_update(weights, grads, lambda: call):
        return
    leaves, treedef = jax.tree.flatten((tuple(weights), tuple(states)))
    uses = Counter(id(x.storage) for x in leaves)
    if max(uses.values()) > 1 and len(weights) > 1:
        # A weight that is there twice is updated twice, as in MXNet.
        for i in range(len(weights)):
            apply_rules([rules[i]], [weights[i]], [grads[i]], [states[i]], [hyperparams[i]])
        return
    uses.update(id(g.storage) for g in grads)
    device = context.device
    program = _updates.get_or_make(
        (planned.update, treedef), lambda: _jitted(planned.update, treedef)
    )
    with jax.enable_x64(True):
        new = program.function(
            [_donatable_value(x, uses[id(x.storage)] == 1, device) for x in leaves],
            [_on_device(g.value, g.context.device, device) for g in grads],
            np.asarray(planned.hyperparams, np.float64),
            key_data,
        )
    for x, value in zip(leaves, new, strict=True):
        x.assign(_on_device(value, device, x.context.device))


@dataclass(frozen=True)
class CombinedUpdate:
    """Rules for several parameters as one update; ``widths`` are their numbers of hyperparameters.

    A ``program.UpdateFunction``.
    """

    rules: tuple[Rule, ...]
    widths: tuple[int, ...]

    def __call__(
        self,
        weights: Sequence[Any],
        grads: Sequence[Any],
        state: Any,
        hyperparams: Any,
        key_data: Any,
    ) -> tuple[tuple[Any, ...], tuple[State, ...]]:
        """The new weights and states; random rules draw from the key that ``key_data`` makes."""
        key = None if key_data is None else wrap_key(key_data)
        new_weights, new_states, begin = [], [], 0
        rules = zip(self.rules, self.widths, weights, grads, state, strict=True)
        for i, (rule, width, weight, grad, rule_state) in enumerate(rules):
            rule_key = None if key is None else jax.random.fold_in(key, i)
            rule_hyperparams = hyperparams[begin : begin + width]
            weight, rule_state = rule(weight, grad, rule_state, rule_hyperparams, rule_key)
            new_weights.append(weight)
            new_states.append(rule_state)
            begin += width
        return tuple(new_weights), tuple(new_states)


def _on_device(value: jax.Array, source: Device, target: Device) -> jax.Array:
    return value if source == target else jax.device_put(value, target)


def _donatable_value(x: NDArray, used_once: bool, device: Device) -> jax.Array:
    """The contents in a buffer that a program may write into: a copy if others may hold it.

    They may after ``executor.params()`` or ``x.jax``; nobody else holds the results of an update.
    """
    value = _on_device(x.value, x.context.device, device)
    return value if used_once and x.owns_buffer else jnp.copy(value)


class PlannedUpdate(NamedTuple):
    """One step for several parameters: the update, and the hyperparameters of all of them."""

    update: CombinedUpdate
    hyperparams: list[float]

    def key_data(self, context: Context) -> np.ndarray | None:
        """The data of a key from the context's stream; None if no rule is random."""
        return next_key_data(context) if any(r.uses_rng for r in self.update.rules) else None


def plan_update(rules: Sequence[Rule], hyperparams: Sequence[Sequence[float]]) -> PlannedUpdate:
    """A step by rules for each parameter, with the hyperparameters of each."""
    update = CombinedUpdate(tuple(rules), tuple(map(len, hyperparams)))
    return PlannedUpdate(update, [x for numbers in hyperparams for x in numbers])


def _jitted(update: CombinedUpdate, treedef: Any) -> SmallJit:
    def updated(
        leaves: list[jax.Array],
        grads: list[jax.Array],
        hyperparams: jax.Array,
        key_data: jax.Array | None,
    ) -> list[jax.Array]:
        global _traces
        _traces += 1
        entry.count()
        weights, states = jax.tree.unflatten(treedef, leaves)
        return jax.tree.leaves(update(weights, grads, states, hyperparams, key_data))

    entry = SmallJit(
        jax.jit(updated, donate_argnums=0),
        executable_bytes=SMALL_BYTES + _ARRAY_BYTES * treedef.num_leaves,
    )
    return entry
