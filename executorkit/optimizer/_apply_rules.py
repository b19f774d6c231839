"""Updates of NDArrays by rules: as a part of the program that computes the gradients, or alone.

Weights and states are written in place, or into copies of buffers with other references. Weights
that a step holds for another backward are not donated.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from .._support.annotations import Arrays, Operands, Raw, Tree
from ..arrays.protocol import PendingValue
from ..arrays.random_state import StreamPositions, next_key_data, wrap_key
from ..calls.recording import check_unrecorded, modes
from ..calls.rollback import Rollback
from ..calls.update_call import UpdatableStep, UpdateCall
from ..context import Context, Device
from ..errors import DTypeError, InputTypeError, ShapeError
from ..ndarray import NDArray
from ..program import (
    SMALL_BYTES,
    CacheInfo,
    CodeCache,
    CompilationCounts,
    CompiledFunction,
    Donated,
    UpdateFunction,
    copy_at,
    held_elsewhere,
)
from ._rule import Hyperparams, OperatorRule, Rule, State, StepRule

#: Further memory of a compiled update for each array that it writes, in bytes.
_ARRAY_BYTES = 30_000

_counts = CompilationCounts()
_updates: CodeCache[CompiledFunction] = CodeCache("updates", 256, 0.1)


class Sharing:
    """The parameters of a training with equal hyperparameters so far: ``places`` has each one's
    row. Parameters that once differed keep two rows, so that few programs are compiled."""

    # XLA compiles a kernel for each place of the vector that numbers are taken from: 160 equal
    # updates take 3 s with a place for each parameter, 0.3 s with one for all.

    __slots__ = ("_firsts", "places")

    def __init__(self) -> None:
        self.places: tuple[int, ...] = ()
        self._firsts: tuple[int, ...] = ()

    def distinct(self, rows: Sequence[Hyperparams]) -> list[Hyperparams]:
        """Returns the rows that the parameters share, and sets :attr:`places`."""
        if len(self.places) != len(rows):
            self.places, self._firsts = (0,) * len(rows), (0,)
        distinct = [rows[i] for i in self._firsts]
        is_one = len(distinct) == 1 and rows.count(rows[0]) == len(rows)
        if is_one or [distinct[k] for k in self.places] == rows:
            return distinct
        numbers: dict[Hashable, int] = {}
        pairs = zip(self.places, [tuple(map(float, row)) for row in rows], strict=True)
        self.places = tuple([numbers.setdefault(pair, len(numbers)) for pair in pairs])
        self._firsts = tuple(map(self.places.index, range(len(numbers))))
        return [rows[i] for i in self._firsts]


def apply_cache_info() -> CacheInfo:
    return _updates.info(_counts.traces)


def misfits(weights: Arrays, grads: Arrays) -> list[int]:
    """Returns the positions of the pairs that are not NDArrays of one shape and dtype."""
    return [
        i
        for i, (weight, grad) in enumerate(zip(weights, grads, strict=True))
        if not isinstance(weight, NDArray)
        or not isinstance(grad, NDArray)
        or weight.shape != grad.shape
        or weight.storage.dtype != grad.storage.dtype
    ]


def check_arrays(where: str, weight: Raw, grad: Raw) -> None:
    for name, x in (("weight", weight), ("grad", grad)):
        if not isinstance(x, NDArray):
            problem = f"{name} is {type(x).__name__}, expected an NDArray"
            raise InputTypeError(where, problem, hint="mx.nd.array(...)")
    if weight.shape != grad.shape:
        raise ShapeError(where, f"grad is {grad.shape}, expected {weight.shape}")
    if weight.dtype != grad.dtype:
        actual, expected = np.dtype(grad.dtype).name, np.dtype(weight.dtype).name
        raise DTypeError(where, f"grad is {actual}, expected {expected}", hint="grad.astype(...)")


#: Counts and makes the update of a step, and tells the rollback how its counts are taken back.
Prepare = Callable[[Rollback], UpdateCall | None]


def attach_update(
    weights: Sequence[PendingValue], grads: Sequence[PendingValue], prepare: Prepare
) -> UpdateCall | None:
    """Makes an update a part of the pending program that computes the gradients. ``prepare`` counts
    and makes it, only when the step can take it; None withdraws it. Returns None, and changes
    nothing, if the gradients have been computed, an output has been read since forward, or a weight
    has been written. The caller then updates by the gradients."""
    return _attach(weights, grads, prepare)


def _attach(
    weights: Arrays, grads: Arrays, prepare: Prepare, otherwise_now: bool = False
) -> UpdateCall | None:
    call: UpdateCall | None = None
    if modes.recording:
        for weight in weights:
            check_unrecorded(weight)

    def prepared() -> Any:
        nonlocal call
        call = prepare(rollback)
        return call

    with Rollback(lambda: call is not None and call.attached) as rollback:
        step = grads[0].pending
        if isinstance(step, UpdatableStep) and step.attach_update(weights, grads, prepared):
            return call
        if not otherwise_now:
            return None
        _update_now(prepared(), weights, grads)
        return call


def apply_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], prepare: Prepare
) -> UpdateCall | None:
    """Updates weights and states in place; ``prepare`` is as for :func:`attach_update`. Pending
    gradients are not computed first: the update becomes a part of their program. An exception
    leaves weights, states and counts all as before the update, or all as after it."""
    return _attach(weights, grads, prepare, otherwise_now=True)


def apply_rules(
    rules: Sequence[Rule],
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[State],
    count: Callable[[], Sequence[Hyperparams]],
    undo: Callable[[], object],
    finite: NDArray | None = None,
    sharing: Sharing | None = None,
) -> None:
    """Updates each weight by its rule, like :func:`apply_update`; arrays have been checked.
    ``count`` counts the step and returns hyperparameters, ``undo`` takes the counts back.
    ``finite`` gets 1, or 0 if a gradient is not finite and the update changes nothing."""
    if not weights:
        return

    def prepare(rollback: Rollback) -> UpdateCall:
        rollback.add(undo)
        rows, context = count(), weights[0].context
        call = plan_update(rules, rows, tuple(states), context, undo=undo, sharing=sharing)
        if finite is None:
            return call
        from ._mixed_precision import FiniteUpdate

        update, state = FiniteUpdate(call.update), (call.state, finite)
        return UpdateCall(update, state, call.hyperparams, call.key_data, call.undo)

    apply_update(weights, grads, prepare)


def _update_now(call: UpdateCall, weights: Sequence[NDArray], grads: Sequence[NDArray]) -> None:
    leaves, treedef = jax.tree.flatten((tuple(weights), call.state))
    uses = Counter(id(x.storage) for x in leaves)
    if max(uses.values()) > 1 and len(weights) > 1:
        # A weight that is there twice is updated twice, as in MXNet.
        for part, weight, grad in zip(_single_calls(call), weights, grads, strict=True):
            _update_now(part, [weight], [grad])
            call.attached = True
        return
    uses.update(id(g.storage) for g in grads)
    device = weights[0].context.device
    results: list[Raw] = []
    with jax.enable_x64(True):
        values = [_on_device(x.value, x.context.device, device) for x in leaves]
        lent = {i for i, x in enumerate(leaves) if uses[id(x.storage)] > 1 or not x.owns_buffer}
        held = held_elsewhere(values)
        # A step holds the weights of its forward if it was read before the update.
        n_held = len(weights) if min(held - lent, default=len(leaves)) < len(weights) else 0
        copy_at(values, [i for i in held | lent if i >= n_held])
        operands = (
            values[:n_held],
            [_on_device(g.value, g.context.device, device) for g in grads],
            np.asarray(call.hyperparams, np.float64),
            call.key_data,
        )
        donated = Donated(values[n_held:])
        key = call.update, treedef, n_held
        program = _updates.get_or_make(key, lambda: _jitted(call.update, treedef))

        def store() -> None:
            for x, value in zip(leaves, results[0], strict=True):
                x.assign(_on_device(value, device, x.context.device))
            call.attached = True

        with Rollback(lambda: bool(results), finish=store) as rollback:
            rollback.add(lambda: _restore(leaves[n_held:], donated))
            program.call_into(results, donated, operands)
            store()


def _restore(arrays: Sequence[NDArray], donated: Donated) -> None:
    for x, before, restored in zip(arrays, donated.tree, donated.restored(), strict=True):
        if x.current is before is not restored:
            x.assign(restored)


@dataclass(frozen=True)
class CombinedUpdate:
    """Rules for several parameters as one ``program.UpdateFunction``; each rule's hyperparameters
    begin at its place, and are as many as its width."""

    rules: tuple[Rule, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]

    def __hash__(self) -> int:
        # Parameters mostly have the same rule.
        return hash((self.rules[0], self.places))

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Operands, tuple[State, ...]]:
        keys = iter(() if key_data is None else key_data)
        new_weights, new_states = [], []
        rules = zip(self.rules, self.places, self.widths, weights, grads, state, strict=True)
        # JAX traces a rule in 0.5 ms; a deep network has few shapes.
        traced: dict[Hashable, Any] = {}
        rows: dict[Hashable, Any] = {}
        kinds = [(r, x.shape) for r, x in zip(self.rules, weights, strict=True)]
        repeated = {kind for kind, count in Counter(kinds).items() if count > 1}
        on_cpu = jax.default_backend() == "cpu"
        for kind, (rule, begin, width, weight, grad, rule_state) in zip(kinds, rules, strict=True):
            rule_key = wrap_key(next(keys)) if rule.uses_rng else None
            row = begin, width, weight.dtype if isinstance(rule, StepRule | OperatorRule) else None
            if row not in rows:  # most parameters have the same
                numbers = hyperparams[begin : begin + width]
                rows[row] = tuple(numbers.astype(row[2])) if row[2] else numbers
            flattened = (
                on_cpu
                and weight.ndim != 2
                and not rule.uses_rng
                and all(x.shape == weight.shape for x in jax.tree.leaves(rule_state))
            )
            apply = _flattened(rule) if flattened else rule
            if kind in repeated and (kind, flattened) not in traced:
                traced[kind, flattened] = jax.jit(apply, inline=True)
            apply = traced.get((kind, flattened), apply)
            weight, rule_state = apply(weight, grad, rule_state, rows[row], rule_key)
            new_weights.append(weight)
            new_states.append(rule_state)
        return tuple(new_weights), tuple(new_states)


def _flattened(rule: Rule) -> Callable[..., tuple[Array, State]]:
    # XLA's CPU backend loops over every axis, the last one inside: over three numbers of a 3 x 3
    # kernel, which takes twice as long. With a reshape or a transposition inside the loops, which
    # the barriers keep out, it would copy the donated arrays first. Vectors of one length share
    # kernels behind them, whatever their gradients were computed as. (A matrix takes a fifth
    # longer: 52 for 43 ms a step, two layers of 2048 x 2048.)
    def apply(weight: Array, grad: Array, state: State, *others: Raw) -> tuple[Array, State]:
        arrays = jax.tree.map(lambda x: x.reshape(-1), (weight, grad, state))
        new = lax.optimization_barrier(rule(*lax.optimization_barrier(arrays), *others))
        return jax.tree.map(lambda x: x.reshape(weight.shape), new)

    return apply


def _on_device(value: Array, source: Device, target: Device) -> Array:
    return value if source == target else jax.device_put(value, target)


def plan_update(
    rules: Sequence[Rule],
    hyperparams: Sequence[Hyperparams],
    state: Tree,
    context: Context,
    undo: Callable[[], object],
    sharing: Sharing | None = None,
) -> UpdateCall:
    """Returns one step for several parameters, each with a rule, hyperparameters and a state. Each
    random rule draws a key from the context's stream, as one call of a random operator does."""
    sharing = Sharing() if sharing is None else sharing
    rows = sharing.distinct(hyperparams)
    begins = list(accumulate(map(len, rows), initial=0))
    places = tuple([begins[k] for k in sharing.places])
    update = CombinedUpdate(tuple(rules), places, tuple(map(len, hyperparams)))
    numbers = list(chain.from_iterable(rows))
    random = sum([rule.uses_rng for rule in rules])
    if not random:
        return UpdateCall(update, state, numbers, None, undo)
    keys = StreamPositions()

    def undo_and_rewind() -> None:
        undo()
        keys.rewind()

    key_data = np.stack([next_key_data(context) for _ in range(random)])
    return UpdateCall(update, state, numbers, key_data, undo_and_rewind)


def _single_calls(call: UpdateCall) -> Iterator[UpdateCall]:
    key, plan = 0, call.update
    for rule, begin, width, state in zip(
        plan.rules, plan.places, plan.widths, call.state, strict=True
    ):
        hyperparams = call.hyperparams[begin : begin + width]
        update = CombinedUpdate((rule,), (0,), (width,))
        key_data = call.key_data[key : key + 1] if rule.uses_rng else None
        key += rule.uses_rng
        yield UpdateCall(update, (state,), hyperparams, key_data)


def _jitted(update: UpdateFunction, treedef: Any) -> CompiledFunction:
    def updated(
        donated: list[Array],
        held: list[Array],
        grads: list[Array],
        hyperparams: Array,
        key_data: Array | None,
    ) -> list[Array]:
        weights, states = jax.tree.unflatten(treedef, [*held, *donated])
        return jax.tree.leaves(update(weights, grads, states, hyperparams, key_data))

    return CompiledFunction(
        updated,
        donates=True,
        executable_bytes=SMALL_BYTES + _ARRAY_BYTES * treedef.num_leaves,
        counts=_counts,
    )
