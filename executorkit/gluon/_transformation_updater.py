"""Updates of a trainer's parameters by an optax transformation."""

from collections.abc import Sequence
from typing import Any

import jax

from ..errors import ArgumentValueError, FileFormatError, NotSupportedError
from ..ndarray import NDArray
from ..optimizer import OptaxUpdate, OptaxUpdater, dump_states, load_states
from ._parameter import Parameter
from ._update_modes import Column


class TransformationUpdater(OptaxUpdater):
    def __init__(self, transformation: Any, parameters: Sequence[Parameter], column: Column):
        self.optimizer = transformation
        self._indices = column.indices
        names = tuple(parameters[i].name for i in column.indices)
        if len(set(names)) < len(names):
            problem = "two parameters have the same name, by which optax knows them"
            raise ArgumentValueError("Trainer", problem)
        super().__init__(OptaxUpdate(transformation, names), column.weights)

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if index != self._indices:
            raise NotSupportedError(
                "Trainer",
                f"{len(index)} parameters are to be updated, the state has {len(self._indices)}",
                because="an optax transformation updates all of its parameters at every step",
                hint="a new Trainer once grad_req has changed; optax.masked or MXNet's optimizers "
                "for some of them",
            )
        super().__call__(index, grad, weight)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Returns the arrays of the state as bytes, in the order of ``jax.tree.leaves``."""
        return dump_states({"leaves": jax.tree.leaves(self.states[0]), "updates": self.n_updates})

    def set_states(self, states: bytes) -> None:
        """Takes over bytes of :meth:`get_states`; FileFormatError for others."""
        where = "optimizer states"
        loaded = load_states(states, where)
        leaves = loaded.get("leaves") if isinstance(loaded, dict) else None
        own, tree = jax.tree.flatten(self.states[0])
        if not isinstance(leaves, list) or not all(isinstance(x, NDArray) for x in leaves):
            raise FileFormatError(where, "they do not belong to an optax transformation")
        if [(x.shape, x.dtype) for x in leaves] != [(x.shape, x.dtype) for x in own]:
            problem = "they belong to another transformation, or to other parameters"
            raise FileFormatError(where, problem)
        self.set_state(jax.tree.unflatten(tree, [x.value for x in leaves]))
        self.n_updates = int(loaded.get("updates", 0))
