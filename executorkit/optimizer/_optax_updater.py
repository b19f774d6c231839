"""Optax transformations as updates of all parameters together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
from jax.tree_util import DictKey

from .._support.annotations import Attrs, Raw, Tree
from ..arrays.protocol import PendingValue
from ..calls.rollback import Rollback
from ..calls.update_call import UpdateCall
from ..ndarray import NDArray
from ._apply_rules import apply_update, attach_update
from ._rule import Index

if TYPE_CHECKING:  # it is imported where it is called, since that takes long
    import optax

Arrays = Sequence[Any]


class StatefulUpdate(Protocol):
    """An update of all parameters, with its first state; perhaps with ``loss_scale(state)``."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def init(self, weights: Arrays) -> Tree: ...

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]: ...


@dataclass(frozen=True)
class OptaxUpdate:
    """An optax transformation's updates of a dict of parameters. Gradients are multiplied by
    ``rescale`` first, and by the hyperparameter if there is one."""

    transformation: optax.GradientTransformation
    names: tuple[str, ...]
    rescale: float = 1.0

    def init(self, weights: Arrays) -> Tree:
        with jax.enable_x64(_needs_x64(weights)):
            return self.transformation.init(dict(zip(self.names, weights, strict=True)))

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]:
        import optax

        params = dict(zip(self.names, weights, strict=True))
        if len(hyperparams):
            grads = [g * hyperparams[0].astype(g.dtype) for g in grads]
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


class OptaxUpdater:
    """The :class:`~executorkit.optimizer.Updater` of an update of all parameters together."""

    is_pure = True

    def __init__(self, update: StatefulUpdate, weights: Sequence[NDArray]) -> None:
        self._update = update
        self._names = update.names
        self._context = weights[0].context
        #: Numbers given to the update at each step.
        self.hyperparams: tuple[float, ...] = ()
        #: Number of updates so far, including those before a restored state.
        self.n_updates = 0
        #: The state on all devices of a group, which the group keeps here.
        self.replicated_states: dict[Hashable, Any] = {}
        #: The state, a pytree of NDArrays, by the only index 0.
        self.states: dict[Hashable, Any] = {}
        self.set_state(update.init([weight.value for weight in weights]))

    def __getstate__(self) -> Attrs:
        return {**vars(self), "replicated_states": {}}

    def set_state(self, state: Tree) -> None:
        device = self._context.device
        self.states = {
            0: jax.tree.map(
                lambda x: NDArray.from_jax(jax.device_put(jnp.asarray(x), device), self._context),
                state,
            )
        }

    @property
    def loss_scale(self) -> jax.Array | None:
        """The number that losses are multiplied by; None for 1."""
        loss_scale = getattr(self._update, "loss_scale", None)
        if loss_scale is None:
            return None
        return loss_scale(jax.tree.map(lambda x: x.value, self.states[0]))

    @property
    def learning_rate(self) -> NDArray | None:
        """The rate that ``optax.inject_hyperparams`` keeps in the state; None without it."""
        import optax

        return optax.tree_utils.tree_get(self.states[0], "learning_rate")

    def attach(
        self,
        indices: Sequence[Index],
        first_weights: Sequence[NDArray],
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        state_of: Callable[[Any], Any],
        others: Sequence[tuple[Any, Sequence[NDArray]]] = (),
    ) -> UpdateCall | None:
        updaters = [self, *[updater for updater, _ in others]]
        return attach_update(weights, grads, partial(self._counted, state_of, updaters))

    def owner(self, indices: Sequence[Index], index: Index, path: Sequence[Any]) -> int | None:
        keys = [entry.key for entry in path if isinstance(entry, DictKey)]
        numbers = [self._names.index(key) for key in keys if key in self._names]
        return numbers[-1] if numbers else None

    def prepare(self, indices: Sequence[Index], weights: Sequence[NDArray]) -> None: ...

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        states = self.states
        apply_update(weight, grad, partial(self._counted, lambda i: states[i], [self]))

    def _counted(
        self, state_of: Callable[[Any], Any], updaters: Sequence[OptaxUpdater], rollback: Rollback
    ) -> UpdateCall:
        before = [updater.n_updates for updater in updaters]

        def undo() -> None:
            for updater, n_updates in zip(updaters, before, strict=True):
                updater.n_updates = n_updates

        rollback.add(undo)
        call = UpdateCall(self._update, state_of(0), self.hyperparams, None, undo=undo)
        for updater, n_updates in zip(updaters, before, strict=True):
            updater.n_updates = n_updates + 1
        return call
