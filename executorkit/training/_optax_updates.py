"""Optax transformations as updates of a training step, with scaling of losses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from ..errors import StepError
from ..ndarray import NDArray
from ..ndarray.protocol import PendingValue
from ..ndarray.rollback import Rollback
from ..ndarray.update_call import UpdateCall
from ..optimizer import apply_update, attach_update
from ..program import Training

Arrays = Sequence[Any]


@dataclass(frozen=True)
class OptaxUpdate:
    """Updates by an optax transformation, which sees a dict of parameters by name.

    names
        the parameters, in the order of the weights.
    rescale
        gradients are multiplied by it first.
    """

    transformation: optax.GradientTransformation
    names: tuple[str, ...]
    rescale: float = 1.0

    def init(self, weights: Arrays) -> Any:
        """The state before the first step."""
        with jax.enable_x64(_needs_x64(weights)):
            return self.transformation.init(dict(zip(self.names, weights, strict=True)))

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        params = dict(zip(self.names, weights, strict=True))
        # Schedules and counts are 32-bit numbers in optax unless the parameters are wider.
        with jax.enable_x64(_needs_x64(weights)):
            if self.rescale != 1.0:
                grads = [g * self.rescale for g in grads]
            by_name = dict(zip(self.names, grads, strict=True))
            updates, new_state = self.transformation.update(by_name, state, params)
            new: Any = optax.apply_updates(params, updates)
            new_state = jax.tree.map(lambda x, old: x.astype(old.dtype), new_state, state)
        return tuple(new[n] for n in self.names), new_state


def _needs_x64(weights: Arrays) -> bool:
    return any(jnp.dtype(w.dtype).itemsize == 8 for w in weights)


@dataclass(frozen=True)
class LossScale:
    """Losses are multiplied by a number, so that half precision gradients do not vanish.

    Gradients are divided by it in the type of the weights. Where one of them is not finite, the
    step changes no parameter and the number is halved; after ``period`` good steps it is doubled.

    initial
        the first number, a power of two.
    period
        good steps until it is doubled; None keeps it as it is, but for halving.

    Source: Micikevicius et al., Mixed Precision Training, 2018.
    """

    initial: float = 2.0**15
    period: int | None = 2000


@dataclass(frozen=True)
class LossScaledUpdate:
    """An update by gradients of scaled losses; the state has the scale and the good steps."""

    update: OptaxUpdate
    scale: LossScale

    def init(self, weights: Arrays) -> Any:
        """The state before the first step."""
        first = jnp.asarray(self.scale.initial, jnp.float32)
        return first, jnp.asarray(0, jnp.int32), self.update.init(weights)

    def loss_scale(self, state: Any) -> jax.Array:
        """The number that losses of this step are multiplied by."""
        return state[0]

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        scale, good, inner = state
        grads = [(g / scale.astype(g.dtype)).astype(g.dtype) for g in grads]
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in grads]))
        new, new_inner = self.update(weights, grads, inner, hyperparams, key_data)
        new, new_inner = jax.tree.map(
            lambda x, y: jnp.where(finite, x, y), (tuple(new), new_inner), (tuple(weights), inner)
        )
        good = jnp.where(finite, good + 1, 0).astype(jnp.int32)
        if self.scale.period is not None:
            due = good >= self.scale.period
            scale = jnp.where(due, scale * 2, scale)
            good = jnp.where(due, 0, good).astype(jnp.int32)
        scale = jnp.where(finite, scale, jnp.maximum(scale / 2, 1.0)).astype(jnp.float32)
        return new, (scale, good, new_inner)


class OptaxUpdater:
    """An update with its state, which updates all parameters together: what an
    :class:`~executorkit.optimizer.Updater` is for MXNet's optimizers.

    states
        the state, a pytree of NDArrays, by the only index 0.
    training
        the training that it updates.
    replicated_states
        the state on all devices of a group, which the group keeps here.
    """

    is_pure = True

    def __init__(self, update: OptaxUpdate | LossScaledUpdate, weights: Sequence[NDArray]) -> None:
        self._update = update
        self._context = weights[0].context
        self.training = Training()
        self.replicated_states: dict[Any, Any] = {}
        self.states: dict[Any, Any] = {}
        self.set_state(update.init([weight.value for weight in weights]))

    def set_state(self, state: Any) -> None:
        """Takes over a state, a pytree of arrays."""
        device = self._context.device
        self.states = {
            0: jax.tree.map(
                lambda x: NDArray.from_jax(jax.device_put(jnp.asarray(x), device), self._context),
                state,
            )
        }

    @property
    def n_updates(self) -> int:
        """The number of updates so far, those before a restored state included."""
        return self.training.updates

    @property
    def loss_scale(self) -> jax.Array | None:
        """The number that losses are multiplied by; None for 1."""
        update = self._update
        if not isinstance(update, LossScaledUpdate):
            return None
        return update.loss_scale(jax.tree.map(lambda x: x.value, self.states[0]))

    def attach(
        self,
        indices: Sequence[Any],
        first_weights: Sequence[NDArray],
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        state_of: Callable[[Any], Any],
    ) -> UpdateCall | None:
        """As :meth:`executorkit.optimizer.Updater.attach`."""
        return attach_update(weights, grads, partial(self._counted, state_of))

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Updates all weights in place, as one program."""
        apply_update(weight, grad, partial(self._counted, lambda i: self.states[i]))

    def _counted(self, state_of: Callable[[Any], Any], rollback: Rollback) -> UpdateCall:
        training = self.training
        undo = partial(training.set_updates, training.updates)
        rollback.add(undo)
        call = UpdateCall(self._update, state_of(0), (), None, undo=undo, age=training.age)
        training.set_updates(training.updates + 1)
        return call


def build_transformation(
    optimizer: Any, clip_global_norm: float | None, accumulate: int
) -> optax.GradientTransformation:
    """The transformation after clipping of gradients, and within their accumulation."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise StepError(
            "Step: optimizer",
            f"a {type(optimizer).__name__}, expected an optax.GradientTransformation, an "
            "Optimizer or the name of one",
            hint="optax.adam(1e-3)",
        )
    if clip_global_norm is not None:
        optimizer = optax.chain(optax.clip_by_global_norm(clip_global_norm), optimizer)
    if accumulate > 1:
        optimizer = optax.MultiSteps(optimizer, accumulate).gradient_transformation()
    return optimizer


def reject_options(**options: Any) -> None:
    """StepError if an option is set that belongs to optax transformations."""
    named = [name for name, is_set in options.items() if is_set]
    if named:
        problem = f"{', '.join(named)} cannot be combined with MXNet's optimizers"
        hint = "optimizer.to_optax(names), or the optimizer's own rescale_grad"
        raise StepError("Step", problem, hint=hint)
