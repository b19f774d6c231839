"""Updates of all processes by gradients that this one has looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..arrays.protocol import PendingValue
from ..calls.rollback import complete
from ..calls.update_call import UpdatableStep, UpdateCall
from ..program import StepSpec, UpdateSpec
from ._joined_processes import step_offsets, update_function
from ._lockstep import lockstep
from ._rank_check import check_when_due
from ._replicas import own_entries
from ._replicated_array import ReplicatedArray
from ._state_sharding import update_in_program


class JoinedUpdate(UpdatableStep):
    """Takes an update by gradients that are there, together with the steps of other processes.

    grads
        the gradients of this process's devices.
    states
        auxiliary states of the network, which become the means over all devices.
    """

    def __init__(self, grads: Sequence[ReplicatedArray], states: Sequence[ReplicatedArray]) -> None:
        self._grads = grads
        self._states = states

    @property
    def targets(self) -> list[Any]:
        """Values in place of the gradients, which wait for this."""
        return [_Given(self)] * len(self._grads)

    def attach_update(
        self,
        weights: Sequence[Any],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        call = prepare()
        if call is None:
            return False
        cells, tree = jax.tree.flatten(call.state)
        values = [w.value for w in weights]
        state = jax.tree.unflatten(tree, [cell.value for cell in cells])
        aux = [s.value for s in self._states]
        update = update_in_program(call.update, weights, cells)
        spec = StepSpec(
            (UpdateSpec(tuple(range(len(values))), update, len(call.hyperparams)),), False
        )
        replicas = self._grads[0].replicas
        aux_specs = tuple([s.replicas.spec for s in self._states])
        new, new_state, means, flags = update_function(spec, replicas.of_job, aux_specs)(
            (tuple(values),),
            (state,),
            [g.value for g in self._grads],
            tuple(aux),
            (call.key_data,),
            np.array(call.hyperparams, np.float64),
            lockstep.flags(replicas),
            step_offsets(replicas.of_job, spec, [values], aux),
        )
        pairs = [
            *zip(weights, new[0], strict=True),
            *zip(cells, new_state[0], strict=True),
            *zip(self._states, means, strict=True),
        ]
        complete(lambda: [cell.assign(own_entries(value)) for cell, value in pairs])
        call.attached = True
        lockstep.note(flags, weights, [call.undo])
        check_when_due(new[0])
        return True


class _Given:
    """Stands for a gradient that is there."""

    def __init__(self, step: JoinedUpdate) -> None:
        self.pending = step
