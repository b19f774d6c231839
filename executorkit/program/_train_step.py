"""Training steps: forward, backward and updates as one function that donates its state."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
from jax import Array, lax, numpy as jnp

from .._support.annotations import Function, Key, Operands, Raw, Tree

#: A flat tuple of arrays in the graph's order.
Arrays = Sequence[Any]

#: Positions of the arguments that are the same on all devices: the updates' keys and
#: hyperparameters.
REPLICATED_ARGS = (6, 7)
#: Maximum number of bytes of a gradient that a CPU returns packed with others: a result takes
#: 1 us. On other devices each one that is read would be a program.
_SMALL_GRADIENT = 1 << 14


class UpdateFunction(Protocol):
    """New weights from gradients: a pure function, hashable, so that equal ones share programs.
    With a method ``loss_scale(state)`` it gets gradients of losses times that number.
    ``hyperparams`` is a vector of float64, the host's part of the update (learning rates);
    ``key_data`` is the data of a PRNG key, or None where the update does not draw."""

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]: ...


class UpdateSpec(NamedTuple):
    """One update of a step, of the arguments ``program.argnums[k]`` for every k in ``targets``."""

    targets: tuple[int, ...]
    update: UpdateFunction
    width: int


class StepSpec(NamedTuple):
    """The updates of a step, whose gradients may be returned, as sums; sums may join processes."""

    updates: tuple[UpdateSpec, ...]
    keep_gradients: bool
    sums_gradients: bool = False
    joins_processes: bool = False


class Reduction(Protocol):
    def __call__(self, grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]: ...


def add_accumulated(accumulated: Arrays, grads: Arrays) -> Operands:
    """Adds gradients to accumulated ones, unless these are None, or ``accumulated`` is empty."""
    if not accumulated:
        return tuple(grads)
    pairs = zip(accumulated, grads, strict=True)
    return tuple([grad if old is None else old + grad for old, grad in pairs])


class Differentiable(Protocol):
    """The part of a program that a training step is built from."""

    argnums: tuple[int, ...]
    backward_state_indices: tuple[int, ...]

    def gradient_function(self, train: bool) -> Function:
        """Returns a function that is not jitted, ``(args, aux, key, heads, accumulated, scale) ->
        (outputs, forward_states, backward_states, gradients)``."""
        ...


def make_step(
    program: Differentiable, train: bool, spec: StepSpec, reduce: Reduction | None = None
) -> Function:
    """Makes the function of one step.

        step((weights, states, aux), args, aux, key, heads, accumulated, update_keys, hyperparams)
            -> (weights, states, backward_states), outputs, forward_states, gradients

    ``args`` and ``aux`` have None where the donated weights (for each update a tuple) and auxiliary
    states belong; ``accumulated`` has for each gradient None or the array that it is added to, or
    is empty. The new states are flat: for optax's named tuples JAX would call Python, where an
    interrupt would lose the results. A gradient that an update consumes is returned as None.
    ``reduce`` sums gradients over the devices of a group, all of them at once. The replacements of
    the donated arrays come first, so that no gradient of the same shape gets their memory.
    Without ``reduce``, small gradients on CPUs are None, packed in an additional last result.
    """
    gradient_function = program.gradient_function(train)

    def step(
        donated: Tree, args: Arrays, aux: Arrays, key: Key, heads: Arrays, accumulated: Arrays,
        update_keys: Arrays, hyperparams: Raw,
    ) -> Tree:  # fmt: skip
        weights, states, backward_states = donated
        full_args, full_aux = list(args), list(aux)
        for update, group in zip(spec.updates, weights, strict=True):
            for k, weight in zip(update.targets, group, strict=True):
                full_args[program.argnums[k]] = weight
        for n, value in zip(program.backward_state_indices, backward_states, strict=False):
            full_aux[n] = value
        scale = None
        for update, state in zip(spec.updates, states, strict=True):
            loss_scale = getattr(update.update, "loss_scale", None)
            if loss_scale is not None:
                scale = loss_scale(state)
                heads = tuple(None if h is None else h * scale.astype(h.dtype) for h in heads)
        outputs, forward_states, new_aux, grads = gradient_function(
            full_args, full_aux, key, heads, accumulated, scale
        )
        totals = visible = [_copied_once(g) if spec.keep_gradients else g for g in grads]
        if reduce is None:
            totals, visible = _packed(spec, totals)
        else:
            targets = [k for update in spec.updates for k in update.targets]
            changed = (*new_aux, *forward_states)
            sums, changed = reduce([totals[k] for k in targets], changed)
            new_aux, forward_states = changed[: len(new_aux)], changed[len(new_aux) :]
            totals = totals.copy()
            for k, total in zip(targets, sums, strict=True):
                totals[k] = total
            visible = _visible(spec, totals if spec.sums_gradients else visible)
        new = apply_updates(
            spec, weights, totals, states, keys=update_keys, hyperparams=hyperparams
        )
        return (*new, new_aux), outputs, forward_states, visible

    return step


def make_backward_step(backward: Function, argnums: Sequence[int], spec: StepSpec) -> Function:
    """Makes the function of a backward with updates, where forward has run by itself.

        step((weights, states, ()), kept, residuals, heads, accumulated, update_keys, hyperparams)
            -> (weights, states, ()), gradients

    ``residuals`` may have None where they are weights. Weights that are referred to elsewhere are
    ``kept``, a sequence for each update, and not donated; it is empty if all are donated.
    """

    def step(
        donated: Tree, kept: Tree, residuals: Tree, heads: Arrays, accumulated: Arrays,
        update_keys: Arrays, hyperparams: Raw,
    ) -> Tree:  # fmt: skip
        weights, states, _ = donated
        weights = kept or weights
        arguments: dict[int, Raw] = {}
        for update, group in zip(spec.updates, weights, strict=True):
            for k, weight in zip(update.targets, group, strict=True):
                arguments[argnums[k]] = weight
        grads = backward(residuals.with_arguments(arguments), heads, accumulated)
        if spec.keep_gradients:
            grads = tuple(map(_copied_once, grads))
        grads, visible = _packed(spec, grads)
        new = apply_updates(spec, weights, grads, states, keys=update_keys, hyperparams=hyperparams)
        return (*new, ()), visible

    return step


def _copied_once(grad: Array) -> Array:
    # Convolutions have the gradients of their weights in another order. XLA's CPU backend would
    # copy them twice, for the update and for the result.
    if grad.ndim < 3 or jax.default_backend() != "cpu":
        return grad
    return lax.optimization_barrier(grad.reshape(-1)).reshape(grad.shape)


def _packed(spec: StepSpec, grads: Arrays) -> tuple[Arrays, Operands]:
    """Returns gradients for updates, and as results of the step."""
    visible = _visible(spec, grads)
    small = [k for k, g in enumerate(visible) if g is not None and g.nbytes <= _SMALL_GRADIENT]
    several = len(small) > 1 and len({grads[k].dtype for k in small}) == 1
    if None in visible or not several or jax.default_backend() != "cpu":
        return grads, visible
    # XLA would compute a fused gradient once more in an update, and in the loop that packs it.
    apart = dict(zip(small, lax.optimization_barrier([grads[k] for k in small]), strict=True))
    packed = jnp.concatenate([g.reshape(-1) for g in apart.values()])
    visible = [None if k in apart else g for k, g in enumerate(grads)]
    return [apart.get(k, g) for k, g in enumerate(grads)], (*visible, packed)


def _visible(spec: StepSpec, grads: Arrays) -> Operands:
    consumed = {k for update in spec.updates for k in update.targets}
    hidden = frozenset() if spec.keep_gradients else consumed
    return tuple(None if k in hidden else g for k, g in enumerate(grads))


def apply_updates(
    spec: StepSpec, weights: Sequence[Arrays], grads: Arrays, states: Sequence[Any], *,
    keys: Arrays, hyperparams: Raw,
) -> tuple[Operands, Operands]:  # fmt: skip
    """Returns the weights and the flat states after the updates, a tuple for each."""
    new_weights, new_states, begin = [], [], 0
    for (targets, update, width), group, state, update_key in zip(
        spec.updates, weights, states, keys, strict=True
    ):
        update_grads = tuple(grads[k] for k in targets)
        with jax.named_scope("update"):
            group, state = update(
                group, update_grads, state, hyperparams[begin : begin + width], update_key
            )
        begin += width
        new_weights.append(tuple(group))
        new_states.append(tuple(jax.tree.leaves(state)))
    return tuple(new_weights), tuple(new_states)
