"""Values that forward saves for backward.

XLA copies an argument that is a result, weights at every step, and fills an array to broadcast one
number. So a program returns neither: :meth:`Residuals.completed` puts back arguments and other
results, and backward computes broadcasts and reshapes of such values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from .._support.annotations import DType, Key, NumberedArrays, Operands
from ..jax_internals import jaxpr_as_fun
from ..jaxprs import FlatProgram, FlatValue, Trait, flat_program, primitives_with
from ._train_step import Arrays

_FREE = primitives_with(Trait.FREE)


@dataclass(frozen=True, eq=False, slots=True)
class ArraySpec:
    """Shape and dtype of an array, and the dtype of integers carried in it: static in a pytree."""

    shape: tuple[int, ...]
    dtype: DType
    integer_dtype: str | None = None


Specs = tuple[ArraySpec, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Derivative:
    """The static part of residuals: how gradients follow from the saved arrays.

    Equal to itself alone, so that a call of backward compares no shapes.
    """

    #: The pytree of the function from head gradients to gradients; its leaves are arrays.
    structure: Any
    outputs: Specs
    #: The arguments whose gradients are computed.
    arguments: Specs
    #: The leaves that are random keys: their bits are saved, since NumPy, which interprets first
    #: calls, has no keys.
    keys: set[int]


@dataclass(frozen=True, eq=False, slots=True)
class Omission:
    """The way from fewer arrays to the leaves of a derivative. Equal to itself alone."""

    #: For each of these arrays its number among arguments, auxiliary states and other results of
    #: forward, in this order; None for one that was saved.
    inputs: tuple[int | None, ...]
    #: The leaves as a function of these arrays.
    compute: Callable[..., Sequence[Any]]


@jax.tree_util.register_dataclass
@dataclass(slots=True)
class Residuals:
    """Values that ``forward`` saves for ``backward``: the linearised graph with its arrays."""

    #: The saved arrays; None for one that :meth:`completed` puts in.
    arrays: Arrays
    derivative: Derivative = field(metadata={"static": True})
    #: The way from the arrays to the derivative's leaves; None if these are the leaves.
    omission: Omission | None = field(default=None, metadata={"static": True})

    def completed(self, args: Arrays, aux: Arrays, results: Arrays) -> Residuals:
        """Returns them with the omitted arrays, from the call of forward that returned them."""
        omission = self.omission
        if omission is None:
            return self
        outputs, forward_states, backward_states = results
        sources = (*args, *aux, *outputs, *forward_states, *backward_states)
        arrays = [
            saved if i is None else sources[i]
            for saved, i in zip(self.arrays, omission.inputs, strict=True)
        ]
        return Residuals(tuple(arrays), self.derivative, omission)

    def with_arguments(self, arguments: NumberedArrays) -> Residuals:
        """Returns them with these contents of arguments of forward, or, for None, without them."""
        if self.omission is None:
            return self
        pairs = zip(self.arrays, self.omission.inputs, strict=True)
        arrays = tuple([x if i is None else arguments.get(i, x) for x, i in pairs])
        return Residuals(arrays, self.derivative, self.omission)

    def gradients(self, heads: Arrays) -> Arrays:
        """Returns gradients of the floating arguments, for head gradients of the outputs."""
        leaves: Arrays = self.arrays
        if self.omission is not None:
            leaves = self.omission.compute(*leaves)
        keys, wrap = self.derivative.keys, jax.random.wrap_key_data
        leaves = [wrap(x) if i in keys else x for i, x in enumerate(leaves)]
        vjp = jax.tree.unflatten(self.derivative.structure, leaves)
        return vjp(cotangents(heads, self.derivative.outputs))


def cotangents(heads: Arrays, outputs: Arrays) -> Operands:
    """Returns cotangents of the floating outputs: head gradients, zeros where none is needed."""
    return tuple(
        jnp.zeros(spec.shape, spec.dtype) if head is None else head.astype(spec.dtype)
        for head, spec in zip(heads, outputs, strict=True)
        if jnp.issubdtype(spec.dtype, jnp.inexact)
    )


def residuals_of(vjp: Any, outputs: Specs, arguments: Specs) -> Residuals:
    """Returns the residuals of a function from head gradients to gradients, while JAX traces."""
    leaves, structure = jax.tree.flatten(vjp)
    keys = {i for i, x in enumerate(leaves) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key)}
    arrays = tuple(jax.random.key_data(x) if i in keys else x for i, x in enumerate(leaves))
    return Residuals(arrays, Derivative(structure, outputs, arguments, keys))


def with_few_residuals(
    forward: Callable[..., Operands], args: Arrays, aux: Arrays, key: Key
) -> Operands:
    """Calls ``forward(args, aux, key)`` while JAX traces; its residuals have to be completed.

    ``forward`` returns tuples of arrays, and last its :class:`Residuals`.
    """
    operands = (tuple(args), tuple(aux), key)
    closed, avals = jax.make_jaxpr(forward, return_shape=True)(*operands)
    values = jaxpr_as_fun(closed)(*jax.tree.leaves(operands))
    *others, residuals = jax.tree.unflatten(jax.tree.structure(avals), values)
    program = flat_program(closed.jaxpr)
    n_others = len(values) - len(residuals.arrays)
    leaves = program.outputs[n_others:]
    arguments = program.inputs[len(closed.consts) :][: len(args) + len(aux)]
    sources: dict[FlatValue, int] = {}
    for i, value in enumerate((*arguments, *program.outputs[:n_others])):
        if value.constant is None:
            sources.setdefault(value, i)
    free = set(sources)
    operations = []
    for operation in program.operations:
        known = (v.constant is not None or v in free for v in operation.inputs)
        if operation.name in _FREE and all(known):
            free.update(operation.outputs)
            if operation.outputs[0] not in sources:
                operations.append(operation)
    read = FlatProgram((), operations, leaves).used_inputs
    inputs = dict.fromkeys(
        v
        for v in (*leaves, *sources)
        if v in read and v.constant is None and (v in sources or v not in free)
    )
    recomputed = FlatProgram(inputs, operations, leaves)
    saved = dict(zip(leaves, residuals.arrays, strict=True))
    omission = Omission(tuple([sources.get(v) for v in recomputed.inputs]), recomputed)
    arrays = [None if v in sources else saved[v] for v in recomputed.inputs]
    return *others, Residuals(tuple(arrays), residuals.derivative, omission)
