"""Parameters that are divided among the devices of one replica: the attribute ``__sharding__``.

XLA's partitioner derives the computation. Programs constrain only the results that take an array's
place, so that these come back divided as the array was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import PartitionSpec

from .._support.annotations import Operands, Raw, Tree
from ..arrays.storage import Shape
from ..errors import BindError, ShapeError
from ..program import Arrays, Program, StepSpec, UpdateFunction
from ._replicas import MODEL_AXIS, Spec

#: The attribute of a variable.
_ATTRIBUTE = "__sharding__"


def sharding_of(name: str, attrs: Mapping[str, str], shape: Shape, devices: int) -> Spec:
    """Returns the axes along which a variable is divided over a number of devices; BindError for a
    text that is not a sharding of it, ShapeError for a length that the devices do not divide."""
    text = attrs.get(_ATTRIBUTE, "")
    where = f"variable {name!r}: {_ATTRIBUTE}"
    entries = [entry.strip(" '\"") for entry in text.strip("()[] ").split(",")]
    unknown = [entry for entry in entries if entry not in (MODEL_AXIS, "None", "")]
    if unknown or entries.count(MODEL_AXIS) > 1:
        problem = f"{text!r}, expected '{MODEL_AXIS}' once and 'None' for each other axis"
        raise BindError(where, problem, given_by=f"shape {shape}", hint=f"'{MODEL_AXIS},None'")
    if MODEL_AXIS not in entries or devices == 1:
        return ()
    axis = entries.index(MODEL_AXIS)
    if axis >= len(shape):
        raise BindError(
            where,
            f"{text!r} divides axis {axis} of an array of shape {shape}",
            because="variables that an operator makes have the attributes of its AttrScope",
            hint="a variable of its own for this input of the operator",
        )
    if shape[axis] % devices:
        raise ShapeError(
            where,
            f"axis {axis} of shape {shape} cannot be divided over {devices} devices",
            because="each device holds an equal part",
            given_by=f"model_parallel={devices}",
            hint=f"a multiple of {devices}",
        )
    return (*[None] * axis, MODEL_AXIS)


def constrained(array: Raw, spec: Spec) -> Tree:
    if array is None or MODEL_AXIS not in jax.sharding.get_abstract_mesh().axis_names:
        return array
    return jax.lax.with_sharding_constraint(array, PartitionSpec(*spec))


def constrained_each(arrays: Arrays, specs: Sequence[Spec]) -> Operands:
    return tuple([constrained(x, s) for x, s in zip(arrays, specs, strict=True)])


@dataclass(frozen=True)
class ProgramSharding:
    """The specs of a program's arguments and auxiliary states, in the order of its graph."""

    args: tuple[Spec, ...]
    aux: tuple[Spec, ...]

    def outputs(self, arrays: Arrays) -> Operands:
        return tuple([constrained(x, ()) for x in arrays])

    def gradients(self, arrays: Arrays, argnums: Sequence[int]) -> Operands:
        return constrained_each(arrays, [self.args[i] for i in argnums])

    def states(self, arrays: Arrays, indices: Sequence[int]) -> Operands:
        return constrained_each(arrays, [self.aux[i] for i in indices])

    def of_step(self, program: Program, spec: StepSpec, results: Tree) -> Tree:
        (*updated, states), outputs, forward_states, grads, *others = results
        states = self.states(states, program.backward_state_indices)
        forward_states = self.states(forward_states, program.forward_state_indices)
        grads = self.gradients(grads, program.argnums)
        updated = constrained_updates(spec, *updated)
        return (*updated, states), self.outputs(outputs), forward_states, grads, *others


@dataclass(frozen=True)
class ShardedUpdate:
    update: UpdateFunction
    weights: tuple[Spec, ...]
    leaves: tuple[Spec, ...]

    @property
    def loss_scale(self) -> Any:
        return getattr(self.update, "loss_scale", None)

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]:
        grads = constrained_each(grads, self.weights)
        return self.update(weights, grads, state, hyperparams, key_data)


def constrained_updates(
    spec: StepSpec, weights: Sequence[Arrays], states: Sequence[Arrays]
) -> tuple[Operands, Operands]:
    updates = [u.update if isinstance(u.update, ShardedUpdate) else None for u in spec.updates]

    def each(groups: Sequence[Arrays], part: str) -> Operands:
        pairs = zip(groups, updates, strict=True)
        return tuple([g if u is None else constrained_each(g, getattr(u, part)) for g, u in pairs])

    return each(weights, "weights"), each(states, "leaves")
